// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/release"
)

func TestUpgradeCleanupOnFail(t *testing.T) {
	for _, interrupt := range []bool{false, true} {
		s := installedCase(t, configMaps("a=1", "b=1"))
		ctx, cancel := context.WithCancel(t.Context())
		s.onStep = func(step string) {
			if interrupt && step == "event post-upgrade" {
				cancel()
			}
		}
		s.fail["event post-upgrade"] = errBroken
		req := upgradeTo(t, configMaps("a=2", "b=1", "c=1"))
		req.CleanupOnFail, req.UndoCancelled = true, interrupt
		_, err := s.upgrade().Run(ctx, req)
		cancel()
		if err == nil {
			t.Error("got no error")
		}
		s.wantState(t, "ConfigMap/a=2 ConfigMap/b=1", "1 deployed, 2 failed")
	}
	s := installedCase(t, configMaps("a=1"))
	s.fail["event post-upgrade"] = errBroken
	s.fail["delete [ConfigMap/c], background"] = errors.New("it will not go")
	_, err := s.runUpgrade(t, configMaps("a=2", "c=1"), func(r *UpgradeRequest) { r.CleanupOnFail = true })
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "it will not go") {
		t.Error(err)
	}
}

// The rollback to the last successful revision happens under the same lock, and deletes the
// objects of the failed upgrade.
func TestUpgradeAtomicRollsBack(t *testing.T) {
	s := installedCase(t, configMaps("a=1", "b=1"))
	s.fail["event post-upgrade"] = errBroken
	rel, err := s.runUpgrade(t, configMaps("a=2", "c=1"), func(r *UpgradeRequest) { r.Atomic, r.Wait = true, true })
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "has been rolled back due to rollback-on-failure being set, to revision 1") {
		t.Fatal(err)
	}
	if rel == nil || rel.Revision != 2 || rel.Info.Status != release.Failed {
		t.Errorf("returned %+v", rel)
	}
	s.want(t,
		"lock web, upgrade",
		"capabilities",
		"plan [ConfigMap/a ConfigMap/c] for ns/web",
		"create web.v2 pending-upgrade",
		"guard web.v2",
		"event pre-upgrade",
		"apply [ConfigMap/a ConfigMap/c]",
		"delete [ConfigMap/b]",
		"wait [ConfigMap/a ConfigMap/c]",
		"event post-upgrade",
		"update web.v2 failed",
		"plan [ConfigMap/a ConfigMap/b] for ns/web",
		"create web.v3 pending-rollback",
		"guard web.v3",
		"event pre-rollback",
		"apply [ConfigMap/a ConfigMap/b]",
		"delete [ConfigMap/c]",
		"wait [ConfigMap/a ConfigMap/b]",
		"event post-rollback",
		"update web.v3 deployed",
		"update web.v1 superseded",
		"unlock web",
	)
	s.wantState(t, "ConfigMap/a=1 ConfigMap/b=1", "1 superseded, 2 failed, 3 deployed")
}

func TestUpgradeAtomicCanceled(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	ctx, cancel := context.WithCancel(t.Context())
	s.onStep = func(step string) {
		if step == "event post-upgrade" {
			cancel()
		}
	}
	req := upgradeTo(t, configMaps("a=2"))
	req.Atomic, req.UndoCancelled = true, true
	if _, err := s.upgrade().Run(ctx, req); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s.wantState(t, "ConfigMap/a=1", "1 superseded, 2 failed, 3 deployed")
}

// Without UndoCancelled a canceled operation is not undone, because undoing it takes an
// unbounded time. The description of the record says so.
func TestUndoCancelledNotSet(t *testing.T) {
	for name, run := range map[string]func(context.Context, *testCase) error{
		"atomic install": func(ctx context.Context, s *testCase) error {
			s.request.Atomic = true
			return errorOf(s.install.Run(ctx, s.request))
		},
		"install that cleans up": func(ctx context.Context, s *testCase) error {
			s.request.CleanupOnFail = true
			return errorOf(s.install.Run(ctx, s.request))
		},
		"atomic upgrade": func(ctx context.Context, s *testCase) error {
			req := upgradeTo(t, configMaps("a=2", "b=2"))
			req.Atomic = true
			return errorOf(s.upgrade().Run(ctx, req))
		},
		"upgrade that cleans up": func(ctx context.Context, s *testCase) error {
			req := upgradeTo(t, configMaps("a=2", "b=2"))
			req.CleanupOnFail = true
			return errorOf(s.upgrade().Run(ctx, req))
		},
		"rollback that cleans up": func(ctx context.Context, s *testCase) error {
			return errorOf(s.rollback().Run(ctx, RollbackRequest{Name: "web", CleanupOnFail: true}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=2", "b=2")))
			if !strings.Contains(name, "install") {
				s = installedCase(t, configMaps("a=2", "b=2"))
				s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("a=1"))))
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var after []string
			s.onStep = func(step string) {
				if after = append(after, step); strings.HasPrefix(step, "event post-") {
					after = nil
					cancel()
				}
			}
			err := run(ctx, s)
			revision := len(s.records.all("web"))
			want := []string{fmt.Sprintf("update web.v%d failed", revision), "unlock web"}
			if !errors.Is(err, context.Canceled) || !slices.Equal(after, want) {
				t.Errorf("got %v, and after the cancellation calls = %q, want %q", err, after, want)
			}
			if got := s.cluster.contents(); got != "ConfigMap/a=2 ConfigMap/b=2" || s.locker.held {
				t.Errorf("the cluster has %s, locked %t", got, s.locker.held)
			}
			if got := s.records.state("web", revision); !strings.Contains(got, "it was canceled, and the objects that it has written stay: ") {
				t.Errorf("the record's state is %s", got)
			}
		})
	}
}

// An undo that has started ends with its context.
func TestUndoCanceled(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	ctx, cancel := context.WithCancel(t.Context())
	s.onStep = func(step string) {
		if step == "event pre-rollback" {
			cancel()
		}
	}
	s.fail["event post-upgrade"] = errBroken
	req := upgradeTo(t, configMaps("a=2"))
	req.Atomic = true
	if _, err := s.upgrade().Run(ctx, req); !errors.Is(err, context.Canceled) || !errors.Is(err, errBroken) {
		t.Error(err)
	}
	s.wantState(t, "ConfigMap/a=2", "1 deployed, 2 failed, 3 failed")
}

// An object that does not become ready is a failure, which is undone.
func TestAtomicImpliesWait(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	s.fail["wait [ConfigMap/a]"] = errBroken
	_, err := s.runUpgrade(t, configMaps("a=2"), func(r *UpgradeRequest) {
		r.Atomic = true
		s.onStep = func(step string) {
			if step == "create web.v3 pending-rollback" {
				delete(s.fail, "wait [ConfigMap/a]")
			}
		}
	})
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "has been rolled back") {
		t.Error(err)
	}
	s.wantState(t, "ConfigMap/a=1", "1 superseded, 2 failed, 3 deployed")

	first := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1")))
	first.fail["wait [ConfigMap/a]"] = errBroken
	first.request.Atomic = true
	if err := first.runInstall(); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	first.wantState(t, "", "")
}

// Pruning keeps the revision to roll back to, however small MaxHistory is.
func TestUpgradeAtomicTarget(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	atomic := func(r *UpgradeRequest) { r.Atomic, r.MaxHistory = true, 1 }
	s.fail["event post-upgrade"] = errBroken
	if _, err := s.runUpgrade(t, configMaps("a=2"), atomic); !strings.Contains(err.Error(), "being set, to revision 1") {
		t.Fatal(err)
	}
	s.wantState(t, "ConfigMap/a=1", "3 deployed")
	// Also if no revision is deployed any more, as after a failed rollback by Helm.
	s.records.kept["web.v3"].Info.Status = release.Superseded
	if _, err := s.runUpgrade(t, configMaps("a=2"), atomic); !strings.Contains(err.Error(), "being set, to revision 3") {
		t.Fatal(err)
	}
	s.wantState(t, "ConfigMap/a=1", "5 deployed")
}

func TestUpgradeAtomicWithoutTarget(t *testing.T) {
	s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1")))
	s.mustFailAt(t, "event post-install", s.runInstall)
	s.fail["event post-upgrade"] = errBroken
	_, err := s.runUpgrade(t, configMaps("a=2"), func(r *UpgradeRequest) { r.Atomic = true })
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "no successful revision") {
		t.Error(err)
	}
	s.wantState(t, "ConfigMap/a=2", "1 failed, 2 failed")
}

func TestUpgradeAtomicRollbackFails(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	s.fail["event post-upgrade"] = errBroken
	s.fail["event pre-rollback"] = errors.New("nor backwards")
	_, err := s.runUpgrade(t, configMaps("a=2"), func(r *UpgradeRequest) { r.Atomic = true })
	if !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "release web failed, and rolling back to revision 1 failed too: ") || !strings.Contains(err.Error(), "nor backwards\nthe first failure was: ") {
		t.Error(err)
	}
	s.wantState(t, "ConfigMap/a=2", "1 deployed, 2 failed, 3 failed")
}

// An atomic upgrade asks for confirmation of the hooks of a rollback before it starts; other
// upgrades do not.
func TestUpgradeAtomicConfirmsHooks(t *testing.T) {
	for _, atomic := range []bool{true, false} {
		s := installedCase(t, configMaps("a=1"))
		s.mustFailAt(t, "event pre-upgrade", func() error { return errorOf(s.runUpgrade(t, configMaps("a=2"))) })
		var asked []int
		verb := s.upgrade()
		s.hooks.confirm = func(rel *release.Release) error {
			asked = append(asked, rel.Revision)
			return errBroken
		}
		req := upgradeTo(t, configMaps("a=3"))
		req.Atomic = atomic
		_, err := verb.Run(t.Context(), req)
		if errors.Is(err, errBroken) != atomic || len(asked) > 0 != atomic || atomic && (asked[0] != 1 || len(s.writes()) > 0) {
			t.Errorf("atomic %t: %v, confirmed %v, wrote %q", atomic, err, asked, s.writes())
		}
	}
}

// refusingScripts is a ScriptRunner that refuses permissions.
type refusingScripts struct{ loadFunc }

func (refusingScripts) Confirm(_ context.Context, c *chart.Chart) error {
	if c == nil || !c.HasScripts() {
		return nil
	}
	return errBroken
}

// An atomic upgrade asks for the permissions of the scripts of a rollback before it starts,
// because another client may have written the record.
func TestUpgradeAtomicConfirmsScripts(t *testing.T) {
	for _, atomic := range []bool{true, false} {
		s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1"), chart.FileScript, "-- a script"))
		s.mustSucceed(t, s.runInstall())
		config := s.config()
		config.Scripts = func() ScriptRunner {
			return refusingScripts{func(context.Context, *event.ChartResolved) error { return nil }}
		}
		req := upgradeTo(t, configMaps("a=2"))
		req.Atomic = atomic
		_, err := Upgrade{config}.Run(t.Context(), req)
		if errors.Is(err, errBroken) != atomic || atomic && len(s.writes()) > 0 {
			t.Errorf("atomic %t: got %v, wrote %q", atomic, err, s.writes())
		}
	}
}
