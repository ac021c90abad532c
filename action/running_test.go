// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/plan"
)

// asked is a cluster that remembers what it was asked to plan.
type asked struct {
	*cluster
	requests []apply.Request
}

func (a *asked) Plan(ctx context.Context, r apply.Request) (*plan.Plan, error) {
	a.requests = append(a.requests, r)
	return a.cluster.Plan(ctx, r)
}

// What the hooks create is planned along with the objects, for those that run.
func TestThePlanKnowsTheHooksThatRun(t *testing.T) {
	hooks := conf("a=1") + kind("Pod", "before-install", "helm.sh/hook", "pre-install,pre-rollback") + kind("Pod", "after-upgrade", "helm.sh/hook", "post-upgrade,test") +
		kind("Pod", "test", "helm.sh/hook", "test") + kind("Pod", "going", "helm.sh/hook", "pre-delete")
	for _, test := range []struct {
		name  string
		plan  func(*story, *asked) error
		quiet bool // no hooks run
		want  string
		first bool
	}{
		{name: "install", plan: func(s *story, a *asked) error {
			s.install.Cluster = a
			return s.put()
		}, want: "Pod/before-install", first: true},
		{name: "install without hooks", plan: func(s *story, a *asked) error {
			s.install.Cluster, s.request.NoHooks = a, true
			return s.put()
		}},
		{name: "plan of an install", plan: func(s *story, a *asked) error {
			s.install.Cluster = a
			_, _, err := s.install.Plan(t.Context(), s.request)
			return err
		}, want: "Pod/before-install", first: true},
		{name: "upgrade", plan: func(s *story, a *asked) error {
			s.do(t, s.put())
			verb := s.upgrade()
			verb.Cluster = a
			_, err := verb.Run(t.Context(), to(t, hooks))
			return err
		}, want: "Pod/after-upgrade"},
		{name: "rollback", plan: func(s *story, a *asked) error {
			s.do(t, s.put())
			verb := s.rollback()
			verb.Cluster = a
			_, err := verb.Run(t.Context(), RollbackRequest{Name: "web"})
			return err
		}, want: "Pod/before-install", first: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory(t, newChart(t, "templates/a.yaml", hooks))
			a := &asked{cluster: s.cluster}
			if err := test.plan(s, a); err != nil {
				t.Fatal(err)
			}
			if len(a.requests) != 1 {
				t.Fatalf("asked %d times", len(a.requests))
			}
			var running []string
			for _, o := range a.requests[0].Running {
				running = append(running, o.String())
			}
			if got := strings.Join(running, " "); got != test.want || a.requests[0].HooksFirst != test.first || a.requests[0].Checked {
				t.Errorf("got %q, first: %v; want %q, first: %v", got, a.requests[0].HooksFirst, test.want, test.first)
			}
			if n := len(a.requests[0].Hooks); n != 4 {
				t.Errorf("%d of 4 hooks are known", n)
			}
		})
	}
}

// Definitions that are written first are planned with, and what they define is
// planned for once more without being checked again.
func TestThePlanKnowsTheDefinitionsThatComeFirst(t *testing.T) {
	s := newStory(t, newChart(t, "templates/a.yaml", conf("a=1")+"---\napiVersion: example.com/v1\nkind: Comet\nmetadata: {name: c}\n", "crds/c.yaml", comets))
	s.cluster.missing["comets.example.com"] = true
	a := &asked{cluster: s.cluster}
	s.install.Cluster = a
	if err := s.put(); err != nil {
		t.Fatal(err)
	}
	if len(a.requests) != 2 {
		t.Fatalf("asked %d times", len(a.requests))
	}
	for i, checked := range []bool{false, true} {
		r := a.requests[i]
		if len(r.Definitions) != 1 || r.Definitions[0].Name != "comets.example.com" || r.Checked != checked {
			t.Errorf("%d: %v, checked: %v", i, r.Definitions, r.Checked)
		}
	}
}

const comets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: comets.example.com}
spec: {group: example.com, names: {kind: Comet}, versions: [{name: v1, served: true}]}
`
