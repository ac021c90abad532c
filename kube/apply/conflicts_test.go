// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

const contested = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {a: "%s", b: "1"}
`

func TestYieldedFieldsAreNotWritten(t *testing.T) {
	s := newReleaseCase(t)
	s.ServerSide, s.Conflicts = true, plan.Yield
	s.to(fmt.Sprintf(contested, "1"))
	s.by("other", "v1", "ConfigMap", "web", `{"data":{"a":"other"}}`)
	apitest.Want(t, "the next", s.to(fmt.Sprintf(contested, "2")), "unchanged ConfigMap/web") // nothing else changes
	apitest.Want(t, "data", apitest.At(s.get("v1", "ConfigMap", "web"), "data"), "map[a:other b:1]")
	text := strings.Replace(fmt.Sprintf(contested, "2"), `b: "1"`, `b: "2"`, 1)
	apitest.Want(t, "what else changes", s.to(text), "update ConfigMap/web")
	apitest.Want(t, "data", apitest.At(s.get("v1", "ConfigMap", "web"), "data"), "map[a:other b:2]")
	apitest.Want(t, "again", s.to(text), "unchanged ConfigMap/web")
	s.by("other", "v1", "ConfigMap", "web", `{"data":{"a":null}}`)
	apitest.Want(t, "given up", s.to(text), "update ConfigMap/web")
	apitest.Want(t, "data", apitest.At(s.get("v1", "ConfigMap", "web"), "data"), "map[a:2 b:2]")
}

// Between the plan and the write, another client sets a field and changes the resource version.
func TestConflictsAfterPlan(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy plan.Resolution
		change func(s *releaseCase)
		data   string // "" if it fails
	}{
		{"fail", plan.Fail, other, ""},
		{"yield", plan.Yield, other, "map[a:other b:2]"},
		{"take", plan.Take, other, "map[a:2 b:2]"},
		{"yield to one of the same name", plan.Yield, func(s *releaseCase) {
			other(s)
			s.send(http.MethodDelete, "/api/v1/namespaces/"+s.ns+"/configmaps/web", "application/json", "", nil)
		}, "map[a:2 b:2]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide, s.Conflicts = true, tc.policy
			s.to(fmt.Sprintf(contested, "1"))
			if strings.Contains(tc.name, "same name") {
				s.by("other", "v1", "ConfigMap", "web", `{"data":{"a":"before"}}`)
			}
			p, _ := s.plan(strings.Replace(fmt.Sprintf(contested, "2"), `b: "1"`, `b: "2"`, 1))
			tc.change(s)
			err := s.c.Execute(t.Context(), p, p.Steps)
			var conflict *FieldConflictError
			if tc.data == "" {
				if !errors.As(err, &conflict) || conflict.Conflicts[0].Path != "data.a" {
					t.Errorf("got %v, want a conflict", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			apitest.Want(t, "data", apitest.At(s.get("v1", "ConfigMap", "web"), "data"), tc.data)
			if tc.name == "yield" && !strings.Contains(s.rec.Said(progress.Warning), "data.a is \"other\" (set by other)") {
				t.Errorf("it is not said: %s", s.rec.Said(progress.Warning))
			}
		})
	}
}

func other(s *releaseCase) { s.by("other", "v1", "ConfigMap", "web", `{"data":{"a":"other"}}`) }

const scalerV2 = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, annotations: {note: "%s"}}
spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`

// Only the server knows fields that another client has set in another version of the kind.
func TestConflictsInAnotherVersion(t *testing.T) {
	for _, tc := range []struct {
		policy  plan.Resolution
		predict bool
		min     string // "" if it fails
	}{
		{plan.Fail, false, ""}, {plan.Fail, true, ""}, {plan.Yield, false, "3"}, {plan.Yield, true, "3"}, {plan.Take, false, "2"},
	} {
		t.Run(fmt.Sprint(tc.policy, " ", tc.predict), func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide, s.Conflicts, s.ServerDryRun = true, tc.policy, tc.predict
			s.to(fmt.Sprintf(scalerV2, "1"))
			s.by("other", "autoscaling/v1", "HorizontalPodAutoscaler", "web", `{"spec":{"minReplicas":3}}`)
			if tc.min == "" {
				err := s.fails(fmt.Sprintf(scalerV2, "2"))
				var conflict *FieldConflictError
				if !errors.As(err, &conflict) || conflict.Conflicts[0].Path != "spec.minReplicas" || conflict.Conflicts[0].Manager.Name != "other" || conflict.Conflicts[0].Live == nil {
					t.Errorf("got %v, want a conflict", err)
				}
				return
			}
			s.to(fmt.Sprintf(scalerV2, "2"))
			o := s.get("autoscaling/v2", "HorizontalPodAutoscaler", "web")
			apitest.Want(t, "minReplicas", apitest.At(o, "spec", "minReplicas"), tc.min)
			apitest.Want(t, "note", apitest.At(o, "metadata", "annotations", "note"), "2")
			before := s.versions()
			s.to(fmt.Sprintf(scalerV2, "2"))
			apitest.Want(t, "versions", s.versions(), before)
		})
	}
}

// A plan of a dry run has the conflicts and fails for none.
func TestReportedConflicts(t *testing.T) {
	s := newReleaseCase(t)
	s.ServerSide, s.ServerDryRun, s.ReportConflicts = true, true, true
	s.to(fmt.Sprintf(contested, "1"))
	other(s)
	p, says := s.plan(fmt.Sprintf(contested, "2"))
	apitest.Want(t, "plan", says, "update ConfigMap/web")
	if c := p.Steps[0].Conflicts; len(c) != 1 || c[0].Path != "data.a" || c[0].Resolution != plan.Fail {
		t.Errorf("conflicts are %v", c)
	}
}

// Two fields of one object, of which one is taken and one yielded.
func TestConflictsTakeAndYield(t *testing.T) {
	s := newReleaseCase(t)
	s.ServerSide = true
	const owners = `metadata: {name: web, annotations: {helm.sh/field-ownership: "{take: [data.a], yield: [data.b]}"}}`
	text := strings.Replace(fmt.Sprintf(contested, "1"), "metadata: {name: web}", owners, 1)
	s.to(text)
	s.by("other", "v1", "ConfigMap", "web", `{"data":{"a":"other","b":"other"}}`)
	apitest.Want(t, "plan", s.to(text), "update ConfigMap/web")
	apitest.Want(t, "data", apitest.At(s.get("v1", "ConfigMap", "web"), "data"), "map[a:1 b:other]")
	apitest.Want(t, "again", s.to(text), "unchanged ConfigMap/web")
}

// If the server takes one of two fields silently, the object's annotation decides.
func TestConflictsExcludedField(t *testing.T) {
	const budget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, annotations: {helm.sh/field-ownership: "{fail: [spec.minAvailable]}", note: "%s"}}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
`
	for _, dry := range []bool{false, true} {
		t.Run(fmt.Sprint("server dry run ", dry), func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide, s.ServerDryRun = true, dry
			s.to(fmt.Sprintf(budget, "1"))
			s.by("kubectl-edit", "policy/v1", "PodDisruptionBudget", "web", `{"spec":{"minAvailable":null,"maxUnavailable":2}}`)
			err := s.fails(fmt.Sprintf(budget, "2"))
			var conflict *FieldConflictError
			if !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Path != "spec.maxUnavailable" {
				t.Fatalf("got %v, want a conflict of spec.maxUnavailable", err)
			}
			o := s.get("policy/v1", "PodDisruptionBudget", "web")
			apitest.Want(t, "maxUnavailable", apitest.At(o, "spec", "maxUnavailable"), "2")
			apitest.Want(t, "note", apitest.At(o, "metadata", "annotations", "note"), "1")
		})
	}
}

// Fields of the chart that kubectl apply has set become the release's and are removed with the
// chart; the others stay.
func TestClientSideApplyFieldsAreTakenOver(t *testing.T) {
	s := newReleaseCase(t)
	s.ServerSide = true
	s.to(fmt.Sprintf(contested, "1"))
	s.by("kubectl-client-side-apply", "v1", "ConfigMap", "web", `{"data":{"a":"theirs","b":"theirs","c":"theirs"}}`)
	text := fmt.Sprintf(contested, "1")
	s.to(text)
	apitest.Want(t, "data", apitest.At(s.get("v1", "ConfigMap", "web"), "data"), "map[a:1 b:1 c:theirs]")
	apitest.Want(t, "again", s.to(text), "unchanged ConfigMap/web")
	s.to(strings.Replace(text, `, b: "1"`, "", 1))
	apitest.Want(t, "dropped", apitest.At(s.get("v1", "ConfigMap", "web"), "data"), "map[a:1 c:theirs]")
	s.by("kubectl-client-side-apply", "v1", "ConfigMap", "web", `{"data":{"a":"theirs"}}`)
	s.to("\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")
	apitest.Want(t, "what the release had", apitest.At(s.get("v1", "ConfigMap", "web"), "data"), "map[c:theirs]")
}

// asked counts the requests of a client for objects of the release.
type asked struct {
	http.RoundTripper
	n *atomic.Int32
}

func (a asked) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/namespaces/") {
		a.n.Add(1)
	}
	return a.RoundTripper.RoundTrip(r)
}

// Without a conflict there are no further requests: yielded fields cost none, and a conflict
// costs one for its object. Autoscalers are read only if they may decide a conflict.
func TestConflictRequests(t *testing.T) {
	s := newReleaseCase(t)
	config, n := apitest.RESTConfig(t), &atomic.Int32{}
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return asked{rt, n} })
	s.c = newClient(kube.Options{REST: func() (*rest.Config, error) { return config, nil }, Progress: s.rec.Record})
	s.ServerSide = true
	text := fmt.Sprintf(contested, "1") + "---" + fmt.Sprintf(web, 1, "2.0.0")
	text = strings.Replace(text, "metadata: {name: web}\ndata: {a: \"1\", b: \"1\"}", "metadata: {name: more}\ndata: {a: \"1\", b: \"1\"}", 1)
	requests := func(change func() error) int32 {
		t.Helper()
		n.Store(0)
		if err := change(); err != nil {
			t.Fatal(err)
		}
		return n.Load()
	}
	again := func() error { s.to(text); return nil }
	s.to(text)
	none := requests(again)
	s.by("kubectl-edit", "v1", "ConfigMap", "more", `{"data":{"a":"2"}}`)
	s.Conflicts = plan.Yield
	apitest.Want(t, "requests where a field is left to another", fmt.Sprint(requests(again)), fmt.Sprint(none))
	s.Conflicts = plan.Fail
	refuse := func() error {
		if _, err := s.c.Plan(t.Context(), s.Request); err == nil {
			t.Error("it is not a conflict")
		}
		return nil
	}
	apitest.Want(t, "requests where a field is a conflict", fmt.Sprint(requests(refuse)), fmt.Sprint(none+1))
	s.by("kubectl-edit", "apps/v1", "Deployment", "web", `{"spec":{"replicas":5}}`)
	apitest.Want(t, "requests of two, and where an autoscaler is looked for", fmt.Sprint(requests(refuse)), fmt.Sprint(none+3))
}
