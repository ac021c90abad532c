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

// removal is one uninstall of a release that is in the records.
type removal struct {
	*diary
	cluster   *cluster
	records   *records
	uninstall Uninstall
	request   UninstallRequest
}

func newRemoval(have ...*release.Release) *removal {
	d := &diary{fail: map[string]error{}}
	r := &removal{diary: d, cluster: newCluster(d), records: newRecords(d, have...)}
	r.uninstall = Uninstall{&Config{Cluster: r.cluster, Releases: r.records, Locker: &locker{diary: d}, Now: atNoon, hooks: &notedHooks{diary: d}}}
	r.request = UninstallRequest{Name: "web"}
	return r
}

// deployed is a release of three objects, one of which is to be kept, and a
// document that holds a comment only.
func deployed(revision int) *release.Release {
	rel := gone(revision, release.Deployed)
	rel.Manifest = kind("ConfigMap", "settings") + kind("PersistentVolumeClaim", "data", keepPolicy, "keep") + kind("Service", "web") +
		"---\n# Source: web/templates/off.yaml\n# switched off\n"
	return rel
}

func TestUninstallRemovesInReverseThenForgetsOldestFirst(t *testing.T) {
	r := newRemoval(gone(2, release.Superseded), gone(10, release.Superseded), deployed(11))
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
		"gone [Service/web ConfigMap/settings]",
		"event post-delete",
		"forget web.v2",
		"forget web.v10",
		"forget web.v11",
		"unlock web",
	)
	if names(out.Kept) != "[PersistentVolumeClaim/data]" || names(out.Deleted) != "[Service/web ConfigMap/settings]" {
		t.Errorf("kept %s, deleted %s", names(out.Kept), names(out.Deleted))
	}
	if _, err := r.uninstall.Run(t.Context(), r.request); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a second time: %v", err)
	}
}

func TestUninstallKeepsHistoryWhereAsked(t *testing.T) {
	r := newRemoval(gone(1, release.Superseded), deployed(2))
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

	// Once more with history: nothing to do, and it says so.
	r.lines = nil
	var already *AlreadyUninstalledError
	if _, err := r.uninstall.Run(t.Context(), r.request); !errors.As(err, &already) || len(r.writes()) > 0 {
		t.Errorf("%v, did %q", err, r.writes())
	}
	// Without: the history goes, and no object is touched.
	r.request.KeepHistory = false
	if _, err := r.uninstall.Run(t.Context(), r.request); err != nil {
		t.Error(err)
	}
	r.wantWrites(t, "forget web.v1", "forget web.v2")
}

// As Helm 4.3.1 does: white space and case do not matter. To delete what an
// author meant to keep cannot be undone.
func TestThePolicyToKeepIsReadAsHelmReadsIt(t *testing.T) {
	for value, kept := range map[string]bool{"keep": true, " Keep ": true, "KEEP": true, "": false, "keeper": false, "delete": false} {
		rel := gone(1, release.Deployed)
		rel.Manifest = kind("Secret", "s", keepPolicy, value)
		r := newRemoval(rel)
		out, err := r.uninstall.Plan(t.Context(), r.request)
		if err != nil || len(out.Kept) == 1 != kept || len(out.Kept)+len(out.Deleted) != 1 {
			t.Errorf("%q: kept %v, deleted %v, %v", value, out.Kept, out.Deleted, err)
		}
	}
}

func TestPlanOfAnUninstallWritesNothing(t *testing.T) {
	r := newRemoval(deployed(1))
	out, err := r.uninstall.Plan(t.Context(), r.request)
	if err != nil || names(out.Deleted) != "[Service/web ConfigMap/settings]" {
		t.Errorf("%v, %v", out, err)
	}
	r.want(t)
	if r.records.state("web", 1) != "deployed: " {
		t.Error(r.records.state("web", 1))
	}
}

func TestUninstallRefusesWhatItCannotRead(t *testing.T) {
	broken := gone(1, release.Deployed)
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
			r := newRemoval(broken)
			_, err := r.uninstall.Run(t.Context(), UninstallRequest{Name: test.release})
			if err == nil || !strings.Contains(err.Error(), test.want) || len(r.writes()) > 0 {
				t.Errorf("%s: %v, did %q", name, err, r.writes())
			}
		})
	}
}

// What fails half-way leaves a record to begin again from, also where the user
// interrupted.
func TestAnUninstallThatFailsHalfWayCanBeRunAgain(t *testing.T) {
	for _, step := range []string{
		"event pre-delete",
		"delete [Service/web ConfigMap/settings], background",
		"gone [Service/web ConfigMap/settings]",
		"event post-delete",
	} {
		t.Run(step, func(t *testing.T) {
			for _, interrupt := range []bool{false, true} {
				r := newRemoval(gone(1, release.Superseded), deployed(2))
				r.request.Wait = true
				ctx, cancel := context.WithCancel(t.Context())
				if interrupt {
					r.at = func(now string) {
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
					t.Errorf("%s: history is gone already", step)
				}
				r.at, r.fail = nil, nil
				if _, err := r.uninstall.Run(t.Context(), r.request); err != nil || len(r.records.kept) != 0 {
					t.Errorf("%s: again: %v, left %v", step, err, r.records.kept)
				}
			}
		})
	}
}

func TestAnInterruptAtTheEndDoesNotLeaveAReleaseUninstalling(t *testing.T) {
	r := newRemoval(deployed(1))
	r.request.KeepHistory, r.request.Description = true, "moved"
	ctx, cancel := context.WithCancel(t.Context())
	r.at = func(step string) {
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

func TestAPurgeThatFailsKeepsTheNewestRecord(t *testing.T) {
	r := newRemoval(gone(1, release.Superseded), gone(2, release.Superseded), deployed(3))
	r.fail["forget web.v2"] = errBroken
	_, err := r.uninstall.Run(t.Context(), r.request)
	if !errors.Is(err, errBroken) || r.records.state("web", 3) == "no record" || r.records.state("web", 1) != "no record" {
		t.Errorf("%v; %v", err, r.records.kept)
	}
	// Someone else purging at the same time is not an error.
	r.fail["forget web.v2"] = &storage.NotFoundError{Key: storage.Key{Name: "web", Revision: 2}}
	if _, err := r.uninstall.Run(t.Context(), r.request); err != nil {
		t.Error(err)
	}
}

func TestARecordThatCannotBeMarkedLeavesTheObjects(t *testing.T) {
	r := newRemoval(deployed(1))
	r.fail["update web.v1 uninstalling"] = errBroken
	if _, err := r.uninstall.Run(t.Context(), r.request); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	r.wantWrites(t, "update web.v1 uninstalling")
}

// What a failed revision has left behind goes too, and what one before it was
// to remove and has not; each once, and what a policy keeps stays.
func TestAnUninstallRemovesWhateverTheReleaseMayHave(t *testing.T) {
	s := installed(t, conf("a=1", "b=1")+kind("Secret", "old", keepPolicy, "keep"))
	s.breaks(t, "delete [ConfigMap/b]", func() error { return second(s.up(t, conf("a=2", "left=1"))) })
	s.breaks(t, "event pre-upgrade", func() error {
		return second(s.up(t, conf("a=3"), func(r *UpgradeRequest) { r.MaxHistory = 1 }))
	})
	if got := s.records.history(); got != "1 deployed, 3 failed" {
		t.Fatal(got)
	}
	out, err := s.away(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(out.Deleted) + names(out.Kept); got != "[ConfigMap/a ConfigMap/b ConfigMap/left][Secret/old]" {
		t.Error(got)
	}
	s.wantState(t, "Secret/old", "")
}

// Two groups may have kinds of one name. (It happens: Knative has a Service.)
func TestAnUninstallTellsGroupsApart(t *testing.T) {
	rel := gone(1, release.Deployed)
	knative := strings.Replace(kind("Service", "web"), "apiVersion: v1", "apiVersion: serving.knative.dev/v1", 1)
	rel.Manifest = kind("Service", "web") + knative + kind("ConfigMap", "a") + strings.Replace(kind("ConfigMap", "a"), "name: a", "name: a\n  namespace: other", 1)
	failed := gone(2, release.Failed)
	failed.Manifest = strings.Replace(knative, "dev/v1", "dev/v2", 1) + kind("ConfigMap", "a")
	r := newRemoval(rel, failed)
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
		t.Errorf("got %q, wanted %q", strings.Join(got, ", "), want)
	}
}

// Nothing of a release that is uninstalled is deployed or under way, whatever
// state it was in.
func TestAnUninstallSettlesTheWholeHistory(t *testing.T) {
	s := installed(t, conf("a=1"))
	s.do(t, second(s.up(t, conf("a=2"))))
	s.records.kept["web.v1"].Info.Status = release.Deployed // killed between two last words
	s.breaks(t, "event pre-upgrade", func() error { return second(s.up(t, conf("a=3"))) })
	s.records.kept["web.v3"].Info.Status = release.PendingUpgrade // and before a first one
	s.do(t, second(s.up(t, conf("a=4"), func(r *UpgradeRequest) { r.Description = "last" })))
	s.records.kept["web.v1"].Info.Status = release.Deployed
	s.records.kept["web.v2"].Info.Status = release.Deployed
	left := s.records.kept["web.v4"].Clone()
	left.Revision, left.Info.Status, left.Holder = 5, release.PendingRollback, "bert"
	s.records.kept["web.v5"] = left
	last := left.Clone()
	last.Revision, last.Info.Status = 6, release.PendingUpgrade
	s.records.kept["web.v6"] = last
	if _, err := s.away(t, func(r *UninstallRequest) { r.KeepHistory = true }); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, "", "1 superseded, 2 superseded, 3 failed, 4 superseded, 5 failed, 6 uninstalled")
	for n, rel := range s.records.kept {
		if rel.Holder != "" || rel.Info.Status == release.Uninstalled && rel.PendingDeletions != nil {
			t.Errorf("%s is held by %q, orphans %v", n, rel.Holder, rel.PendingDeletions)
		}
	}
}

func TestMissingRightsEndAnUninstallBeforeItBegins(t *testing.T) {
	r := newRemoval(deployed(1))
	r.fail["permissions delete [Service/web ConfigMap/settings]; records: update delete"] = errBroken
	out, err := r.uninstall.Run(t.Context(), r.request)
	if !errors.Is(err, errBroken) || out != nil || len(r.writes()) > 0 || r.records.state("web", 1) != "deployed: " {
		t.Errorf("%v, did %q, left %s", err, r.writes(), r.records.state("web", 1))
	}
}

// An uninstall that keeps the history removes no record.
func TestAKeptHistoryNeedsNoRightToRemoveIt(t *testing.T) {
	r := newRemoval(deployed(1))
	r.request.KeepHistory = true
	r.fail["permissions delete [Service/web ConfigMap/settings]; records: update"] = errBroken
	if _, err := r.uninstall.Run(t.Context(), r.request); !errors.Is(err, errBroken) || len(r.writes()) > 0 {
		t.Errorf("%v, did %q", err, r.writes())
	}
}

// While it is under way the record says who is at work.
func TestAnUninstallIsGuarded(t *testing.T) {
	s := installed(t, conf("a=1"))
	var at, who string
	s.at = func(step string) {
		if strings.HasPrefix(step, "delete ") {
			at, who = s.records.history(), s.records.kept["web.v1"].Holder
		}
	}
	if _, err := s.away(t); err != nil || at != "1 uninstalling" || who != "anna" || !s.did("guard web.v1") {
		t.Errorf("%v, %s by %q", err, at, who)
	}
}

// The scripts that answer are those of the record; no one changes what goes.
func TestEventsOfAnUninstall(t *testing.T) {
	s := newStory(t, newChart(t, "templates/a.yaml", conf("a=1"), chart.FileScript, "-- a script\n"))
	s.do(t, s.put())
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
		told = append(told, "post-delete "+string(e.Release.Info.Status)+" "+s.cluster.has())
		return nil
	})
	if _, err := s.away(t); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(told, ", "); got != "resolved -- a script\n, pre-delete deployed, post-delete uninstalling " {
		t.Errorf("%q", got)
	}
}
