// SPDX-License-Identifier: Apache-2.0

package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// warnings calls fn and returns the warnings that it reports.
func (f *transferFixture) warnings(t *testing.T, fn func() error) []string {
	t.Helper()
	var out []string
	f.Progress = func(e progress.Event) {
		if e.Kind == progress.Warning {
			out = append(out, e.Text)
		}
	}
	if err := fn(); err != nil {
		t.Fatal(err)
	}
	f.Progress = nil
	return out
}

// upgrade upgrades a release to a chart of ConfigMaps.
func (f *transferFixture) upgrade(t *testing.T, name string, take bool, objects ...string) []string {
	t.Helper()
	text := ""
	for _, o := range objects {
		text += "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + o + "\n---\n"
	}
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: name, Version: "2.0.0"},
		Templates: []*chart.File{{Name: "templates/all.yaml", Data: []byte(text)}}}
	return f.warnings(t, func() error {
		_, err := Upgrade{f.Config}.Run(t.Context(), UpgradeRequest{Name: name, Chart: ch, Namespace: "default",
			ApplyOptions: ApplyOptions{TakeOwnership: take}})
		return err
	})
}

// put updates an object while the program does not look.
func (f *transferFixture) put(t *testing.T, path string, object map[string]any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, f.server.Config().Host+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("put %s: %v, %v", path, res, err)
	}
	_ = res.Body.Close()
}

func (f *transferFixture) exists(name string) bool {
	return f.server.Get("/api/v1/namespaces/default/configmaps/"+name) != nil
}

// An object that is taken over stays in the record of the release that it is taken from: a warning says so,
// and what that release does next leaves the object alone.
func TestTakenOver(t *testing.T) {
	f := newTransferFixture(t)
	_, err := Move{f.Config}.Run(t.Context(), MoveRequest{Name: "web", To: "db", Objects: []ObjectName{{Kind: "cm", Name: "a"}, {Kind: "cm", Name: "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	got := f.upgrade(t, "web", true, "a", "b", "free")
	if len(got) != 1 || !strings.HasPrefix(got[0], "2 objects are taken over from release db in namespace default, whose record still has them") ||
		!strings.HasSuffix(got[0], "helm disown db ConfigMap/a ConfigMap/b takes them out of the record") {
		t.Errorf("got the warnings %q", got)
	}
	if got := f.upgrade(t, "web", true, "a", "b", "free"); len(got) > 0 {
		t.Errorf("its own objects: %q", got)
	}
	check := func(when string) {
		t.Helper()
		if f.owner("a") != "web" || f.owner("b") != "web" {
			t.Fatalf("%s: a belongs to %q and b to %q", when, f.owner("a"), f.owner("b"))
		}
	}
	f.upgrade(t, "db", false, "own")
	check("the other release was upgraded")
	_, err = Rollback{f.Config}.Run(t.Context(), RollbackRequest{Name: "db", Revision: 1})
	if err != nil {
		t.Fatal(err)
	}
	check("it was rolled back to before it had them")
	if _, err = (Rollback{f.Config}).Run(t.Context(), RollbackRequest{Name: "db", Revision: 2}); err == nil {
		t.Error("it was rolled back to a revision that has them")
	}
	check("the rollback was refused")
	f.upgrade(t, "db", true, "own", "a")
	if got := f.upgrade(t, "web", true, "a"); len(got) != 1 || !strings.HasPrefix(got[0], "ConfigMap/a is taken over from release db") {
		t.Errorf("got the warnings %q", got)
	}
	if _, err = (Disown{f.Config}).Run(t.Context(), DisownRequest{Name: "db", Objects: []ObjectName{{Kind: "cm", Name: "a"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err = (Uninstall{f.Config}).Run(t.Context(), UninstallRequest{Name: "db"}); err != nil {
		t.Fatal(err)
	}
	if !f.exists("a") || f.exists("own") || f.owner("a") != "web" {
		t.Error("the uninstall has deleted what was disowned, or kept its own")
	}
}

// The annotations of objects are untrusted: what they name may not exist, and may not be a name.
func TestTakenFromNoRelease(t *testing.T) {
	for _, annotation := range []map[string]any{
		{release.NameAnnotation: "gone", release.NamespaceAnnotation: "default"}, {release.NameAnnotation: "../x", release.NamespaceAnnotation: "default"},
		{release.NameAnnotation: "db", release.NamespaceAnnotation: "a/../b"}, {release.NameAnnotation: "db", release.NamespaceAnnotation: strings.Repeat("n", 64)},
	} {
		f := newTransferFixture(t)
		path := "/api/v1/namespaces/default/configmaps/free"
		object := f.server.Get(path)
		object["metadata"].(map[string]any)["annotations"] = annotation
		f.put(t, path, object)
		if got := f.upgrade(t, "web", true, "a", "b", "free"); len(got) > 0 {
			t.Errorf("%v: %q", annotation, got)
		}
	}
}

func TestNamesInUse(t *testing.T) {
	f := newTransferFixture(t)
	rename := func() *NameInUseError {
		t.Helper()
		_, err := Rename{f.Config}.Run(t.Context(), RenameRequest{Name: "web", NewName: "db"})
		used, _ := errors.AsType[*NameInUseError](err)
		if used == nil {
			t.Fatalf("got %v", err)
		}
		return used
	}
	if got := rename().Hint(); strings.Contains(got, "--replace") || !strings.HasPrefix(got, "choose another name") {
		t.Error(got)
	}
	_, err := Uninstall{f.Config}.Run(t.Context(), UninstallRequest{Name: "db", KeepHistory: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := rename(); got.Status != release.Uninstalled || !strings.HasPrefix(got.Hint(), "helm uninstall db removes what is left") {
		t.Error(got.Hint())
	}
}

func TestSimilarObjects(t *testing.T) {
	f := newTransferFixture(t)
	cm := func(name string) []ObjectName { return []ObjectName{{Kind: "cm", Name: name}} }
	_, err := Adopt{f.Config}.Plan(t.Context(), AdoptRequest{Name: "web", Objects: cm("fre")})
	refused, _ := errors.AsType[*ObjectsError](err)
	if refused == nil || !slices.Equal(refused.Similar, []string{"ConfigMap/free"}) || refused.Hint() != "did you mean: ConfigMap/free" {
		t.Errorf("adopt: %v", err)
	}
	f.upgrade(t, "web", false, "settings", "other")
	for _, test := range []struct {
		object ObjectName
		want   []string
	}{
		{ObjectName{Kind: "cm", Name: "setings"}, []string{"ConfigMap/settings"}},
		{ObjectName{Kind: "secret", Name: "settings"}, []string{"ConfigMap/settings"}},
		{ObjectName{Kind: "cm", Name: "nothing-like-it"}, nil},
	} {
		t.Run(test.object.String(), func(t *testing.T) {
			_, err := Disown{f.Config}.Plan(t.Context(), DisownRequest{Name: "web", Objects: []ObjectName{test.object}})
			missing, _ := errors.AsType[*NotInReleaseError](err)
			if missing == nil || !slices.Equal(missing.Similar, test.want) {
				t.Errorf("%s: %v, similar %q, want %q", test.object, err, missing.Similar, test.want)
			}
		})
	}
}

// What a manifest says must be objects that the cluster has.
func TestAdoptManifests(t *testing.T) {
	f := newTransferFixture(t)
	objects, err := manifest.Parse("objects.yaml", "version: 1\n---\napiVersion: v1\nkind: List\nitems:\n"+
		"- {apiVersion: v1, kind: ConfigMap, metadata: {name: free}}\n- {apiVersion: none.example.com/v1, kind: None, metadata: {name: x}}\n")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Adopt{f.Config}.Run(t.Context(), AdoptRequest{Name: "web", Manifests: objects})
	refused, _ := errors.AsType[*ObjectsError](err)
	if refused == nil || len(refused.Problems) != 2 {
		t.Fatalf("got %v", err)
	}
	_, err = Adopt{f.Config}.Run(t.Context(), AdoptRequest{Name: "web", Manifests: objects[1:2]})
	if !errors.As(err, &refused) || len(refused.Problems) != 1 || f.owner("free") != "" {
		t.Errorf("got %v", err)
	}
}
