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

// killed is what a client leaves behind that was killed: nothing.
type killed struct{}

// killAt runs something in a client that is killed at its n-th moment: before
// and after each thing that it does to the cluster or to a record. It tells
// when, "" where the client had ended before.
func (s *story) killAt(n int, run func() error) (moment string) {
	defer func() {
		s.now = nil
		if r := recover(); r != nil && r != any(killed{}) {
			panic(r)
		}
		s.forget()
	}()
	s.now = func(what string) {
		if n--; n < 0 {
			if moment == "" {
				moment = what
			}
			panic(killed{}) // what is deferred does nothing either
		}
	}
	_ = run()
	return ""
}

// command is a verb with what it says where there is nothing for it to do.
type command struct {
	name    string
	run     func(*story) error
	nothing func(error) bool
	last    bool // puts everything in order
}

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func verbs(t *testing.T) []command {
	never := func(error) bool { return false }
	notFound := func(err error) bool { return errors.Is(err, storage.ErrNotFound) }
	return []command{
		{"install", func(s *story) error {
			s.request.Chart = newChart(t, "templates/a.yaml", conf("a=new", "made=1"))
			return s.put()
		}, is[*NameInUseError], false},
		{"upgrade", func(s *story) error { return second(s.up(t, conf("a=new", "made=1"))) }, is[*NoReleaseError], false},
		{"failing atomic upgrade", func(s *story) error {
			s.fail["event post-upgrade"] = errBroken
			defer delete(s.fail, "event post-upgrade")
			if err := second(s.up(t, conf("a=bad", "bad=1"), func(r *UpgradeRequest) { r.Atomic = true })); !errors.Is(err, errBroken) {
				return err
			}
			return nil
		}, is[*NoReleaseError], false},
		{"rollback", func(s *story) error { return second(s.back(t, 0)) }, notFound, false},
		{"rollback to 1", func(s *story) error { return second(s.back(t, 1)) }, notFound, false},
		{"uninstall", func(s *story) error { return second(s.away(t)) }, notFound, false},
		{"uninstall --keep-history", func(s *story) error {
			return second(s.away(t, func(r *UninstallRequest) { r.KeepHistory = true }))
		}, func(err error) bool { return is[*AlreadyUninstalledError](err) || notFound(err) }, false},
		{"upgrade --install", func(s *story) error {
			err := second(s.up(t, conf("a=new", "made=1")))
			if is[*NoReleaseError](err) {
				s.request.Chart, s.request.Replace = newChart(t, "templates/a.yaml", conf("a=new", "made=1")), true
				err = s.put()
			}
			return err
		}, never, true},
	}
}

// A client may be killed at any moment of anything; whatever is done next goes
// on from there, and nothing is lost, doubled or left behind.
func TestAKilledClientLeavesNothingThatTheNextDoesNotSettle(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	moments := 0
	for _, first := range verbs(t) {
		if first.last {
			continue
		}
		before := begin(t, first.name)
		for _, next := range verbs(t) {
			if next.last || raced && next.name != first.name {
				continue
			}
			t.Run(first.name+", then "+next.name, func(t *testing.T) {
				for n := 0; ; n++ {
					s := before.again()
					moment := s.killAt(n, func() error { return first.run(s) })
					if moment == "" {
						break
					}
					moments++
					settle := func(v command) {
						err := v.run(s)
						if err != nil && !v.nothing(err) {
							t.Fatalf("killed at %q (moment %d), %s: %v\nhistory %s, objects %s", moment, n, v.name, err, s.records.history(), s.cluster.has())
						}
						if err == nil {
							s.wantSettled(t, moment)
						}
					}
					settle(next)
					settle(next) // and once more
					for _, v := range verbs(t) {
						if v.last {
							settle(v)
						}
					}
					if got := s.cluster.has(); got != "ConfigMap/a=new ConfigMap/made=1" {
						t.Fatalf("killed at %q, then %s: the cluster has %s; %s", moment, next.name, got, s.records.history())
					}
					if err := second(s.away(t)); err != nil || s.cluster.has() != "" || len(s.records.kept) > 0 {
						t.Fatalf("killed at %q: uninstalled, %v, left %s, %s", moment, err, s.cluster.has(), s.records.history())
					}
				}
			})
		}
	}
	if moments < 300 && !raced {
		t.Errorf("only %d moments were tried", moments)
	}
}

// begin is what there is before a client comes: for an install nothing, else
// three revisions of which the second failed.
func begin(t *testing.T, first string) *story {
	if first == "install" {
		return newStory(t, nil)
	}
	s := installed(t, conf("a=1", "b=1", "c=1"))
	s.breaks(t, "event post-upgrade", func() error { return second(s.up(t, conf("a=2", "b=1", "left=2"))) })
	s.do(t, second(s.up(t, conf("a=3", "d=3"))))
	return s
}

// again is the same story, told from here on once more.
func (s *story) again() *story {
	c := newStory(nil, nil)
	c.records.kept, c.cluster.live = maps.Clone(s.records.kept), maps.Clone(s.cluster.live)
	return c
}

// wantSettled checks the records: no hole, one deployed revision, the newest,
// with just its objects in the cluster; or none and no object, unless the newest
// has failed with nothing to roll back to.
func (s *story) wantSettled(t *testing.T, moment string) {
	t.Helper()
	all := s.records.all("web")
	deployed, failed := "", false
	for i, n := range all {
		rel := s.records.kept[key("web", n)]
		st := rel.Info.Status
		switch {
		case i > 0 && n != all[i-1]+1:
			t.Errorf("killed at %q: there is a hole in %s", moment, s.records.history())
		case st.Pending() || st == release.Uninstalling:
			t.Errorf("killed at %q: still at work: %s", moment, s.records.history())
		case st == release.Deployed && i != len(all)-1:
			t.Errorf("killed at %q: deployed, and not the newest: %s", moment, s.records.history())
		case st == release.Deployed:
			deployed = rel.Manifest
		}
		failed = st == release.Failed
		if rel.Holder != "" {
			t.Errorf("killed at %q: revision %d is held by %s", moment, n, rel.Holder)
		}
	}
	if want := strings.Count(deployed, "kind: ConfigMap"); len(s.cluster.live) != want && !failed {
		t.Errorf("killed at %q: the cluster has %s; deployed is\n%s", moment, s.cluster.has(), deployed)
	}
	if s.locker.held {
		t.Errorf("killed at %q: still locked", moment)
	}
}

// Whatever someone who is gone has left, the next marks it failed and says why.
func TestWhatWasLeftPendingIsMarkedFailed(t *testing.T) {
	for _, status := range []release.Status{release.PendingInstall, release.PendingUpgrade, release.PendingRollback, release.Uninstalling} {
		for _, next := range []string{"upgrade", "rollback to 1"} {
			s := installed(t, conf("a=1"))
			left := s.records.kept["web.v1"].Clone()
			left.Revision, left.Info.Status, left.Holder = 2, status, "bert"
			s.records.kept["web.v2"] = left
			for _, v := range verbs(t) {
				if v.name == next {
					if err := v.run(s); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got, want := s.records.state("web", 2), "failed: "+pendingOperation(status)+" was interrupted: it ended without saying how"; got != want || s.records.kept["web.v2"].Holder != "" {
				t.Errorf("%s, then %s: %s, held by %q", status, next, got, s.records.kept["web.v2"].Holder)
			}
			if !s.did("judge web.v2") || s.records.history() != "1 superseded, 2 failed, 3 deployed" {
				t.Errorf("%s, then %s: %s, %q", status, next, s.records.history(), s.lines)
			}
		}
	}
}

var errAlive = errors.New("bert is at work")

// Whoever is alive is not pushed aside: nothing is written.
func TestWhoeverIsAliveIsNotPushedAside(t *testing.T) {
	for _, status := range []release.Status{release.PendingInstall, release.PendingUpgrade, release.PendingRollback, release.Uninstalling} {
		for _, next := range verbs(t) {
			s := installed(t, conf("a=1"))
			left := s.records.kept["web.v1"].Clone()
			left.Revision, left.Info.Status, left.Holder = 2, status, "bert"
			s.records.kept["web.v2"] = left
			s.locker.alive = errAlive
			if err := next.run(s); !errors.Is(err, errAlive) {
				t.Errorf("%s, then %s: %v", status, next.name, err)
			}
			if w := s.writes(); len(w) > 0 || s.locker.held || s.records.kept["web.v2"].Holder != "bert" {
				t.Errorf("%s, then %s: did %q", status, next.name, w)
			}
		}
	}
}

// A revision that is not pending is no one's: no one is asked about it.
func TestOnlyPendingRevisionsAreJudged(t *testing.T) {
	s := installed(t, conf("a=1"))
	s.locker.alive = errAlive
	for _, v := range verbs(t) {
		if v.name == "upgrade" {
			if err := v.run(s); err != nil {
				t.Error(err)
			}
		}
	}
}

// Dry runs look, and neither lock nor judge.
func TestDryRunsTakeNoLock(t *testing.T) {
	s := installed(t, conf("a=1"))
	left := s.records.kept["web.v1"].Clone()
	left.Revision, left.Info.Status = 2, release.PendingUpgrade
	s.records.kept["web.v2"] = left
	s.locker.alive = errAlive
	for name, run := range map[string]func() error{
		"upgrade":   func() error { _, _, err := s.upgrade().Plan(t.Context(), to(t, conf("a=2"))); return err },
		"rollback":  func() error { _, err := s.rollback().Plan(t.Context(), RollbackRequest{Name: "web"}); return err },
		"uninstall": func() error { _, err := s.uninstall().Plan(t.Context(), UninstallRequest{Name: "web"}); return err },
		"install": func() error {
			if _, _, err := s.install.Plan(t.Context(), s.request); !is[*NameInUseError](err) {
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
					t.Errorf("%s did %q", name, l)
				}
			}
			s.forget()
		})
	}
}

// Who loses the lock stops, says why, and leaves to the others what is to be
// done: no cleanup, no rollback, no shortening of the history.
func TestWhoLosesTheLockStops(t *testing.T) {
	all := []string{"event pre-upgrade", "apply [ConfigMap/a ConfigMap/made]", "event post-upgrade"}
	for i, at := range all {
		t.Run(at, func(t *testing.T) {
			s := installed(t, conf("a=1"))
			s.at = func(step string) {
				if step != at {
					return
				}
				s.locker.lose(lostLock{})
				// Another client goes on with the release.
				next := s.records.kept["web.v1"].Clone()
				next.Revision, next.Info.Status, next.Holder = 3, release.PendingUpgrade, "bert"
				s.records.kept["web.v3"] = next
			}
			_, err := s.up(t, conf("a=new", "made=1"), func(r *UpgradeRequest) { r.Atomic, r.CleanupOnFail, r.MaxHistory = true, true, 1 })
			if !is[lostLock](err) || !strings.Contains(err.Error(), "the lock was lost") {
				t.Fatalf("%s: %v", at, err)
			}
			// What becomes of the record is the other client's to say.
			if got := s.records.history(); got != "1 deployed, 2 pending-upgrade, 3 pending-upgrade" {
				t.Errorf("%s: %s", at, got)
			}
			for _, l := range s.writes() {
				if strings.HasPrefix(l, "delete ") || strings.Contains(l, "rollback") || i+1 < len(all) && l == all[i+1] {
					t.Errorf("%s: went on with %q", at, l)
				}
			}
		})
	}
}

func TestWhoLosesTheLockUndoesNothing(t *testing.T) {
	cleanup := func(r *RollbackRequest) { r.CleanupOnFail = true }
	for name, run := range map[string]func(*story) error{
		"an install to clean up": func(s *story) error { s.request.CleanupOnFail = true; return s.put() },
		"an atomic install":      func(s *story) error { s.request.Atomic = true; return s.put() },
		"a rollback":             func(s *story) error { return second(s.back(t, 1, cleanup)) },
		"an uninstall":           func(s *story) error { return second(s.away(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, newChart(t, "templates/a.yaml", conf("a=1")))
			if name == "a rollback" || name == "an uninstall" {
				s = installed(t, conf("a=1"))
				s.do(t, second(s.up(t, conf("b=1"))))
			}
			var before string
			s.at = func(step string) {
				if strings.HasPrefix(step, "event post-") || name == "an uninstall" && strings.HasPrefix(step, "event pre-") {
					before = s.cluster.has()
					s.locker.lose(lostLock{})
				}
			}
			if err := run(s); !is[lostLock](err) || before == "" {
				t.Errorf("%s: %v", name, err)
			}
			if got := s.cluster.has(); got != before {
				t.Errorf("%s: the cluster has %s, and had %s when the lock was lost", name, got, before)
			}
			all := s.records.all("web")
			if len(all) == 0 || !s.records.kept[key("web", all[len(all)-1])].Info.Status.InProgress() {
				t.Errorf("%s: the record was written: %s", name, s.records.history())
			}
		})
	}
}

// All is done, and then the lock turns out to be lost: the client that has it
// decides what becomes of the revision, and nothing more is written.
func TestALockThatIsLostAtTheVeryEndFails(t *testing.T) {
	for name, run := range map[string]func(*story) error{
		"install":   func(s *story) error { s.request.Chart = newChart(t); return s.put() },
		"upgrade":   func(s *story) error { return second(s.up(t, conf("a=2"))) },
		"rollback":  func(s *story) error { return second(s.back(t, 1)) },
		"uninstall": func(s *story) error { return second(s.away(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, nil)
			if name != "install" {
				s = installed(t, conf("a=1"))
			}
			loseAt[*event.PostInstall](s)
			loseAt[*event.PostUpgrade](s)
			loseAt[*event.PostRollback](s)
			loseAt[*event.PostDelete](s)
			if err := run(s); !is[lostLock](err) {
				t.Errorf("%s: %v", name, err)
			}
			newest := s.records.all("web")
			if got := s.records.kept[key("web", newest[len(newest)-1])].Info.Status; !got.InProgress() {
				t.Errorf("%s: the record was written: %s", name, got)
			}
		})
	}
}

// loseAt loses the lock when all that answers an event has run.
func loseAt[E event.Event](s *story) {
	var e E
	s.hooks.then[release.HookEvent(e.Name())] = func() { s.locker.lose(lostLock{}) }
}

func TestAnInterruptEndsTheWaitForALock(t *testing.T) {
	s := installed(t, conf("a=1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.upgrade().Run(ctx, to(t, conf("a=2"))); !errors.Is(err, context.Canceled) || len(s.writes()) != 0 {
		t.Errorf("%v, did %q", err, s.writes())
	}
}
