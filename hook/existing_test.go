// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// with is an object with the given annotations.
func with(annotations ...string) map[string]any {
	all := map[string]any{}
	for i := 0; i < len(annotations); i += 2 {
		all[annotations[i]] = annotations[i+1]
	}
	return map[string]any{"metadata": map[string]any{"annotations": all}}
}

// hookOf is a hook that bears a mark, one of Helm's own where it is empty.
func hookOf(mark string) map[string]any {
	if mark == "" {
		return with(Annotation, "pre-install")
	}
	return with(Annotation, "pre-install", MarkAnnotation, mark)
}

func succeeded(o map[string]any) map[string]any {
	o["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
	return o
}

func failed(o map[string]any) map[string]any {
	o["status"] = map[string]any{"phase": "Failed"}
	return o
}

// What stands where a hook is to be created. The first rows are what Helm 3 and 4
// do too; where they differ, and where a run was ended in the middle, nothing
// must be lost and nobody must be stuck.
func TestWhatExistsAlready(t *testing.T) {
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
		{"a running hook of another release", "Job", "", hookOf("ns/other/1"), replaced, ""},
		{"somebody's own object", "ConfigMap", "", with(), replaced, "Warning"},
		{"an object of this release", "ConfigMap", "", with(ownerName, "web", ownerNamespace, "ns"), replaced, ""},
		{"an object of another release", "ConfigMap", "", with(ownerName, "shop", ownerNamespace, "ns"), refused, `it belongs to release "shop" in namespace "ns"`},
		{"an object of a namesake elsewhere", "ConfigMap", "", with(ownerName, "web", ownerNamespace, "prod"), refused, `it belongs to release "web" in namespace "prod"`},

		{"somebody's own object, not to be removed", "ConfigMap", "hook-succeeded", with(), refused, "it is no hook"},
		{"a job of a killed run", "Job", "hook-succeeded", hookOf("ns/web/1"), replaced, ""},
		{"a pod of a killed run, policies that keep all", "Pod", "someday", hookOf("ns/web/7"), replaced, ""},
		{"a job of Helm's that has ended", "Job", "hook-failed", succeeded(hookOf("")), replaced, ""},
		{"a pod of another release that has ended", "Pod", "hook-failed", failed(hookOf("ns/other/1")), replaced, ""},
		{"a job of Helm's that runs", "Job", "hook-failed", hookOf(""), refused, "still runs"},
		{"a job of a namesake elsewhere that runs", "Job", "hook-failed", hookOf("prod/web/1"), refused, "still runs"},
		{"a job of a release whose name begins alike", "Job", "hook-failed", hookOf("ns/web/x/1"), refused, "still runs"},
		{"a map of a killed run, that was to go", "ConfigMap", "hook-succeeded", hookOf("ns/web/1"), replaced, ""},
		{"a map that is there to stay", "ConfigMap", "hook-failed", hookOf("ns/web/1"), changed, ""},
		{"a map of Helm's", "ConfigMap", "hook-succeeded", hookOf(""), changed, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			rel := withHooks("a " + test.policies)
			h := rel.Hooks[0]
			h.Manifest, h.Kind = strings.Replace(h.Manifest, "kind: Job", "kind: "+test.kind, 1), test.kind
			s := &stage{live: map[string]map[string]any{"a": test.live}}
			said := ""
			err := s.at(t.Context(), &event.PreInstall{Scene: event.Scene{Release: rel}}, Responder{Progress: func(e progress.Event) {
				if e.Kind == progress.Warning {
					said = "Warning: " + e.Text
				}
			}})
			var occupied *OccupiedError
			if errors.As(err, &occupied) {
				said = err.Error()
			} else if err != nil {
				t.Error(err)
			}
			var kept []string // what the delete policy does afterwards is another story
			for _, l := range s.lines {
				if len(kept) < 3 && !(l == "delete a" && len(kept) > 0) {
					kept = append(kept, l)
				}
			}
			if got := strings.Join(kept, ", "); got != test.want || (occupied != nil) != (test.want == refused) {
				t.Errorf("did %q, wanted %q; %v", got, test.want, err)
			}
			if !strings.Contains(said, test.problem) || test.problem == "" && said != "" {
				t.Errorf("said %q, wanted %q", said, test.problem)
			}
		})
	}
}

func TestHooksBearTheirReleasesMark(t *testing.T) {
	rel := withHooks("a")
	rel.Revision = 3
	before := rel.Hooks[0].Manifest
	s := &stage{}
	if err := s.at(t.Context(), &event.PreInstall{Scene: event.Scene{Release: rel}}, Responder{}); err != nil {
		t.Fatal(err)
	}
	objs, err := manifest.Parse("", s.made["a"])
	if err != nil || objs[0].Annotations[MarkAnnotation] != "ns/web/3" || objs[0].Annotations[Annotation] != "pre-install" || !strings.Contains(s.made["a"], "# first") {
		t.Errorf("%v\n%s", err, s.made["a"])
	}
	if rel.Hooks[0].Manifest != before {
		t.Error("the record's text was changed")
	}
}

func TestAHookNeedsAName(t *testing.T) {
	rel := withHooks("a")
	rel.Hooks[0].Manifest = strings.Replace(rel.Hooks[0].Manifest, "name:", "generateName:", 1)
	s := &stage{}
	err := s.at(t.Context(), &event.PreInstall{Scene: event.Scene{Release: rel}}, Responder{})
	if !errors.Is(err, errNoName) || len(s.lines) > 0 {
		t.Errorf("%v, did %q", err, s.lines)
	}
}

func TestAHookCanBeAList(t *testing.T) {
	rel := withHooks("a")
	rel.Hooks[0].Manifest = "apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: pre-install}}\nitems: []\n"
	s := &stage{}
	if err := s.at(t.Context(), &event.PreInstall{Scene: event.Scene{Release: rel}}, Responder{}); err != nil {
		t.Fatal(err)
	}
	s.want(t, "delete ", "create ", "finish ")
}

// Logs are shown when a hook has ended, and before a policy removes it.
func TestLogsOfHooks(t *testing.T) {
	for _, test := range []struct {
		log, deletion, fail string
		want                []string
	}{
		{"hook-succeeded", "hook-succeeded", "", []string{"create a", "finish a", "logs a", "> one", "> two", "ended Succeeded", "delete a"}},
		{"hook-failed", "hook-succeeded", "", []string{"create a", "finish a", "ended Succeeded", "delete a"}},
		{"hook-failed", "hook-failed", "finish a", []string{"create a", "finish a", "logs a", "> one", "> two", "ended Failed", "delete a"}},
		{"hook-succeeded", "hook-failed", "finish a", []string{"create a", "finish a", "ended Failed", "delete a"}},
		{"hook-failed", "hook-failed", "create a", []string{"create a", "delete a"}},
		{"someday", "someday", "", []string{"create a", "finish a", "ended Succeeded"}},
	} {
		t.Run(fmt.Sprint(test.log, test.deletion, test.fail), func(t *testing.T) {
			rel := withHooks("a " + test.deletion)
			rel.Hooks[0].OutputLogPolicies = []release.OutputLogPolicy{release.OutputLogPolicy(test.log)}
			s := &stage{fail: map[string]error{test.fail: errNo}, logs: []Log{{Pod: "a-x", Container: "main", Text: "one\ntwo\n"}}}
			_ = s.at(t.Context(), &event.PreInstall{Scene: event.Scene{Release: rel}}, Responder{
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
				t.Errorf("got %q, wanted %q", s.lines, test.want)
			}
		})
	}
}

func TestLogsOfSeveralContainersAreToldApart(t *testing.T) {
	rel := withHooks("a")
	rel.Hooks[0].OutputLogPolicies = []release.OutputLogPolicy{release.LogOnSucceeded}
	s := &stage{logs: []Log{{Container: "main", Text: "one"}, {Container: "proxy", Text: "two\r\n", Truncated: true}}}
	var got []string
	report := Responder{Progress: func(e progress.Event) {
		if e.Kind == progress.Log || e.Kind == progress.Warning {
			got = append(got, e.Object+": "+e.Text)
		}
	}}
	if err := s.at(t.Context(), &event.PreInstall{Scene: event.Scene{Release: rel}}, report); err != nil {
		t.Fatal(err)
	}
	s.fail, s.logs = map[string]error{"logs a": errNo}, nil
	if err := s.at(t.Context(), &event.PreInstall{Scene: event.Scene{Release: rel}}, report); err != nil {
		t.Fatal("a log that cannot be read failed the hook:", err)
	}
	if want := []string{"Job/a (main): one", "Job/a (proxy): (only the end of its log)", "Job/a (proxy): two", "Job/a: its log cannot be read: no"}; !slices.Equal(got, want) {
		t.Errorf("got %q, wanted %q", got, want)
	}
}
