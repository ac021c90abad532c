// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/plan"
)

// planRecorder is a cluster that stores the plan requests.
type planRecorder struct {
	*fakeCluster
	requests []apply.Request
}

func (a *planRecorder) Plan(ctx context.Context, r apply.Request) (*plan.Plan, error) {
	a.requests = append(a.requests, r)
	return a.fakeCluster.Plan(ctx, r)
}

// The plan request contains the objects of hooks, unless hooks are disabled.
func TestPlanRequestHooks(t *testing.T) {
	hooks := configMaps("a=1") + objectText("Pod", "before-install", "helm.sh/hook", "pre-install,pre-rollback") + objectText("Pod", "after-upgrade", "helm.sh/hook", "post-upgrade,test") +
		objectText("Pod", "test", "helm.sh/hook", "test") + objectText("Pod", "going", "helm.sh/hook", "pre-delete")
	for _, test := range []struct {
		name  string
		plan  func(*testCase, *planRecorder) error
		quiet bool // no hooks run
		want  string
		first bool
	}{
		{name: "install", plan: func(s *testCase, a *planRecorder) error {
			s.install.Cluster = a
			return s.runInstall()
		}, want: "Pod/before-install", first: true},
		{name: "install without hooks", plan: func(s *testCase, a *planRecorder) error {
			s.install.Cluster, s.request.NoHooks = a, true
			return s.runInstall()
		}},
		{name: "plan of an install", plan: func(s *testCase, a *planRecorder) error {
			s.install.Cluster = a
			_, _, err := s.install.Plan(t.Context(), s.request)
			return err
		}, want: "Pod/before-install", first: true},
		{name: "upgrade", plan: func(s *testCase, a *planRecorder) error {
			s.mustSucceed(t, s.runInstall())
			verb := s.upgrade()
			verb.Cluster = a
			_, err := verb.Run(t.Context(), upgradeTo(t, hooks))
			return err
		}, want: "Pod/after-upgrade"},
		{name: "rollback", plan: func(s *testCase, a *planRecorder) error {
			s.mustSucceed(t, s.runInstall())
			verb := s.rollback()
			verb.Cluster = a
			_, err := verb.Run(t.Context(), RollbackRequest{Name: "web"})
			return err
		}, want: "Pod/before-install", first: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newTestCase(t, newChart(t, "templates/a.yaml", hooks))
			a := &planRecorder{fakeCluster: s.cluster}
			if err := test.plan(s, a); err != nil {
				t.Fatal(err)
			}
			if len(a.requests) != 1 {
				t.Fatalf("called %d times", len(a.requests))
			}
			var running []string
			for _, o := range a.requests[0].Running {
				running = append(running, o.String())
			}
			if got := strings.Join(running, " "); got != test.want || a.requests[0].HooksFirst != test.first || a.requests[0].Validated {
				t.Errorf("got %q, first: %v; want %q, first: %v", got, a.requests[0].HooksFirst, test.want, test.first)
			}
			if n := len(a.requests[0].Hooks); n != 4 {
				t.Errorf("the request has %d hooks, want 4", n)
			}
		})
	}
}

// The plan request contains the CRDs that are written first. Their custom resources are
// planned in a second request, which skips validation.
func TestPlanRequestCRDs(t *testing.T) {
	s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1")+"---\napiVersion: example.com/v1\nkind: Comet\nmetadata: {name: c}\n", "crds/c.yaml", comets))
	s.cluster.missing["comets.example.com"] = true
	a := &planRecorder{fakeCluster: s.cluster}
	s.install.Cluster = a
	if err := s.runInstall(); err != nil {
		t.Fatal(err)
	}
	if len(a.requests) != 2 {
		t.Fatalf("called %d times", len(a.requests))
	}
	for i, checked := range []bool{false, true} {
		r := a.requests[i]
		if len(r.Definitions) != 1 || r.Definitions[0].Name != "comets.example.com" || r.Validated != checked {
			t.Errorf("%d: %v, checked: %v", i, r.Definitions, r.Validated)
		}
	}
}

const comets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: comets.example.com}
spec: {group: example.com, names: {kind: Comet}, versions: [{name: v1, served: true}]}
`
