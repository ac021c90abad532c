// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

const theCRD = "[CustomResourceDefinition/crontabs.example.com]"

// What becomes of crds/: created at an install and never touched again, unless
// someone asks for more, or for nothing.
func TestPoliciesOfCRDs(t *testing.T) {
	for _, test := range []struct {
		verb   string
		policy CRDPolicy
		state  string // of the cluster's CRD
		want   string // what was done about it
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
			c := newChart(t, "crds/tab.yaml", crontab, "templates/a.yaml", conf("a=1"))
			s := newStory(t, c)
			if test.verb == "upgrade" {
				s = installed(t, conf("a=1"))
			}
			const name = "crontabs.example.com"
			s.cluster.missing[name], s.cluster.outdated[name] = test.state == "missing", test.state == "outdated"
			req := to(t, "")
			req.Chart, req.CRDs = c, test.policy
			s.request.CRDs = test.policy
			change, err := s.dry(t, test.verb, req)
			if err != nil {
				t.Fatal(err)
			}
			if changes := change.CRDs != nil && change.CRDs.Changes() > 0; changes != (test.want != "") {
				t.Errorf("the plan says %+v", change.CRDs)
			}
			if w := s.writes(); len(w) > 0 {
				t.Errorf("a dry run did %q", w)
			}
			s.forget()
			steps := traced(s)
			if test.verb == "upgrade" {
				err = second(s.upgrade().Run(t.Context(), req))
			} else {
				err = s.put()
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
				t.Errorf("did %q, wanted %q", got, test.want)
			}
			if shown := slices.Contains(*steps, "pre-"+test.verb+": custom resource definitions"); shown != (test.want != "") {
				t.Errorf("the trace shows %q", *steps)
			}
		})
	}
}

// dry is what a dry run of an install or upgrade comes to.
func (s *story) dry(t *testing.T, verb string, req UpgradeRequest) (*Change, error) {
	if verb == "upgrade" {
		change, _, err := s.upgrade().Plan(t.Context(), req)
		return change, err
	}
	change, _, err := s.install.Plan(t.Context(), s.request)
	return change, err
}

// A definition that is there may get a version: the objects of that version are
// planned once it has, and all others before anything is written.
func TestObjectsOfAVersionThatIsYetToComeArePlannedLater(t *testing.T) {
	newer := strings.Replace(crontab, "{name: v0, served: false}", "{name: v2, served: true}", 1)
	for _, verb := range []string{"install", "upgrade"} {
		t.Run(verb, func(t *testing.T) {
			c := newChart(t, "crds/tab.yaml", newer,
				"templates/a.yaml", strings.Replace(tab, "/v1", "/v2", 1)+strings.Replace(tab, "name: tab", "name: old", 1)+conf("a=1"),
				"templates/b.yaml", `{{ if .Capabilities.APIVersions.Has "example.com/v2/CronTab" }}`+conf("b=1")+`{{ end }}`,
				"templates/c.yaml", `{{ if not (lookup "example.com/v2" "CronTab" "ns" "x") }}`+conf("c=1")+`{{ end }}`)
			s := newStory(t, c)
			if verb == "upgrade" {
				s = installed(t, conf("a=1"))
			}
			s.cluster.outdated["crontabs.example.com"] = true
			s.cluster.caps.APIVersions = append(s.cluster.caps.APIVersions, "example.com/v1", "example.com/v1/CronTab")
			req := to(t, "")
			req.Chart, req.CRDs = c, CRDUpgrade
			s.request.CRDs = CRDUpgrade
			var err error
			if verb == "upgrade" {
				err = second(s.upgrade().Run(t.Context(), req))
			} else {
				err = s.put()
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
			if got := s.cluster.has(); got != "ConfigMap/a=1 ConfigMap/b=1 ConfigMap/c=1 CronTab/old CronTab/tab" {
				t.Errorf("%s: %s", verb, got)
			}
		})
	}
}

// A definition that would lose stored objects is refused before anything is
// written; one that cannot be written ends the operation without a record.
func TestCRDsThatCannotBeUpgraded(t *testing.T) {
	for step, writes := range map[string]int{"plan-crds " + theCRD: 0, "upgrade-crds " + theCRD: 1} {
		s := installed(t, conf("a=1"))
		s.cluster.outdated["crontabs.example.com"] = true
		s.fail[step] = errBroken
		req := to(t, "")
		req.Chart, req.CRDs = newChart(t, "crds/tab.yaml", crontab), CRDUpgrade
		rel, err := s.upgrade().Run(t.Context(), req)
		if !errors.Is(err, errBroken) || rel != nil || len(s.writes()) != writes || s.records.history() != "1 deployed" {
			t.Errorf("%s: %v, did %q, %s", step, err, s.writes(), s.records.history())
		}
	}
}

// Subcharts' definitions count as well, those that are switched off do not.
func TestCRDsOfSubcharts(t *testing.T) {
	for _, on := range []bool{true, false} {
		c := newChart(t, "templates/a.yaml", conf("a=1"))
		sub := newChart(t, "crds/tab.yaml", crontab)
		sub.Metadata.Name = "cron"
		c.SetDependencies(sub)
		c.Metadata.Dependencies = []*chart.Dependency{{Name: "cron", Version: "1.0.0", Condition: "cron.enabled"}}
		s := newStory(t, c)
		s.request.Values = map[string]any{"cron": map[string]any{"enabled": on}}
		s.cluster.missing["crontabs.example.com"] = true
		if err := s.put(); err != nil || s.did("crds "+theCRD) != on {
			t.Errorf("enabled %t: %v, %q", on, err, s.lines)
		}
	}
}
