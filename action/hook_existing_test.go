// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// annotated returns an object with the given annotations.
func annotated(annotations ...string) map[string]any {
	all := map[string]any{}
	for i := 0; i < len(annotations); i += 2 {
		all[annotations[i]] = annotations[i+1]
	}
	return map[string]any{"metadata": map[string]any{"annotations": all}}
}

// hookOf returns a hook with the HookOfAnnotation, or one that Helm has created if it is
// empty.
func hookOf(mark string) map[string]any {
	if mark == "" {
		return annotated(release.HookAnnotation, "pre-install")
	}
	return annotated(release.HookAnnotation, "pre-install", release.HookOfAnnotation, mark)
}

func controlled(o map[string]any) map[string]any {
	o["metadata"].(map[string]any)["ownerReferences"] = []any{
		map[string]any{"kind": "Backup", "name": "b"}, map[string]any{"kind": "ReplicaSet", "name": "web", "controller": true},
	}
	return o
}

func labelled(o map[string]any, key, value string) map[string]any {
	o["metadata"].(map[string]any)["labels"] = map[string]any{key: value}
	return o
}

func succeeded(o map[string]any) map[string]any {
	o["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
	return o
}

func failed(o map[string]any) map[string]any {
	o["status"] = map[string]any{"phase": "Failed"}
	return o
}

// A hook with the name of a release's record would delete it.
func TestHookConflictsWithReleaseData(t *testing.T) {
	for _, tt := range []struct{ kind, name, owner, want string }{
		{"Secret", "sh.helm.release.v1.shop.v3", "helm", `it is a record of release "shop"`},
		{"ConfigMap", "sh.helm.release.v2.shop.v3", "helm", `it is a record of release "shop"`},
		{"Secret", "sh.helm.release.v1.shop.v3.ab12.2", "moonhelm", `it is a record of release "shop"`},
		{"Lease", "moonhelm.v1.shop", "moonhelm", `it is the lock of release "shop"`},
		{"Secret", "shop", "helm", ""},
	} {
		t.Run(tt.kind+" "+tt.name, func(t *testing.T) {
			live := hookOf("ns/web/1")
			live["metadata"].(map[string]any)["labels"] = map[string]any{"owner": tt.owner, "name": "shop"}
			it := &hookItem{Object: &manifest.Object{Kind: tt.kind, Name: tt.name}, live: liveObject{live}}
			got, err := hookSetup{}.runner(nil).ownershipConflict(t.Context(), withHooks("a"), it)
			if got != tt.want || err != nil {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// Hooks whose objects already exist. The first cases are what Helm 3 and 4 do too; where they
// differ, or after an interrupted run, no data may be lost and the next run must succeed.
func TestHookExistingObjects(t *testing.T) {
	const replaced, changed, refused = "delete a, create a, finish a", "update a, finish a", ""
	for _, test := range []struct {
		name     string
		kind     string
		policies string
		live     map[string]any
		want     string
		problem  string
	}{
		{"an earlier run of Helm's", "Job", "", hookOf(""), replaced, ""},
		{"a hook of another release", "Job", "", hookOf("ns/other/1"), refused, `it is a hook of release "other" in namespace "ns"`},
		{"an object that is not a hook", "ConfigMap", "", annotated(), replaced, "Warning"},
		{"an object of this release", "ConfigMap", "", annotated(release.NameAnnotation, "web", release.NamespaceAnnotation, "ns"), replaced, ""},
		{"a hook of this release", "ConfigMap", "", hookOf("ns/web/1"), replaced, ""},
		{"an object of another release", "ConfigMap", "", annotated(release.NameAnnotation, "shop", release.NamespaceAnnotation, "ns"), refused, `it belongs to release "shop" in namespace "ns"`},
		{"object of a release of the same name in another namespace", "ConfigMap", "", annotated(release.NameAnnotation, "web", release.NamespaceAnnotation, "prod"), refused, `it belongs to release "web" in namespace "prod"`},

		{"an object that is not a hook, not to be removed", "ConfigMap", "hook-succeeded", annotated(), refused, "it is not a hook"},
		{"a job of a killed run", "Job", "hook-succeeded", hookOf("ns/web/1"), replaced, ""},
		{"a pod of a killed run, policies that keep all", "Pod", "someday", hookOf("ns/web/7"), replaced, ""},
		{"a job of Helm's that has ended", "Job", "hook-failed", succeeded(hookOf("")), replaced, ""},
		{"a pod of another release that has ended", "Pod", "hook-failed", failed(hookOf("ns/other/1")), refused, `it is a hook of release "other" in namespace "ns"`},
		{"a pod of Helm's that has ended", "Pod", "hook-failed", failed(hookOf("")), replaced, ""},
		{"a job of Helm's that runs", "Job", "hook-failed", hookOf(""), refused, "still runs"},
		{"job of a release of the same name in another namespace", "Job", "hook-failed", hookOf("prod/web/1"), refused, `it is a hook of release "web" in namespace "prod"`},
		{"job of a release with the same prefix", "Job", "hook-failed", hookOf("ns/web/x/1"), refused, `it is a hook of release "web/x" in namespace "ns"`},
		{"a map of a killed run, that was to go", "ConfigMap", "hook-succeeded", hookOf("ns/web/1"), replaced, ""},
		{"a map that is there to stay", "ConfigMap", "hook-failed", hookOf("ns/web/1"), changed, ""},
		{"a map of Helm's", "ConfigMap", "hook-failed", hookOf(""), changed, ""},
		{"a map of Helm's, that is to go", "ConfigMap", "hook-succeeded", hookOf(""), replaced, ""},

		{"a forged mark on another release's object", "ConfigMap", "", annotated(release.NameAnnotation, "shop", release.NamespaceAnnotation, "ns", release.HookOfAnnotation, "ns/web/1"), refused, `it belongs to release "shop" in namespace "ns"`},
		{"a namespace of a release, and no name", "ConfigMap", "", annotated(release.NamespaceAnnotation, "prod"), refused, `it belongs to release "" in namespace "prod"`},
		{"a pod of a controller", "Pod", "", controlled(annotated()), refused, `it is controlled by "ReplicaSet/web"`},
		{"a hook of this release that a controller has adopted", "Pod", "", controlled(hookOf("ns/web/1")), replaced, ""},
		{"an object of another program", "ConfigMap", "", labelled(annotated(), release.ManagedByLabel, "terraform"), refused, "its label app.kubernetes.io/managed-by is \"terraform\""},
		{"a hook of Helm's that the chart has labelled", "ConfigMap", "", labelled(hookOf(""), release.ManagedByLabel, "us"), replaced, ""},
		{"a hook that Helm has labelled", "ConfigMap", "", labelled(hookOf(""), release.ManagedByLabel, "Helm"), replaced, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			rel := withHooks("a " + test.policies)
			h := rel.Hooks[0]
			h.Manifest, h.Kind = strings.Replace(h.Manifest, "kind: Job", "kind: "+test.kind, 1), test.kind
			s := &fakeHookCluster{live: map[string]map[string]any{"a": test.live}}
			said := ""
			err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{Progress: func(e progress.Event) {
				if e.Kind == progress.Warning {
					said = "Warning: " + e.Text
				}
			}})
			var occupied *HookConflictError
			if errors.As(err, &occupied) {
				said = err.Error()
			} else if err != nil {
				t.Error(err)
			}
			var kept []string // without deletions by the delete policy
			for _, l := range s.lines {
				if len(kept) < 3 && !(l == "delete a" && len(kept) > 0) {
					kept = append(kept, l)
				}
			}
			if got := strings.Join(kept, ", "); got != test.want || (occupied != nil) != (test.want == refused) {
				t.Errorf("calls = %q, want %q; error %v", got, test.want, err)
			}
			if !strings.Contains(said, test.problem) || test.problem == "" && said != "" {
				t.Errorf("progress = %q, want %q", said, test.problem)
			}
		})
	}
}

func TestHookOfAnnotation(t *testing.T) {
	rel := withHooks("a")
	rel.Revision = 3
	before := rel.Hooks[0].Manifest
	s := &fakeHookCluster{}
	if err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{}); err != nil {
		t.Fatal(err)
	}
	objs, err := manifest.Parse("", s.made["a"])
	if err != nil || objs[0].Annotations[release.HookOfAnnotation] != "ns/web/3" || objs[0].Annotations[release.HookAnnotation] != "pre-install" || !strings.Contains(s.made["a"], "# first") {
		t.Errorf("%v\n%s", err, s.made["a"])
	}
	if rel.Hooks[0].Manifest != before {
		t.Error("the record's text was changed")
	}
}

func TestHookWithoutName(t *testing.T) {
	rel := withHooks("a")
	rel.Hooks[0].Manifest = strings.Replace(rel.Hooks[0].Manifest, "name:", "generateName:", 1)
	s := &fakeHookCluster{}
	err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{})
	if !errors.Is(err, errHookName) || len(s.lines) > 0 {
		t.Errorf("%v, calls = %q", err, s.lines)
	}
}

func TestHookList(t *testing.T) {
	rel := withHooks("a")
	rel.Hooks[0].Manifest = "apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: pre-install}}\nitems: []\n"
	s := &fakeHookCluster{}
	if err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{}); err != nil {
		t.Fatal(err)
	}
	s.want(t)
}

// listHook returns a hook of kind List with items of the given kinds and names.
func listHook(policies string, items ...string) *release.Release {
	rel := withHooks(" " + policies)
	text := "apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: pre-install}}\nitems:\n"
	for _, item := range items {
		kind, name, _ := strings.Cut(item, "/")
		text += "- {apiVersion: v1, kind: " + kind + ", metadata: {name: " + name + "}}\n"
	}
	rel.Hooks[0].Kind, rel.Hooks[0].Manifest = "List", text
	return rel
}

// Each item of a List is checked, annotated, deleted and run on its own.
func TestHookListItems(t *testing.T) {
	for _, test := range []struct {
		name     string
		policies string
		items    []string
		live     map[string]map[string]any
		fail     string
		want     []string
		uids     []string
		problem  string
	}{
		{"nothing there", "", []string{"ConfigMap/a", "Job/b"}, nil, "",
			[]string{"create a", "create b", "finish a", "finish b"}, nil, ""},
		{"an earlier run's", "", []string{"ConfigMap/a", "Job/b"}, map[string]map[string]any{"a": hookOf("ns/web/1"), "b": withUID(hookOf("ns/web/1"), "1")}, "",
			[]string{"delete b", "delete a", "create a", "create b", "finish a", "finish b"}, []string{"1", ""}, ""},
		{"another release's object", "", []string{"ConfigMap/a", "ConfigMap/b"}, map[string]map[string]any{"a": hookOf("ns/web/1"), "b": annotated(release.NameAnnotation, "shop", release.NamespaceAnnotation, "prod")}, "",
			nil, nil, `ConfigMap/b in namespace ns already exists: it belongs to release "shop" in namespace "prod"`},
		{"hook-succeeded", "hook-succeeded", []string{"ConfigMap/a", "Job/b"}, nil, "",
			[]string{"create a", "create b", "finish a", "finish b", "delete b", "delete a"}, []string{"made b", "made a"}, ""},
		{"hook-failed, and one was made", "hook-failed", []string{"ConfigMap/a", "Job/b"}, nil, "create b",
			[]string{"create a", "create b", "delete a"}, []string{"made a"}, "no"},
		{"a definition in a list stays", "hook-succeeded hook-failed", []string{"CustomResourceDefinition/crd", "Job/b"}, nil, "finish b",
			[]string{"create crd", "create b", "finish crd", "finish b", "delete b"}, []string{"made b"}, "no"},
		{"updated hook is kept", "hook-failed", []string{"ConfigMap/a", "Job/b"}, map[string]map[string]any{"a": withUID(hookOf("ns/web/1"), "7")}, "finish b",
			[]string{"update a", "create b", "finish a", "finish b", "delete b"}, []string{"7", "made b"}, "no"},
		{"an item without a name", "", []string{"ConfigMap/a", "ConfigMap/"}, nil, "", nil, nil, errHookName.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &fakeHookCluster{live: test.live, fail: map[string]error{test.fail: errNo}}
			rel := listHook(test.policies, test.items...)
			err := hookSetup{}.runner(s).run(t.Context(), rel, rel.Hooks, release.PreInstall)
			if (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
				t.Errorf("got %v, want %q", err, test.problem)
			}
			s.want(t, test.want...)
			if !slices.Equal(s.uids, test.uids) {
				t.Errorf("deleted or changed %q, want %q", s.uids, test.uids)
			}
			for name, text := range s.made {
				if !strings.Contains(text, release.HookOfAnnotation) {
					t.Errorf("%s does not bear the release's mark:\n%s", name, text)
				}
			}
		})
	}
}

func withUID(o map[string]any, uid string) map[string]any {
	o["metadata"].(map[string]any)["uid"] = uid
	return o
}

// CRDs are recognized by the kind in the manifest, not by the kind in the record.
func TestHookForgedKindKeepsCRD(t *testing.T) {
	rel := withHooks("crd hook-succeeded hook-failed before-hook-creation")
	rel.Hooks[0].Kind = "ConfigMap"
	s := &fakeHookCluster{live: map[string]map[string]any{"crd": hookOf("ns/web/1")}}
	if err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{}); err != nil {
		t.Fatal(err)
	}
	s.want(t, "create crd", "finish crd")
}

// Outside the release's namespace an object without ownership annotations does not belong to
// the release, unless a record lists it as a hook that has run.
func TestHookExistingOutsideNamespace(t *testing.T) {
	ran := func(kind, namespace string, at time.Time) *release.Hook {
		h := withHooks("a").Hooks[0]
		h.Manifest = strings.Replace(h.Manifest, "kind: Job", "kind: "+kind, 1)
		if namespace != "" {
			h.Manifest = strings.Replace(h.Manifest, "  name: a", "  name: a\n  namespace: "+namespace, 1)
		}
		h.LastRun.StartedAt = at
		return h
	}
	now := time.Now()
	const unmarked = `it is not known to be a hook of release "web" in namespace "ns", and is not in the release's namespace`
	for _, test := range []struct {
		name      string
		hook      *release.Hook
		live      map[string]any
		records   []*release.Hook
		ownership bool
		problem   string
	}{
		{"its own mark", ran("ClusterRole", "", now), hookOf("ns/web/1"), nil, false, ""},
		{"its own labels", ran("ClusterRole", "", now), annotated(release.NameAnnotation, "web", release.NamespaceAnnotation, "ns"), nil, false, ""},
		{"no mark", ran("ClusterRole", "", now), annotated(), nil, false, unmarked},
		{"no mark, another namespace", ran("Secret", "prod", now), annotated(), nil, false, "Secret/a in namespace prod already exists: " + unmarked},
		{"hook without release", ran("ClusterRole", "", now), hookOf(""), nil, false, unmarked},
		{"a hook that a record has run", ran("ClusterRole", "", now), hookOf(""), []*release.Hook{ran("ClusterRole", "", now)}, false, ""},
		{"a hook that a record has not run", ran("ClusterRole", "", now), hookOf(""), []*release.Hook{ran("ClusterRole", "", time.Time{})}, false, unmarked},
		{"a record of another object", ran("ClusterRole", "", now), hookOf(""), []*release.Hook{ran("Secret", "", now), ran("Secret", "prod", now)}, false, unmarked},
		{"a record of another namespace", ran("Secret", "prod", now), hookOf(""), []*release.Hook{ran("Secret", "", now), ran("Secret", "dev", now)}, false, unmarked},
		{"a record of the same namespace", ran("Secret", "prod", now), hookOf(""), []*release.Hook{ran("Secret", "prod", now)}, false, ""},
		{"a record, and no hook there", ran("ClusterRole", "", now), annotated(), []*release.Hook{ran("ClusterRole", "", now)}, false, unmarked},
		{"a record, and another release's", ran("ClusterRole", "", now), hookOf("ns/other/1"), []*release.Hook{ran("ClusterRole", "", now)}, false, `a hook of release "other"`},
		{"taken over", ran("ClusterRole", "", now), annotated(), nil, true, ""},
		{"taken over from a release", ran("ClusterRole", "", now), annotated(release.NameAnnotation, "shop", release.NamespaceAnnotation, "prod"), nil, true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			rel := &release.Release{Name: "web", Namespace: "ns", Hooks: []*release.Hook{test.hook}}
			s := &fakeHookCluster{live: map[string]map[string]any{"a": test.live}}
			r := hookSetup{TakeOwnership: test.ownership, Records: &fakeHistory{hooks: test.records, releases: []string{"web", "other"}}}
			err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, r)
			var conflict *HookConflictError
			if errors.As(err, &conflict) != (test.problem != "") || test.problem != "" && !strings.Contains(err.Error(), test.problem) {
				t.Errorf("got %v, want %q", err, test.problem)
			}
			if err != nil && len(s.lines) > 0 {
				t.Errorf("calls = %q", s.lines)
			}
			if err == nil && !slices.Contains(s.lines, "create a") {
				t.Errorf("calls = %q", s.lines)
			}
		})
	}
}

// fakeHistory contains read-only records of releases of a namespace, with one revision each.
type fakeHistory struct {
	Storage
	hooks    []*release.Hook // of the release web
	releases []string
	fail     error
}

func (r *fakeHistory) Get(_ context.Context, name string, revision int) (*release.Release, error) {
	if name != "web" || revision != 1 {
		return nil, errNo
	}
	return &release.Release{Name: name, Namespace: "ns", Revision: revision, Hooks: r.hooks}, r.fail
}

func (r *fakeHistory) Revisions(_ context.Context, name string) ([]storage.Record, error) {
	if r.fail == nil && !slices.Contains(r.releases, name) {
		return nil, &storage.NotFoundError{Key: storage.Key{Namespace: "ns", Name: name}}
	}
	return []storage.Record{{Key: storage.Key{Namespace: "ns", Name: name, Revision: 1}, Status: release.Deployed}}, r.fail
}

func (r *fakeHistory) Resource() string { return "secrets" }

// The hooks of an uninstalled release in the release's namespace have no owner.
func TestHookOfUninstalledRelease(t *testing.T) {
	for _, test := range []struct {
		name     string
		kind     string
		mark     string
		releases []string
		fail     error
		problem  string
	}{
		{"it exists", "Job", "ns/other/1", []string{"other"}, nil, `it is a hook of release "other" in namespace "ns"`},
		{"it is no more", "Job", "ns/other/1", nil, nil, ""},
		{"elsewhere", "Job", "prod/other/1", nil, nil, `it is a hook of release "other" in namespace "prod"`},
		{"it is no more, outside", "ClusterRole", "ns/other/1", nil, nil, "it is not known to be a hook"},
		{"unknown release", "Job", "ns/other/1", nil, errNo, `check whether release "other" in namespace "ns" exists: no`},
	} {
		t.Run(test.name, func(t *testing.T) {
			rel := withHooks("a")
			rel.Hooks[0].Manifest = strings.Replace(rel.Hooks[0].Manifest, "kind: Job", "kind: "+test.kind, 1)
			s := &fakeHookCluster{live: map[string]map[string]any{"a": hookOf(test.mark)}}
			err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{Records: &fakeHistory{releases: test.releases, fail: test.fail}})
			if (err != nil) != (test.problem != "") || err != nil && !strings.Contains(err.Error(), test.problem) {
				t.Errorf("got %v, want %q", err, test.problem)
			}
		})
	}
}

// --take-ownership replaces objects that the delete policies would keep.
func TestHookTakeOwnership(t *testing.T) {
	for policies, want := range map[string]string{"hook-succeeded": "delete a, create a, finish a, delete a", "hook-failed": "update a, finish a", "before-hook-creation": "delete a, create a, finish a"} {
		t.Run(policies, func(t *testing.T) {
			rel := withHooks("a " + policies)
			rel.Hooks[0].Manifest = strings.Replace(rel.Hooks[0].Manifest, "kind: Job", "kind: ConfigMap", 1)
			s := &fakeHookCluster{live: map[string]map[string]any{"a": annotated()}}
			if err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{TakeOwnership: true}); err != nil {
				t.Errorf("%s: %v", policies, err)
			}
			if got := strings.Join(s.lines, ", "); got != want {
				t.Errorf("%s: calls = %q, want %q", policies, got, want)
			}
		})
	}
}

// Conflicts of all hooks, including those after the operation, are errors before anything is
// written.
func TestHookConflictWritesNothing(t *testing.T) {
	rel := withHooks("a", "b")
	rel.Hooks[1].Events = []release.HookEvent{release.PostInstall}
	s := &fakeHookCluster{live: map[string]map[string]any{"a": hookOf("ns/other/1"), "b": annotated(release.NameAnnotation, "shop", release.NamespaceAnnotation, "ns")}}
	err := hookSetup{}.runner(s).check(t.Context(), rel, rel.Hooks, false)
	var conflict *HookConflictError
	if !errors.As(err, &conflict) || len(conflict.Conflicts) != 2 {
		t.Errorf("got %v, want two conflicts", err)
	}
	want := "2 objects of hooks already exist, and are not hooks of release \"web\"\n" +
		"  Job/a in namespace ns: it is a hook of release \"other\" in namespace \"ns\"\n" +
		"  Job/b in namespace ns: it belongs to release \"shop\" in namespace \"ns\""
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// Logs are reported after a hook has ended and before it is deleted.
func TestHookLogs(t *testing.T) {
	for _, test := range []struct {
		log, deletion, fail string
		want                []string
	}{
		{"hook-succeeded", "hook-succeeded", "", []string{"create a", "finish a", "logs a", "> one", "> two", "ended Succeeded", "delete a"}},
		{"hook-failed", "hook-succeeded", "", []string{"create a", "finish a", "ended Succeeded", "delete a"}},
		{"hook-failed", "hook-failed", "finish a", []string{"create a", "finish a", "logs a", "> one", "> two", "ended Failed", "delete a"}},
		{"hook-succeeded", "hook-failed", "finish a", []string{"create a", "finish a", "ended Failed", "delete a"}},
		{"hook-failed", "hook-failed", "create a", []string{"create a"}},
		{"someday", "someday", "", []string{"create a", "finish a", "ended Succeeded"}},
	} {
		t.Run(fmt.Sprint(test.log, test.deletion, test.fail), func(t *testing.T) {
			rel := withHooks("a " + test.deletion)
			rel.Hooks[0].OutputLogPolicies = []release.OutputLogPolicy{release.OutputLogPolicy(test.log)}
			s := &fakeHookCluster{fail: map[string]error{test.fail: errNo}, logs: []status.Log{{Pod: "a-x", Container: "main", Text: "one\ntwo\n"}}}
			_ = s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, hookSetup{
				Progress: func(e progress.Event) {
					if e.Kind == progress.Log {
						s.lines = append(s.lines, "> "+e.Text)
						if e.Object != "Job/a" {
							t.Error(e.Object)
						}
					}
				},
				Ended: func(ctx context.Context, h *release.Hook, _ *manifest.Object) {
					s.lines = append(s.lines, "ended "+string(h.LastRun.Phase))
				},
			})
			if !slices.Equal(s.lines, test.want) {
				t.Errorf("got %q, want %q", s.lines, test.want)
			}
		})
	}
}

func TestHookLogsOfContainers(t *testing.T) {
	rel := withHooks("a")
	rel.Hooks[0].OutputLogPolicies = []release.OutputLogPolicy{release.LogOnSucceeded}
	s := &fakeHookCluster{logs: []status.Log{{Container: "main", Text: "one"}, {Container: "proxy", Text: "two\r\n", Truncated: true}}}
	var got []string
	report := hookSetup{Progress: func(e progress.Event) {
		if e.Kind == progress.Log || e.Kind == progress.Warning {
			got = append(got, e.Object+": "+e.Text)
		}
	}}
	if err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, report); err != nil {
		t.Fatal(err)
	}
	s.fail, s.logs = map[string]error{"logs a": errNo}, nil
	if err := s.at(t.Context(), &event.PreInstall{Payload: event.Payload{Release: rel}}, report); err != nil {
		t.Fatal("an unreadable log failed the hook:", err)
	}
	if want := []string{"Job/a (main): one", "Job/a (proxy): (only the end of its log)", "Job/a (proxy): two", "Job/a: its log cannot be read: no"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// phantomDriver lists one revision more than exist, as if it had just been deleted.
type phantomDriver struct{ storage.Driver }

func (p phantomDriver) List(ctx context.Context, q storage.Query) ([]storage.Record, error) {
	records, err := p.Driver.List(ctx, q)
	return append(records, storage.Record{Key: storage.Key{Namespace: "ns", Name: "web", Revision: 3}, Status: release.Superseded}), err
}

// Records that cannot be read are skipped when looking for hooks that have run.
func TestHookRecordsUnreadable(t *testing.T) {
	driver := storage.NewMemory("ns")
	damaged := storage.Record{Key: storage.Key{Namespace: "ns", Name: "web", Revision: 1}, Status: release.Superseded, Data: []byte("damaged")}
	if _, err := driver.Create(t.Context(), damaged); err != nil {
		t.Fatal(err)
	}
	rel := release.New("web", "ns", 2, nil)
	rel.Info.Status = release.Superseded
	rel.Hooks = []*release.Hook{{Name: "migrate", Kind: "Job"}}
	records := storage.New(phantomDriver{driver}, "ns")
	if err := records.Create(t.Context(), rel); err != nil {
		t.Fatal(err)
	}
	hooks, err := hookSetup{Records: records}.runner(nil).recordedHooks(t.Context(), "web")
	if err != nil || len(hooks) != 1 || hooks[0].Name != "migrate" {
		t.Errorf("got %v, %v, want the hook of revision 2", hooks, err)
	}
}
