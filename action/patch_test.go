// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan/patch"
	"github.com/moonhelm/moonhelm/release"
)

// patchFile returns a file that sets a label of all ConfigMaps.
func patchFile(t *testing.T, name, label string) patch.File {
	t.Helper()
	f, err := patch.Read(name, fmt.Appendf(nil, "- target: {kind: ConfigMap}\n  patch: '{metadata: {labels: {%s: \"yes\"}}}'\n", label), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// patchesOf returns the names of the patches in a record, and the labels that they have set.
func patchesOf(t *testing.T, rel *release.Release) string {
	t.Helper()
	files, err := patch.Recorded(rel.Patches)
	if err != nil {
		t.Fatal(err)
	}
	var names, labels []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	for _, label := range []string{"one", "two", "three"} {
		if strings.Contains(rel.Manifest, label+`: "yes"`) {
			labels = append(labels, label)
		}
	}
	return strings.Join(names, " ") + " / " + strings.Join(labels, " ")
}

// An upgrade takes the patches of the deployed revision as it takes its values, and a rollback those of
// its target.
func TestUpgradePatches(t *testing.T) {
	template := configMaps("a=1")
	for _, c := range []struct {
		name  string
		reuse Reuse
		reset bool
		files []patch.File
		want  string
	}{
		{"nothing given", ReuseIfNone, false, nil, "a b / one two"},
		{"given", ReuseIfNone, false, []patch.File{patchFile(t, "c", "three")}, "c / three"},
		{"reuse", ReuseValues, false, nil, "a b / one two"},
		{"reuse and given", ReuseValues, false, []patch.File{patchFile(t, "c", "three")}, "a b c / one two three"},
		{"reuse, and a file of the same name", ReuseValues, false, []patch.File{patchFile(t, "a", "three")}, "a b / two three"},
		{"reset, then reuse", ResetThenReuse, false, []patch.File{patchFile(t, "c", "three")}, "a b c / one two three"},
		{"reset values", ResetValues, false, nil, " / "},
		{"reset values and given", ResetValues, false, []patch.File{patchFile(t, "c", "three")}, "c / three"},
		{"reset patches", ReuseIfNone, true, nil, " / "},
		{"reset patches, reuse values", ReuseValues, true, []patch.File{patchFile(t, "c", "three")}, "c / three"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTestCase(t, newChart(t, "templates/a.yaml", template))
			s.request.Patches = []patch.File{patchFile(t, "a", "one"), patchFile(t, "b", "two")}
			s.mustSucceed(t, s.runInstall())
			req := upgradeTo(t, template)
			req.Reuse, req.ResetPatches, req.Patches = c.reuse, c.reset, c.files
			rel, err := s.upgrade().Run(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if got := patchesOf(t, rel); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			rel, err = s.rollback().Run(t.Context(), RollbackRequest{Name: req.Name, Revision: 1})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := patchesOf(t, rel), "a b / one two"; got != want {
				t.Errorf("the rollback has %q, want %q", got, want)
			}
		})
	}
}

// An upgrade to a chart whose objects the patches of the release do not match ends before anything is
// written; with AllowMissing the next ones do not.
func TestUpgradeMissesTarget(t *testing.T) {
	s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1")))
	s.request.Patches = []patch.File{patchFile(t, "a", "one")}
	s.mustSucceed(t, s.runInstall())
	req := upgradeTo(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")
	_, err := s.upgrade().Run(t.Context(), req)
	var none *patch.NoTargetError
	if !errors.As(err, &none) {
		t.Fatalf("got %v", err)
	}
	s.wantState(t, "ConfigMap/a=1", "1 deployed")
	req.AllowMissing, req.Reuse = true, ReuseValues
	for range 2 {
		rel, err := s.upgrade().Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if files, _ := patch.Recorded(rel.Patches); len(files) != 1 {
			t.Errorf("got %v", files)
		}
		req.Patches = []patch.File{patchFile(t, "a", "one")}
	}
}

// renderFunc is a post-renderer that changes nothing.
type renderFunc func(objects []*manifest.Object)

func (f renderFunc) Render(_ context.Context, objects []*manifest.Object) ([]*manifest.Object, error) {
	f(objects)
	return objects, nil
}

// Patches apply after the handlers of post-render, as scripts are, and before the post-renderer.
func TestPatchesAfterHandlers(t *testing.T) {
	s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=1")))
	var order []string
	see := func(who string, objects []*manifest.Object) {
		order = append(order, fmt.Sprintf("%s: %v", who, objects[0].Labels["one"] == "yes"))
	}
	event.On(s.bus, "test", 1, func(_ context.Context, e *event.PostRender) error {
		see("handler", e.Objects)
		return nil
	})
	s.install.Config = s.config()
	s.install.PostRenderer = renderFunc(func(objects []*manifest.Object) { see("post-renderer", objects) })
	s.request.Patches = []patch.File{patchFile(t, "a", "one")}
	s.mustSucceed(t, s.runInstall())
	if got := strings.Join(order, ", "); got != "handler: false, post-renderer: true" {
		t.Errorf("got %s", got)
	}
}
