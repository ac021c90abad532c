// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// uninstallCase is one uninstall of a recorded release.
type uninstallCase struct {
	*callLog
	cluster   *fakeCluster
	records   *fakeRecords
	uninstall Uninstall
	request   UninstallRequest
}

func newUninstallCase(have ...*release.Release) *uninstallCase {
	d := &callLog{fail: map[string]error{}}
	r := &uninstallCase{callLog: d, cluster: newFakeCluster(d), records: newFakeRecords(d, have...)}
	r.uninstall = Uninstall{&Config{Cluster: r.cluster, Releases: r.records, Locker: &fakeLocker{callLog: d}, Now: atNoon, hooks: &loggedHooks{callLog: d}}}
	r.request = UninstallRequest{Name: "web"}
	return r
}

// deployed returns a release with three objects, one of which has a keep policy, and a
// document with only a comment.
func deployed(revision int) *release.Release {
	rel := newRevision(revision, release.Deployed)
	rel.Manifest = objectText("ConfigMap", "settings") + objectText("PersistentVolumeClaim", "data", release.PolicyAnnotation, "keep") + objectText("Service", "web") +
		"---\n# Source: web/templates/off.yaml\n# switched off\n"
	return rel
}

func TestUninstallSteps(t *testing.T) {
	r := newUninstallCase(newRevision(2, release.Superseded), newRevision(10, release.Superseded), deployed(11))
	r.request.Wait, r.request.Cascade = true, apply.Foreground
	out, err := r.uninstall.Run(t.Context(), r.request)
	if err != nil {
		t.Fatal(err)
	}
	r.want(t,
		"lock web, uninstall",
		"permissions delete [Service/web ConfigMap/settings]; records: update delete",
		"update web.v11 uninstalling",
		"guard web.v11",
		"event pre-delete",
		"delete [Service/web ConfigMap/settings], foreground",
		"wait-deleted [Service/web ConfigMap/settings]",
		"event post-delete",
		"purge web.v2",
		"purge web.v10",
		"purge web.v11",
		"unlock web",
	)
	if names(out.Kept) != "[PersistentVolumeClaim/data]" || names(out.Deleted) != "[Service/web ConfigMap/settings]" {
		t.Errorf("kept %s, deleted %s", names(out.Kept), names(out.Deleted))
	}
	if _, err := r.uninstall.Run(t.Context(), r.request); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a second time: %v", err)
	}
}

func TestUninstallKeepHistory(t *testing.T) {
	r := newUninstallCase(newRevision(1, release.Superseded), deployed(2))
	r.request.KeepHistory = true
	if _, err := r.uninstall.Run(t.Context(), r.request); err != nil {
		t.Fatal(err)
	}
	r.wantWrites(t,
		"update web.v2 uninstalling",
		"event pre-delete",
		"delete [Service/web ConfigMap/settings], background",
		"event post-delete",
		"update web.v2 uninstalled",
	)
	if got := r.records.state("web", 2); got != "uninstalled: Uninstallation complete" || !r.records.kept["web.v2"].Info.Deleted.Equal(noon) {
		t.Error(got, r.records.kept["web.v2"].Info.Deleted)
	}

	// A second uninstall with KeepHistory is an error.
	r.lines = nil
	var already *AlreadyUninstalledError
	if _, err := r.uninstall.Run(t.Context(), r.request); !errors.As(err, &already) || len(r.writes()) > 0 {
		t.Errorf("%v, calls = %q", err, r.writes())
	}
	// Without KeepHistory, it deletes the history, and no objects.
	r.request.KeepHistory = false
	if _, err := r.uninstall.Run(t.Context(), r.request); err != nil {
		t.Error(err)
	}
	r.wantWrites(t, "purge web.v1", "purge web.v2")
}

// As in Helm 4.3.1, white space and case do not matter: deleting an object that its author
// wanted to keep cannot be undone.
func TestKeepPolicy(t *testing.T) {
	for value, kept := range map[string]bool{"keep": true, " Keep ": true, "KEEP": true, "": false, "keeper": false, "delete": false} {
		t.Run(value, func(t *testing.T) {
			rel := newRevision(1, release.Deployed)
			rel.Manifest = objectText("Secret", "s", release.PolicyAnnotation, value)
			r := newUninstallCase(rel)
			out, err := r.uninstall.Plan(t.Context(), r.request)
			if err != nil || len(out.Kept) == 1 != kept || len(out.Kept)+len(out.Deleted) != 1 {
				t.Errorf("%q: kept %v, deleted %v, %v", value, out.Kept, out.Deleted, err)
			}
		})
	}
}

func TestUninstallPlanWritesNothing(t *testing.T) {
	r := newUninstallCase(deployed(1))
	out, err := r.uninstall.Plan(t.Context(), r.request)
	if err != nil || names(out.Deleted) != "[Service/web ConfigMap/settings]" {
		t.Errorf("%v, %v", out, err)
	}
	r.want(t)
	if r.records.state("web", 1) != "deployed: " {
		t.Error(r.records.state("web", 1))
	}
}

func TestUninstallErrors(t *testing.T) {
	broken := newRevision(1, release.Deployed)
	broken.Manifest = "a: b: c"
	for name, test := range map[string]struct {
		release string
		want    string
	}{
		"a name that is none":            {"../web", "is invalid"},
		"a release that is not there":    {"shop", "not found"},
		"a manifest that cannot be read": {"web", "read the manifest of revision 1 of release web"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newUninstallCase(broken)
			_, err := r.uninstall.Run(t.Context(), UninstallRequest{Name: test.release})
			if err == nil || !strings.Contains(err.Error(), test.want) || len(r.writes()) > 0 {
				t.Errorf("%s: %v, calls = %q", name, err, r.writes())
			}
		})
	}
}

// An uninstall that fails or is canceled half-way leaves a record, and can be run again.
func TestUninstallRetry(t *testing.T) {
	for _, step := range []string{
		"event pre-delete",
		"delete [Service/web ConfigMap/settings], background",
		"wait-deleted [Service/web ConfigMap/settings]",
		"event post-delete",
	} {
		t.Run(step, func(t *testing.T) {
			for _, interrupt := range []bool{false, true} {
				r := newUninstallCase(newRevision(1, release.Superseded), deployed(2))
				r.request.Wait = true
				ctx, cancel := context.WithCancel(t.Context())
				if interrupt {
					r.onStep = func(now string) {
						if now == step {
							cancel()
						}
					}
				} else {
					r.fail[step] = errBroken
				}
				_, err := r.uninstall.Run(ctx, r.request)
				cancel()
				if !errors.Is(err, errBroken) && !errors.Is(err, context.Canceled) {
					t.Fatalf("%s: %v", step, err)
				}
				if got := r.records.state("web", 2); !strings.HasPrefix(got, "failed: Uninstallation failed: ") {
					t.Errorf("%s: %s", step, got)
				}
				if r.records.state("web", 1) == "no record" {
					t.Errorf("%s: the history was deleted", step)
				}
				r.onStep, r.fail = nil, nil
				if _, err := r.uninstall.Run(t.Context(), r.request); err != nil || len(r.records.kept) != 0 {
					t.Errorf("%s: again: %v, left %v", step, err, r.records.kept)
				}
			}
		})
	}
}

func TestUninstallCanceledAtEnd(t *testing.T) {
	r := newUninstallCase(deployed(1))
	r.request.KeepHistory, r.request.Description = true, "moved"
	ctx, cancel := context.WithCancel(t.Context())
	r.onStep = func(step string) {
		if step == "update web.v1 uninstalled" {
			cancel()
		}
	}
	if _, err := r.uninstall.Run(ctx, r.request); err != nil {
		t.Fatal(err)
	}
	if got := r.records.state("web", 1); got != "uninstalled: moved" {
		t.Error(got)
	}
}

func TestUninstallPurgeError(t *testing.T) {
	r := newUninstallCase(newRevision(1, release.Superseded), newRevision(2, release.Superseded), deployed(3))
	r.fail["purge web.v2"] = errBroken
	_, err := r.uninstall.Run(t.Context(), r.request)
	if !errors.Is(err, errBroken) || r.records.state("web", 3) == "no record" || r.records.state("web", 1) != "no record" {
		t.Errorf("%v; %v", err, r.records.kept)
	}
	// A concurrent purge is not an error.
	r.fail["purge web.v2"] = &storage.NotFoundError{Key: storage.Key{Name: "web", Revision: 2}}
	if _, err := r.uninstall.Run(t.Context(), r.request); err != nil {
		t.Error(err)
	}
}

func TestUninstallRecordPendingError(t *testing.T) {
	r := newUninstallCase(deployed(1))
	r.fail["update web.v1 uninstalling"] = errBroken
	if _, err := r.uninstall.Run(t.Context(), r.request); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	r.wantWrites(t, "update web.v1 uninstalling")
}

// Objects of failed revisions and pending deletions are deleted too, each once, except those
// with a keep policy.
func TestUninstallInventory(t *testing.T) {
	s := installedCase(t, configMaps("a=1", "b=1")+objectText("Secret", "old", release.PolicyAnnotation, "keep"))
	s.mustFailAt(t, "delete [ConfigMap/b]", func() error { return errorOf(s.runUpgrade(t, configMaps("a=2", "left=1"))) })
	s.mustFailAt(t, "event pre-upgrade", func() error {
		return errorOf(s.runUpgrade(t, configMaps("a=3"), func(r *UpgradeRequest) { r.MaxHistory = 1 }))
	})
	if got := s.records.history(); got != "1 deployed, 3 failed" {
		t.Fatal(got)
	}
	out, err := s.runUninstall(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(out.Deleted) + names(out.Kept); got != "[ConfigMap/a ConfigMap/b ConfigMap/left][Secret/old]" {
		t.Error(got)
	}
	s.wantState(t, "Secret/old", "")
}

// Kinds of two API groups may have the same name, such as Knative's Service.
func TestUninstallSameKindInGroups(t *testing.T) {
	rel := newRevision(1, release.Deployed)
	knative := strings.Replace(objectText("Service", "web"), "apiVersion: v1", "apiVersion: serving.knative.dev/v1", 1)
	rel.Manifest = objectText("Service", "web") + knative + objectText("ConfigMap", "a") + strings.Replace(objectText("ConfigMap", "a"), "name: a", "name: a\n  namespace: other", 1)
	failed := newRevision(2, release.Failed)
	failed.Manifest = strings.Replace(knative, "dev/v1", "dev/v2", 1) + objectText("ConfigMap", "a")
	r := newUninstallCase(rel, failed)
	out, err := r.uninstall.Plan(t.Context(), r.request)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range out.Deleted {
		got = append(got, o.APIVersion+" "+o.Kind+" "+o.Namespace)
	}
	slices.Sort(got)
	if want := "serving.knative.dev/v2 Service , v1 ConfigMap , v1 ConfigMap other, v1 Service "; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, ", "), want)
	}
}

// No revision of an uninstalled release is deployed or pending, whatever its status was.
func TestUninstallKeepHistoryStatuses(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("a=2"))))
	s.records.kept["web.v1"].Info.Status = release.Deployed // killed between the last two writes
	s.mustFailAt(t, "event pre-upgrade", func() error { return errorOf(s.runUpgrade(t, configMaps("a=3"))) })
	s.records.kept["web.v3"].Info.Status = release.PendingUpgrade // killed before the next
	s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("a=4"), func(r *UpgradeRequest) { r.Description = "last" })))
	s.records.kept["web.v1"].Info.Status = release.Deployed
	s.records.kept["web.v2"].Info.Status = release.Deployed
	left := s.records.kept["web.v4"].Clone()
	left.Revision, left.Info.Status, left.Holder = 5, release.PendingRollback, "bert"
	s.records.kept["web.v5"] = left
	last := left.Clone()
	last.Revision, last.Info.Status = 6, release.PendingUpgrade
	s.records.kept["web.v6"] = last
	if _, err := s.runUninstall(t, func(r *UninstallRequest) { r.KeepHistory = true }); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, "", "1 superseded, 2 superseded, 3 failed, 4 superseded, 5 failed, 6 uninstalled")
	for n, rel := range s.records.kept {
		if rel.Holder != "" || rel.Info.Status == release.Uninstalled && rel.PendingDeletions != nil {
			t.Errorf("%s: holder %q, pending deletions %v", n, rel.Holder, rel.PendingDeletions)
		}
	}
}

func TestUninstallMissingPermissions(t *testing.T) {
	r := newUninstallCase(deployed(1))
	r.fail["permissions delete [Service/web ConfigMap/settings]; records: update delete"] = errBroken
	out, err := r.uninstall.Run(t.Context(), r.request)
	if !errors.Is(err, errBroken) || out != nil || len(r.writes()) > 0 || r.records.state("web", 1) != "deployed: " {
		t.Errorf("%v, calls = %q, left %s", err, r.writes(), r.records.state("web", 1))
	}
}

// Uninstalling with KeepHistory does not need the permission to delete records.
func TestUninstallKeepHistoryPermissions(t *testing.T) {
	r := newUninstallCase(deployed(1))
	r.request.KeepHistory = true
	r.fail["permissions delete [Service/web ConfigMap/settings]; records: update"] = errBroken
	if _, err := r.uninstall.Run(t.Context(), r.request); !errors.Is(err, errBroken) || len(r.writes()) > 0 {
		t.Errorf("%v, calls = %q", err, r.writes())
	}
}

// The record has the holder of the lock while the uninstall is in progress.
func TestUninstallGuardsLock(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	var at, who string
	s.onStep = func(step string) {
		if strings.HasPrefix(step, "delete ") {
			at, who = s.records.history(), s.records.kept["web.v1"].Holder
		}
	}
	if _, err := s.runUninstall(t); err != nil || at != "1 uninstalling" || who != "anna" || !s.contains("guard web.v1") {
		t.Errorf("%v, %s by %q", err, at, who)
	}
}

// The scripts of the record handle the events, and cannot change the objects to delete.
func TestUninstallEvents(t *testing.T) {
	s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1"), chart.FileScript, "-- a script\n"))
	s.mustSucceed(t, s.runInstall())
	var told []string
	event.On(s.bus, "test", 0.5, func(_ context.Context, e *event.ChartResolved) error {
		told = append(told, "resolved "+string(e.Chart.Files[0].Data))
		return nil
	})
	event.On(s.bus, "test", 0.5, func(_ context.Context, e *event.PreDelete) error {
		told = append(told, "pre-delete "+string(e.Release.Info.Status))
		return nil
	})
	event.On(s.bus, "test", 0.5, func(_ context.Context, e *event.PostDelete) error {
		told = append(told, "post-delete "+string(e.Release.Info.Status)+" "+s.cluster.contents())
		return nil
	})
	if _, err := s.runUninstall(t); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(told, ", "); got != "resolved -- a script\n, pre-delete deployed, post-delete uninstalling " {
		t.Errorf("%q", got)
	}
}
