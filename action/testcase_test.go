// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/release"
)

var errBroken = errors.New("the cluster is broken")

// testCase is a release named web in a cluster that is empty at first.
type testCase struct {
	*callLog
	cluster *fakeCluster
	records *fakeRecords
	locker  *fakeLocker
	bus     *event.Bus
	hooks   *loggedHooks
	clock   time.Time
	install Install
	request InstallRequest
}

func newTestCase(t testing.TB, c *chart.Chart, have ...*release.Release) *testCase {
	d := &callLog{fail: map[string]error{}}
	s := &testCase{callLog: d, cluster: newFakeCluster(d), records: newFakeRecords(d, have...), locker: &fakeLocker{callLog: d}, bus: &event.Bus{}, clock: noon}
	s.hooks = &loggedHooks{callLog: d, then: map[release.HookEvent]func(){}}
	s.install = Install{s.config()}
	s.request = InstallRequest{Chart: c, Name: "web", Namespace: "ns"}
	return s
}

func (s *testCase) config() *Config {
	return &Config{Cluster: s.cluster, Releases: s.records, Locker: s.locker, Events: s.bus, Now: s.time, hooks: s.hooks}
}

// loggedHooks logs the hooks that run.
type loggedHooks struct {
	noHooks
	*callLog
	then map[release.HookEvent]func()
	// confirm confirms rollbacks; nil confirms all.
	confirm func(*release.Release) error
}

func (h *loggedHooks) enabled() bool { return true }

func (h *loggedHooks) confirmRollback(_ context.Context, rel *release.Release) error {
	if h.confirm == nil {
		return nil
	}
	return h.confirm(rel)
}

func (h *loggedHooks) run(ctx context.Context, _ *release.Release, _ []*release.Hook, ev release.HookEvent) error {
	if err := h.step(ctx, "event %s", ev); err != nil {
		return err
	}
	if then := h.then[ev]; then != nil {
		then()
	}
	return nil
}

func (s *testCase) time() time.Time { return s.clock }

// installedCase returns a case with a release that was installed from a chart with one
// template, an hour before noon.
func installedCase(t testing.TB, template string) *testCase {
	t.Helper()
	s := newTestCase(t, newChart(t, "templates/a.yaml", template))
	s.clock = noon.Add(-time.Hour)
	s.mustSucceed(t, s.runInstall())
	s.clock = noon
	return s
}

// mustSucceed fails the test if err is not nil, and resets the log.
func (s *testCase) mustSucceed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s.reset()
}

// mustFailAt runs an operation that must fail at a step, and resets the log.
func (s *testCase) mustFailAt(t testing.TB, step string, run func() error) {
	t.Helper()
	s.fail[step] = errBroken
	if err := run(); !errors.Is(err, errBroken) {
		t.Fatalf("got %v after\n%q", err, s.lines)
	}
	delete(s.fail, step)
	s.reset()
}

func (s *testCase) runInstall() error {
	_, err := s.install.Run(context.Background(), s.request)
	return err
}

func (s *testCase) upgrade() Upgrade {
	return Upgrade{s.config()}
}

func (s *testCase) rollback() Rollback {
	return Rollback{s.config()}
}

func (s *testCase) uninstall() Uninstall {
	return Uninstall{s.config()}
}

// upgradeTo returns the request to upgrade to a chart with one template.
func upgradeTo(t testing.TB, template string) UpgradeRequest {
	return UpgradeRequest{Chart: newChart(t, "templates/a.yaml", template), Name: "web", Namespace: "ns"}
}

// runUpgrade upgrades to a chart with one template.
func (s *testCase) runUpgrade(t testing.TB, template string, change ...func(*UpgradeRequest)) (*release.Release, error) {
	t.Helper()
	req := upgradeTo(t, template)
	for _, c := range change {
		c(&req)
	}
	return s.upgrade().Run(t.Context(), req)
}

// runRollback rolls back.
func (s *testCase) runRollback(t testing.TB, revision int, change ...func(*RollbackRequest)) (*release.Release, error) {
	t.Helper()
	req := RollbackRequest{Name: "web", Revision: revision}
	for _, c := range change {
		c(&req)
	}
	return s.rollback().Run(t.Context(), req)
}

// runUninstall uninstalls.
func (s *testCase) runUninstall(t testing.TB, change ...func(*UninstallRequest)) (*Uninstalled, error) {
	t.Helper()
	req := UninstallRequest{Name: "web"}
	for _, c := range change {
		c(&req)
	}
	return s.uninstall().Run(t.Context(), req)
}

// wantState checks the objects in the cluster and the history, and that the release is not
// locked.
func (s *testCase) wantState(t testing.TB, objects, history string) {
	t.Helper()
	if got := s.cluster.contents(); got != objects {
		t.Errorf("the cluster has %s, want %s", got, objects)
	}
	if got := s.records.history(); got != history {
		t.Errorf("the history is %s, want %s", got, history)
	}
	if s.locker.held {
		t.Error("the release is still locked")
	}
}
