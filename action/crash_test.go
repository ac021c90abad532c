// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// killSignal is the panic value that stops a killed client.
type killSignal struct{}

// killAt runs an operation in a client that is killed at moment n: moments are before and
// after each write to the cluster or to a record. It returns the moment, or "" if the client
// finished before.
func (s *testCase) killAt(n int, run func() error) (moment string) {
	defer func() {
		s.onMoment = nil
		if r := recover(); r != nil && r != any(killSignal{}) {
			panic(r)
		}
		s.reset()
	}()
	s.onMoment = func(what string) {
		if n--; n < 0 {
			if moment == "" {
				moment = what
			}
			panic(killSignal{}) // again in deferred functions
		}
	}
	_ = run()
	return ""
}

// command is an operation, with the error that it returns if there is nothing to do.
type command struct {
	name    string
	run     func(*testCase) error
	nothing func(error) bool
	last    bool // succeeds in any state
}

func isError[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func operations(t *testing.T) []command {
	never := func(error) bool { return false }
	notFound := func(err error) bool { return errors.Is(err, storage.ErrNotFound) }
	return []command{
		{"install", func(s *testCase) error {
			s.request.Chart = newChart(t, "templates/a.yaml", configMaps("a=new", "made=1"))
			return s.runInstall()
		}, isError[*NameInUseError], false},
		{"upgrade", func(s *testCase) error { return errorOf(s.runUpgrade(t, configMaps("a=new", "made=1"))) }, isError[*NoReleaseError], false},
		{"failing atomic upgrade", func(s *testCase) error {
			s.fail["event post-upgrade"] = errBroken
			defer delete(s.fail, "event post-upgrade")
			if err := errorOf(s.runUpgrade(t, configMaps("a=bad", "bad=1"), func(r *UpgradeRequest) { r.Atomic = true })); !errors.Is(err, errBroken) {
				return err
			}
			return nil
		}, isError[*NoReleaseError], false},
		{"rollback", func(s *testCase) error { return errorOf(s.runRollback(t, 0)) }, notFound, false},
		{"rollback to 1", func(s *testCase) error { return errorOf(s.runRollback(t, 1)) }, notFound, false},
		{"uninstall", func(s *testCase) error { return errorOf(s.runUninstall(t)) }, notFound, false},
		{"uninstall --keep-history", func(s *testCase) error {
			return errorOf(s.runUninstall(t, func(r *UninstallRequest) { r.KeepHistory = true }))
		}, func(err error) bool { return isError[*AlreadyUninstalledError](err) || notFound(err) }, false},
		{"upgrade --install", func(s *testCase) error {
			err := errorOf(s.runUpgrade(t, configMaps("a=new", "made=1")))
			if isError[*NoReleaseError](err) {
				s.request.Chart, s.request.Replace = newChart(t, "templates/a.yaml", configMaps("a=new", "made=1")), true
				err = s.runInstall()
			}
			return err
		}, never, true},
	}
}

// After a client was killed at any moment of an operation, every other operation works, and no
// revision or object is lost, duplicated or left over.
func TestRecoveryAfterCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	moments := 0
	for _, first := range operations(t) {
		if first.last {
			continue
		}
		before := prepareCase(t, first.name)
		for _, next := range operations(t) {
			if next.last || raceEnabled && next.name != first.name {
				continue
			}
			t.Run(first.name+", then "+next.name, func(t *testing.T) {
				for n := 0; ; n++ {
					s := before.clone()
					moment := s.killAt(n, func() error { return first.run(s) })
					if moment == "" {
						break
					}
					moments++
					settle := func(v command) {
						err := v.run(s)
						if err != nil && !v.nothing(err) {
							t.Fatalf("killed at %q (moment %d), %s: %v\nhistory %s, objects %s", moment, n, v.name, err, s.records.history(), s.cluster.contents())
						}
						if err == nil {
							s.wantConsistent(t, moment)
						}
					}
					settle(next)
					settle(next) // again
					for _, v := range operations(t) {
						if v.last {
							settle(v)
						}
					}
					if got := s.cluster.contents(); got != "ConfigMap/a=new ConfigMap/made=1" {
						t.Fatalf("killed at %q, then %s: the cluster has %s; %s", moment, next.name, got, s.records.history())
					}
					if err := errorOf(s.runUninstall(t)); err != nil || s.cluster.contents() != "" || len(s.records.kept) > 0 {
						t.Fatalf("killed at %q: uninstall: %v; left objects %s, history %s", moment, err, s.cluster.contents(), s.records.history())
					}
				}
			})
		}
	}
	if moments < 300 && !raceEnabled {
		t.Errorf("tested %d moments, want at least 300", moments)
	}
}

// prepareCase returns the state before an operation: no release for an install, and three
// revisions, of which the second failed, for others.
func prepareCase(t *testing.T, first string) *testCase {
	if first == "install" {
		return newTestCase(t, nil)
	}
	s := installedCase(t, configMaps("a=1", "b=1", "c=1"))
	s.mustFailAt(t, "event post-upgrade", func() error { return errorOf(s.runUpgrade(t, configMaps("a=2", "b=1", "left=2"))) })
	s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("a=3", "d=3"))))
	return s
}

// clone returns a copy of the records and the cluster.
func (s *testCase) clone() *testCase {
	c := newTestCase(nil, nil)
	c.records.kept, c.cluster.live = maps.Clone(s.records.kept), maps.Clone(s.cluster.live)
	return c
}

// wantConsistent checks the records: no gaps, and either one deployed revision, the newest,
// whose objects are the only ones in the cluster; or none and no objects, unless the newest
// has failed without a revision to roll back to.
func (s *testCase) wantConsistent(t *testing.T, moment string) {
	t.Helper()
	all := s.records.all("web")
	deployed, failed := "", false
	for i, n := range all {
		rel := s.records.kept[key("web", n)]
		st := rel.Info.Status
		switch {
		case i > 0 && n != all[i-1]+1:
			t.Errorf("killed at %q: a revision is missing in %s", moment, s.records.history())
		case st.Pending() || st == release.Uninstalling:
			t.Errorf("killed at %q: still in progress: %s", moment, s.records.history())
		case st == release.Deployed && i != len(all)-1:
			t.Errorf("killed at %q: a deployed revision is not the newest: %s", moment, s.records.history())
		case st == release.Deployed:
			deployed = rel.Manifest
		}
		failed = st == release.Failed
		if rel.Holder != "" {
			t.Errorf("killed at %q: revision %d is held by %s", moment, n, rel.Holder)
		}
	}
	if want := strings.Count(deployed, "kind: ConfigMap"); len(s.cluster.live) != want && !failed {
		t.Errorf("killed at %q: the cluster has %s; the deployed manifest is\n%s", moment, s.cluster.contents(), deployed)
	}
	if s.locker.held {
		t.Errorf("killed at %q: still locked", moment)
	}
}

// The next operation records an interrupted revision as failed.
func TestInterruptedRevisionFails(t *testing.T) {
	for _, status := range []release.Status{release.PendingInstall, release.PendingUpgrade, release.PendingRollback, release.Uninstalling} {
		for _, next := range []string{"upgrade", "rollback to 1"} {
			s := installedCase(t, configMaps("a=1"))
			left := s.records.kept["web.v1"].Clone()
			left.Revision, left.Info.Status, left.Holder = 2, status, "bert"
			s.records.kept["web.v2"] = left
			for _, v := range operations(t) {
				if v.name == next {
					if err := v.run(s); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got, want := s.records.state("web", 2), "failed: "+pendingOperation(status)+" was interrupted: its client ended before it finished"; got != want || s.records.kept["web.v2"].Holder != "" {
				t.Errorf("%s, then %s: %s, held by %q", status, next, got, s.records.kept["web.v2"].Holder)
			}
			if !s.contains("check-holder web.v2") || s.records.history() != "1 superseded, 2 failed, 3 deployed" {
				t.Errorf("%s, then %s: %s, %q", status, next, s.records.history(), s.lines)
			}
		}
	}
}

var errAlive = errors.New("bert is at work")

// An operation fails without writes while another client is working on the release.
func TestLockHeldByLiveClient(t *testing.T) {
	for _, status := range []release.Status{release.PendingInstall, release.PendingUpgrade, release.PendingRollback, release.Uninstalling} {
		for _, next := range operations(t) {
			s := installedCase(t, configMaps("a=1"))
			left := s.records.kept["web.v1"].Clone()
			left.Revision, left.Info.Status, left.Holder = 2, status, "bert"
			s.records.kept["web.v2"] = left
			s.locker.holderErr = errAlive
			if err := next.run(s); !errors.Is(err, errAlive) {
				t.Errorf("%s, then %s: %v", status, next.name, err)
			}
			if w := s.writes(); len(w) > 0 || s.locker.held || s.records.kept["web.v2"].Holder != "bert" {
				t.Errorf("%s, then %s: calls = %q", status, next.name, w)
			}
		}
	}
}

func TestAbandonedChecksOnlyPendingRevisions(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	s.locker.holderErr = errAlive
	for _, v := range operations(t) {
		if v.name == "upgrade" {
			if err := v.run(s); err != nil {
				t.Error(err)
			}
		}
	}
}

// Dry runs only read: they take no lock, and do not check the holder of a pending revision.
func TestDryRunTakesNoLock(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	left := s.records.kept["web.v1"].Clone()
	left.Revision, left.Info.Status = 2, release.PendingUpgrade
	s.records.kept["web.v2"] = left
	s.locker.holderErr = errAlive
	for name, run := range map[string]func() error{
		"upgrade":   func() error { _, _, err := s.upgrade().Plan(t.Context(), upgradeTo(t, configMaps("a=2"))); return err },
		"rollback":  func() error { _, err := s.rollback().Plan(t.Context(), RollbackRequest{Name: "web"}); return err },
		"uninstall": func() error { _, err := s.uninstall().Plan(t.Context(), UninstallRequest{Name: "web"}); return err },
		"install": func() error {
			if _, _, err := s.install.Plan(t.Context(), s.request); !isError[*NameInUseError](err) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, l := range s.lines {
				if w, _, _ := strings.Cut(l, " "); w != "capabilities" && w != "plan" {
					t.Errorf("%s calls = %q", name, l)
				}
			}
			s.reset()
		})
	}
}

// An operation that loses its lock stops with the reason: no cleanup, no rollback, no pruning.
func TestLockLostStopsOperation(t *testing.T) {
	all := []string{"event pre-upgrade", "apply [ConfigMap/a ConfigMap/made]", "event post-upgrade"}
	for i, at := range all {
		t.Run(at, func(t *testing.T) {
			s := installedCase(t, configMaps("a=1"))
			s.onStep = func(step string) {
				if step != at {
					return
				}
				s.locker.lose(lostLock{})
				// Another client continues with the release.
				next := s.records.kept["web.v1"].Clone()
				next.Revision, next.Info.Status, next.Holder = 3, release.PendingUpgrade, "bert"
				s.records.kept["web.v3"] = next
			}
			_, err := s.runUpgrade(t, configMaps("a=new", "made=1"), func(r *UpgradeRequest) { r.Atomic, r.CleanupOnFail, r.MaxHistory = true, true, 1 })
			if !isError[lostLock](err) || !strings.Contains(err.Error(), "the lock was lost") {
				t.Fatalf("%s: %v", at, err)
			}
			// The other client decides about the record.
			if got := s.records.history(); got != "1 deployed, 2 pending-upgrade, 3 pending-upgrade" {
				t.Errorf("%s: %s", at, got)
			}
			for _, l := range s.writes() {
				if strings.HasPrefix(l, "delete ") || strings.Contains(l, "rollback") || i+1 < len(all) && l == all[i+1] {
					t.Errorf("%s: continued with %q", at, l)
				}
			}
		})
	}
}

func TestLockLostSkipsUndo(t *testing.T) {
	cleanup := func(r *RollbackRequest) { r.CleanupOnFail = true }
	for name, run := range map[string]func(*testCase) error{
		"an install to clean up": func(s *testCase) error { s.request.CleanupOnFail = true; return s.runInstall() },
		"an atomic install":      func(s *testCase) error { s.request.Atomic = true; return s.runInstall() },
		"a rollback":             func(s *testCase) error { return errorOf(s.runRollback(t, 1, cleanup)) },
		"an uninstall":           func(s *testCase) error { return errorOf(s.runUninstall(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1")))
			if name == "a rollback" || name == "an uninstall" {
				s = installedCase(t, configMaps("a=1"))
				s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("b=1"))))
			}
			var before string
			s.onStep = func(step string) {
				if strings.HasPrefix(step, "event post-") || name == "an uninstall" && strings.HasPrefix(step, "event pre-") {
					before = s.cluster.contents()
					s.locker.lose(lostLock{})
				}
			}
			if err := run(s); !isError[lostLock](err) || before == "" {
				t.Errorf("%s: %v", name, err)
			}
			if got := s.cluster.contents(); got != before {
				t.Errorf("%s: the cluster has %s, and had %s when the lock was lost", name, got, before)
			}
			all := s.records.all("web")
			if len(all) == 0 || !s.records.kept[key("web", all[len(all)-1])].Info.Status.InProgress() {
				t.Errorf("%s: the record was written: %s", name, s.records.history())
			}
		})
	}
}

// If the lock is lost after the last step, the operation fails and writes no more: the client
// that has the lock decides about the revision.
func TestLockLostAtEndFails(t *testing.T) {
	for name, run := range map[string]func(*testCase) error{
		"install":   func(s *testCase) error { s.request.Chart = newChart(t); return s.runInstall() },
		"upgrade":   func(s *testCase) error { return errorOf(s.runUpgrade(t, configMaps("a=2"))) },
		"rollback":  func(s *testCase) error { return errorOf(s.runRollback(t, 1)) },
		"uninstall": func(s *testCase) error { return errorOf(s.runUninstall(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestCase(t, nil)
			if name != "install" {
				s = installedCase(t, configMaps("a=1"))
			}
			loseLockAt[*event.PostInstall](s)
			loseLockAt[*event.PostUpgrade](s)
			loseLockAt[*event.PostRollback](s)
			loseLockAt[*event.PostDelete](s)
			if err := run(s); !isError[lostLock](err) {
				t.Errorf("%s: %v", name, err)
			}
			newest := s.records.all("web")
			if got := s.records.kept[key("web", newest[len(newest)-1])].Info.Status; !got.InProgress() {
				t.Errorf("%s: the record was written: %s", name, got)
			}
		})
	}
}

// loseLockAt loses the lock after the hooks of an event have run.
func loseLockAt[E event.Event](s *testCase) {
	var e E
	s.hooks.then[release.HookEvent(e.Name())] = func() { s.locker.lose(lostLock{}) }
}

func TestLockWaitCanceled(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.upgrade().Run(ctx, upgradeTo(t, configMaps("a=2"))); !errors.Is(err, context.Canceled) || len(s.writes()) != 0 {
		t.Errorf("%v, calls = %q", err, s.writes())
	}
}
