// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/plan"
)

const theCRD = "[CustomResourceDefinition/crontabs.example.com]"

// CRDs in crds/ are created by an install, and changed only by the policy upgrade.
func TestCRDPolicies(t *testing.T) {
	for _, test := range []struct {
		verb   string
		policy CRDPolicy
		state  string // of the cluster's CRD
		want   string // the calls
	}{
		{"install", CRDCreate, "missing", "crds"},
		{"install", CRDCreate, "outdated", ""},
		{"install", CRDCreate, "there", ""},
		{"install", CRDUpgrade, "missing", "upgrade-crds"},
		{"install", CRDUpgrade, "outdated", "upgrade-crds"},
		{"install", CRDUpgrade, "there", ""},
		{"install", CRDSkip, "missing", ""},
		{"upgrade", CRDCreate, "missing", ""},
		{"upgrade", CRDCreate, "outdated", ""},
		{"upgrade", CRDUpgrade, "missing", "upgrade-crds"},
		{"upgrade", CRDUpgrade, "outdated", "upgrade-crds"},
		{"upgrade", CRDUpgrade, "there", ""},
		{"upgrade", CRDSkip, "missing", ""},
	} {
		t.Run(test.verb+" "+string(test.policy)+" "+test.state, func(t *testing.T) {
			c := newChart(t, "crds/tab.yaml", crontab, "templates/a.yaml", configMaps("a=1"))
			s := newTestCase(t, c)
			if test.verb == "upgrade" {
				s = installedCase(t, configMaps("a=1"))
			}
			const name = "crontabs.example.com"
			s.cluster.missing[name], s.cluster.outdated[name] = test.state == "missing", test.state == "outdated"
			req := upgradeTo(t, "")
			req.Chart, req.CRDs = c, test.policy
			s.request.CRDs = test.policy
			change, err := s.runPlan(t, test.verb, req)
			if err != nil {
				t.Fatal(err)
			}
			if changes := change.CRDs != nil && change.CRDs.Changes() > 0; changes != (test.want != "") {
				t.Errorf("plan = %+v", change.CRDs)
			}
			if w := s.writes(); len(w) > 0 {
				t.Errorf("a dry run called %q", w)
			}
			s.reset()
			steps := traceSteps(s)
			if test.verb == "upgrade" {
				err = errorOf(s.upgrade().Run(t.Context(), req))
			} else {
				err = s.runInstall()
			}
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for i, l := range s.writes() {
				if verb, what, _ := strings.Cut(l, " "); strings.HasSuffix(verb, "crds") {
					got = verb
					if what != theCRD || i != 0 {
						t.Errorf("%q comes after %q", l, s.writes()[:i])
					}
				}
			}
			if got != test.want {
				t.Errorf("calls = %q, want %q", got, test.want)
			}
			if shown := slices.Contains(*steps, "pre-"+test.verb+": custom resource definitions"); shown != (test.want != "") {
				t.Errorf("trace = %q", *steps)
			}
		})
	}
}

// runPlan returns the plan of an install or an upgrade.
func (s *testCase) runPlan(t *testing.T, verb string, req UpgradeRequest) (*Change, error) {
	if verb == "upgrade" {
		change, _, err := s.upgrade().Plan(t.Context(), req)
		return change, err
	}
	change, _, err := s.install.Plan(t.Context(), s.request)
	return change, err
}

// An upgraded CRD may serve a new version: its objects are planned after the CRD was written,
// and all others before anything is written.
func TestPlanUpcomingVersion(t *testing.T) {
	newer := strings.Replace(crontab, "{name: v0, served: false}", "{name: v2, served: true}", 1)
	for _, verb := range []string{"install", "upgrade"} {
		t.Run(verb, func(t *testing.T) {
			c := newChart(t, "crds/tab.yaml", newer,
				"templates/a.yaml", strings.Replace(tab, "/v1", "/v2", 1)+strings.Replace(tab, "name: tab", "name: old", 1)+configMaps("a=1"),
				"templates/b.yaml", `{{ if .Capabilities.APIVersions.Has "example.com/v2/CronTab" }}`+configMaps("b=1")+`{{ end }}`,
				"templates/c.yaml", `{{ if not (lookup "example.com/v2" "CronTab" "ns" "x") }}`+configMaps("c=1")+`{{ end }}`)
			s := newTestCase(t, c)
			if verb == "upgrade" {
				s = installedCase(t, configMaps("a=1"))
			}
			s.cluster.outdated["crontabs.example.com"] = true
			s.cluster.caps.APIVersions = append(s.cluster.caps.APIVersions, "example.com/v1", "example.com/v1/CronTab")
			req := upgradeTo(t, "")
			req.Chart, req.CRDs = c, CRDUpgrade
			s.request.CRDs = CRDUpgrade
			var err error
			if verb == "upgrade" {
				err = errorOf(s.upgrade().Run(t.Context(), req))
			} else {
				err = s.runInstall()
			}
			if err != nil {
				t.Fatal(err)
			}
			var plans []string
			for _, l := range s.lines {
				if strings.HasPrefix(l, "plan [") || strings.HasPrefix(l, "upgrade-crds") || strings.HasPrefix(l, "lookup") {
					plans = append(plans, l)
				}
			}
			want := "plan [ConfigMap/a ConfigMap/b ConfigMap/c CronTab/old] for ns/web; upgrade-crds " + theCRD +
				"; plan [ConfigMap/a ConfigMap/b ConfigMap/c CronTab/old CronTab/tab] for ns/web"
			if got := strings.Join(plans, "; "); got != want {
				t.Errorf("%s: got  %s\nwanted %s", verb, got, want)
			}
			if got := s.cluster.contents(); got != "ConfigMap/a=1 ConfigMap/b=1 ConfigMap/c=1 CronTab/old CronTab/tab" {
				t.Errorf("%s: %s", verb, got)
			}
		})
	}
}

// An object whose CRD is not written yet is planned as it will be sent: with its namespace and
// ownership labels, and without annotations that Kubernetes would reject.
func TestPlanUpcomingObject(t *testing.T) {
	annotated := strings.Replace(tab, "name: tab", "name: tab, annotations: {helm.sh/depends-on/resource-groups: '[]', a: b}", 1)
	s := newTestCase(t, newChart(t, "crds/tab.yaml", crontab, "templates/a.yaml", annotated))
	s.cluster.missing["crontabs.example.com"] = true
	change, err := s.runPlan(t, "install", UpgradeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(change.Plan.Steps, func(s plan.Step) bool { return s.Kind == "CronTab" })
	if i < 0 {
		t.Fatalf("no step for the CronTab in %v", change.Plan.Steps)
	}
	want := map[string]any{
		"name": "tab", "namespace": "ns", "labels": map[string]any{"app.kubernetes.io/managed-by": "Helm"},
		"annotations": map[string]any{"a": "b", "meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "ns"},
	}
	if got := change.Plan.Steps[i].New["metadata"]; !reflect.DeepEqual(got, want) {
		t.Errorf("metadata is %v, want %v", got, want)
	}
}

// A CRD upgrade that would lose stored custom resources is an error before anything is
// written; one that fails ends the operation without a record.
func TestCRDUpgradeError(t *testing.T) {
	for step, writes := range map[string]int{"plan-crds " + theCRD: 0, "upgrade-crds " + theCRD: 1} {
		t.Run(step, func(t *testing.T) {
			s := installedCase(t, configMaps("a=1"))
			s.cluster.outdated["crontabs.example.com"] = true
			s.fail[step] = errBroken
			req := upgradeTo(t, "")
			req.Chart, req.CRDs = newChart(t, "crds/tab.yaml", crontab), CRDUpgrade
			rel, err := s.upgrade().Run(t.Context(), req)
			if !errors.Is(err, errBroken) || rel != nil || len(s.writes()) != writes || s.records.history() != "1 deployed" {
				t.Errorf("%s: %v, calls = %q, %s", step, err, s.writes(), s.records.history())
			}
		})
	}
}

// CRDs of subcharts are installed, except those of disabled subcharts.
func TestSubchartCRDs(t *testing.T) {
	for _, on := range []bool{true, false} {
		c := newChart(t, "templates/a.yaml", configMaps("a=1"))
		sub := newChart(t, "crds/tab.yaml", crontab)
		sub.Metadata.Name = "cron"
		c.SetDependencies(sub)
		c.Metadata.Dependencies = []*chart.Dependency{{Name: "cron", Version: "1.0.0", Condition: "cron.enabled"}}
		s := newTestCase(t, c)
		s.request.Values = map[string]any{"cron": map[string]any{"enabled": on}}
		s.cluster.missing["crontabs.example.com"] = true
		if err := s.runInstall(); err != nil || s.contains("crds "+theCRD) != on {
			t.Errorf("enabled %t: %v, %q", on, err, s.lines)
		}
	}
}

// A chart asks for the policy of its crds/; the request's policy wins.
func TestCRDAnnotation(t *testing.T) {
	other := strings.ReplaceAll(strings.ReplaceAll(crontab, "crontabs.", "others."), "crontabs", "others")
	for _, test := range []struct {
		name, root, sub string // annotations
		policy          CRDPolicy
		want            string // of an upgrade
	}{
		{"none", "", "", CRDDefault, ""},
		{"the root's", "upgrade", "", CRDDefault, "upgrade-crds [CustomResourceDefinition/crontabs.example.com CustomResourceDefinition/others.example.com]"},
		{"the subchart's", "", "upgrade", CRDDefault, "upgrade-crds [CustomResourceDefinition/others.example.com]"},
		{"the nearest", "upgrade", "create", CRDDefault, "upgrade-crds [CustomResourceDefinition/crontabs.example.com]"},
		{"skipped", "upgrade", "skip", CRDDefault, "upgrade-crds [CustomResourceDefinition/crontabs.example.com]"},
		{"the flag", "", "", CRDUpgrade, "upgrade-crds [CustomResourceDefinition/crontabs.example.com CustomResourceDefinition/others.example.com]"},
		{"create wins", "upgrade", "upgrade", CRDCreate, ""},
		{"skip wins", "upgrade", "upgrade", CRDSkip, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			sub := newChart(t, "crds/other.yaml", other)
			c := newChart(t, "crds/tab.yaml", crontab, "templates/a.yaml", configMaps("a=1"))
			for chart, policy := range map[*chart.Chart]string{c: test.root, sub: test.sub} {
				if policy != "" {
					chart.Metadata.Annotations = map[string]string{CRDAnnotation: policy}
				}
			}
			sub.Metadata.Name = "sub"
			c.SetDependencies(sub)
			s := installedCase(t, configMaps("a=1"))
			s.cluster.outdated["crontabs.example.com"], s.cluster.outdated["others.example.com"] = true, true
			req := upgradeTo(t, "")
			req.Chart, req.CRDs = c, test.policy
			change, _, err := s.upgrade().Plan(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			kept := 0
			for _, step := range change.CRDs.Steps {
				if step.Action == plan.Keep {
					kept++
				}
			}
			if want := 2 - strings.Count(test.want, "CustomResourceDefinition/"); kept != want {
				t.Errorf("%d definitions are left alone, want %d", kept, want)
			}
			s.reset()
			if _, err := s.upgrade().Run(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, l := range s.writes() {
				if strings.Contains(l, "crds ") {
					got = l
				}
			}
			if got != test.want {
				t.Errorf("wrote %q, want %q", got, test.want)
			}
		})
	}
	c := newChart(t, "crds/tab.yaml", crontab)
	c.Metadata.Annotations = map[string]string{CRDAnnotation: "upgarde"}
	s := newTestCase(t, c)
	var invalid *chart.InvalidError
	if err := s.runInstall(); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "must be create, upgrade or skip") {
		t.Errorf("got %v", err)
	}
}
