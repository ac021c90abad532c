// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// A preview of recorded manifests does not read live objects, and uses the capabilities in the
// request.
func TestPreviewRecorded(t *testing.T) {
	template := objectText("ConfigMap", "a") +
		`data: {v: '{{ with lookup "v1" "ConfigMap" "ns" "a" }}{{ end }}-{{ .Capabilities.KubeVersion.Version }}-{{ .Capabilities.APIVersions.Has "example.com/v1" }}'}`
	for _, test := range []struct {
		name    string
		preview Preview
		steps   string // the cluster's calls
		says    string
	}{
		{"nothing", Preview{}, "capabilities, lookup, plan", "v: '-v"},
		{"recorded", Preview{Recorded: true}, "capabilities, lookup", "v: '-v"},
		{"recorded, no lookup", Preview{Recorded: true, NoLookup: true}, "capabilities", "v: '-v"},
		{"another version", Preview{Recorded: true, NoLookup: true, KubeVersion: "1.29.3"}, "capabilities", "-v1.29.3-false"},
		{"another API", Preview{Recorded: true, NoLookup: true, APIVersions: []string{"example.com/v1"}}, "capabilities", "-true"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := installedCase(t, configMaps("a=1", "b=1"))
			req := upgradeTo(t, template)
			req.Preview = test.preview
			change, _, err := s.upgrade().Plan(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			var asked []string
			for _, line := range s.lines {
				word, _, _ := strings.Cut(line, " ")
				asked = append(asked, word)
			}
			if got := strings.Join(asked, ", "); got != test.steps {
				t.Errorf("calls = %s, want %s", got, test.steps)
			}
			if !strings.Contains(change.To.Manifest, test.says) {
				t.Errorf("%s lacks %s", change.To.Manifest, test.says)
			}
			if recorded := test.preview.Recorded; (change.Plan == nil) != recorded {
				t.Errorf("plan %v", change.Plan)
			}
			compared, err := Compare(change.From, change.To)
			if err != nil || !compared.Stored || actions(compared.Plan.Steps) != "update ConfigMap/a, delete ConfigMap/b" {
				t.Errorf("%+v, %v", compared, err)
			}
		})
	}
}

func TestRunIgnoresPreview(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	_, err := s.runUpgrade(t, configMaps("a={{ .Capabilities.KubeVersion.Version }}"), func(r *UpgradeRequest) {
		r.Preview = Preview{KubeVersion: "1.2.3", Recorded: true, NoLookup: true}
	})
	if err != nil || strings.Contains(s.cluster.contents(), "1.2.3") || !s.contains("apply [ConfigMap/a]") {
		t.Errorf("%v, %s, calls = %q", err, s.cluster.contents(), s.lines)
	}
}

func TestRollbackPlanRecorded(t *testing.T) {
	s := upgradedCase(t)
	change, err := s.rollback().Plan(t.Context(), RollbackRequest{Name: "web", Revision: 1, Recorded: true})
	if err != nil || change.Plan != nil || len(s.lines) > 0 {
		t.Fatalf("%+v, %v, calls = %q", change, err, s.lines)
	}
	if change, err = Compare(change.From, change.To); err != nil || actions(change.Plan.Steps) != "update ConfigMap/a, create ConfigMap/b" {
		t.Errorf("%+v, %v", change, err)
	}
}

func TestCompareNil(t *testing.T) {
	rel := &release.Release{Name: "web", Namespace: "ns", Revision: 1, Manifest: configMaps("a=1")}
	if change, err := Compare(nil, rel); err != nil || actions(change.Plan.Steps) != "create ConfigMap/a" || change.From != nil {
		t.Errorf("%+v, %v", change, err)
	}
	rel.Manifest = "a: b: c"
	if _, err := Compare(nil, rel); err == nil {
		t.Error("got no error for an invalid manifest")
	}
	if _, err := Compare(rel, &release.Release{Name: "web"}); err == nil {
		t.Error("got no error for an invalid manifest")
	}
}

func TestCompareCRDs(t *testing.T) {
	crd := func(text string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + text + "}\n"
	}
	chart := newChart(t, "crds/a.yaml", crd("a"), "crds/b.yaml", crd("b"))
	child := newChart(t, "crds/c.yaml", crd("c"))
	child.Metadata.Name = "child"
	chart.SetDependencies(child)
	last := release.New("web", "ns", 1, newChart(t, "crds/a.yaml", crd("a")+"spec: {x: y}\n", "crds/old.yaml", crd("old")))
	for name, test := range map[string]struct {
		from *release.Release
		want string
	}{
		"a new release":   {nil, "create CustomResourceDefinition/a, create CustomResourceDefinition/b, create CustomResourceDefinition/c"},
		"an upgrade":      {last, "update CustomResourceDefinition/a, create CustomResourceDefinition/b, delete CustomResourceDefinition/old"},
		"without a chart": {&release.Release{Name: "web"}, "create CustomResourceDefinition/a, create CustomResourceDefinition/b"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := CompareCRDs(test.from, chart)
			if err != nil || p == nil || actions(p.Steps) != test.want {
				t.Errorf("%s: got %v, %v, want %s", name, p, err, test.want)
			}
		})
	}
	if p, err := CompareCRDs(nil, newChart(t)); p != nil || err != nil {
		t.Errorf("without CRDs: got %v, %v", p, err)
	}
	if _, err := CompareCRDs(nil, newChart(t, "crds/a.yaml", "a: b: c")); err == nil {
		t.Error("got no error for an invalid manifest")
	}
}

// The rendered objects of a plan are those that Run would apply, with the changes of handlers.
func TestPlanRenderedObjects(t *testing.T) {
	leave := func(objects *[]*manifest.Object) error {
		more, err := manifest.Parse("web/templates/more.yaml", configMaps("more=1"))
		*objects = more
		return err
	}
	for _, verb := range []string{"install", "upgrade"} {
		t.Run(verb, func(t *testing.T) {
			s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1")))
			if verb == "upgrade" {
				s = installedCase(t, configMaps("a=1"))
			}
			event.On(s.bus, "test", 0.5, func(_ context.Context, e *event.PreInstall) error { return leave(&e.Objects) })
			event.On(s.bus, "test", 0.5, func(_ context.Context, e *event.PreUpgrade) error { return leave(&e.Objects) })
			var rendered *Rendered
			var err error
			if verb == "install" {
				_, rendered, err = s.install.Plan(t.Context(), s.request)
			} else {
				_, rendered, err = s.upgrade().Plan(t.Context(), upgradeTo(t, configMaps("a=2")))
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, want := names(rendered.Objects), "[ConfigMap/more]"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
