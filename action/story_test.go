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

// story is the life of the release web in a cluster that is empty at first.
type story struct {
	*diary
	cluster *cluster
	records *records
	locker  *locker
	bus     *event.Bus
	hooks   *notedHooks
	clock   time.Time
	install Install
	request InstallRequest
}

func newStory(t testing.TB, c *chart.Chart, have ...*release.Release) *story {
	d := &diary{fail: map[string]error{}}
	s := &story{diary: d, cluster: newCluster(d), records: newRecords(d, have...), locker: &locker{diary: d}, bus: &event.Bus{}, clock: noon}
	s.hooks = &notedHooks{diary: d, then: map[release.HookEvent]func(){}}
	s.install = Install{s.config()}
	s.request = InstallRequest{Chart: c, Name: "web", Namespace: "ns"}
	return s
}

func (s *story) config() *Config {
	return &Config{Cluster: s.cluster, Releases: s.records, Locker: s.locker, Events: s.bus, Now: s.time, hooks: s.hooks}
}

// notedHooks notes when hooks run.
type notedHooks struct {
	noHooks
	*diary
	then map[release.HookEvent]func()
	// confirm confirms rollbacks; nil confirms all.
	confirm func(*release.Release) error
}

func (h *notedHooks) enabled() bool { return true }

func (h *notedHooks) confirmRollback(_ context.Context, rel *release.Release) error {
	if h.confirm == nil {
		return nil
	}
	return h.confirm(rel)
}

func (h *notedHooks) run(ctx context.Context, _ *release.Release, _ []*release.Hook, ev release.HookEvent) error {
	if err := h.step(ctx, "event %s", ev); err != nil {
		return err
	}
	if then := h.then[ev]; then != nil {
		then()
	}
	return nil
}

func (s *story) time() time.Time { return s.clock }

// installed is the story of a release that was installed from a chart of one
// template, an hour before noon.
func installed(t testing.TB, template string) *story {
	t.Helper()
	s := newStory(t, newChart(t, "templates/a.yaml", template))
	s.clock = noon.Add(-time.Hour)
	s.do(t, s.put())
	s.clock = noon
	return s
}

// do goes on with an operation that must succeed, and begins a new page.
func (s *story) do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s.forget()
}

// breaks goes on with an operation that must fail, at a step, and begins a new
// page.
func (s *story) breaks(t testing.TB, step string, run func() error) {
	t.Helper()
	s.fail[step] = errBroken
	if err := run(); !errors.Is(err, errBroken) {
		t.Fatalf("got %v after\n%q", err, s.lines)
	}
	delete(s.fail, step)
	s.forget()
}

func (s *story) put() error {
	_, err := s.install.Run(context.Background(), s.request)
	return err
}

func (s *story) upgrade() Upgrade {
	return Upgrade{s.config()}
}

func (s *story) rollback() Rollback {
	return Rollback{s.config()}
}

func (s *story) uninstall() Uninstall {
	return Uninstall{s.config()}
}

// to is the request to upgrade to a chart of one template.
func to(t testing.TB, template string) UpgradeRequest {
	return UpgradeRequest{Chart: newChart(t, "templates/a.yaml", template), Name: "web", Namespace: "ns"}
}

// up upgrades to a chart of one template.
func (s *story) up(t testing.TB, template string, change ...func(*UpgradeRequest)) (*release.Release, error) {
	t.Helper()
	req := to(t, template)
	for _, c := range change {
		c(&req)
	}
	return s.upgrade().Run(t.Context(), req)
}

// back rolls back.
func (s *story) back(t testing.TB, revision int, change ...func(*RollbackRequest)) (*release.Release, error) {
	t.Helper()
	req := RollbackRequest{Name: "web", Revision: revision}
	for _, c := range change {
		c(&req)
	}
	return s.rollback().Run(t.Context(), req)
}

// away uninstalls.
func (s *story) away(t testing.TB, change ...func(*UninstallRequest)) (*Uninstalled, error) {
	t.Helper()
	req := UninstallRequest{Name: "web"}
	for _, c := range change {
		c(&req)
	}
	return s.uninstall().Run(t.Context(), req)
}

// wantState checks what is in the cluster and in the records, and that no one
// has left the lock.
func (s *story) wantState(t testing.TB, objects, history string) {
	t.Helper()
	if got := s.cluster.has(); got != objects {
		t.Errorf("the cluster has %s, wanted %s", got, objects)
	}
	if got := s.records.history(); got != history {
		t.Errorf("the history is %s, wanted %s", got, history)
	}
	if s.locker.held {
		t.Error("the release is still locked")
	}
}
