// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/kubetest"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// transferFixture has the releases web, with the ConfigMaps a and b, and db, with none, and the
// ConfigMap free, which belongs to no release.
type transferFixture struct {
	*Config
	server  *kubetest.Server
	records *storage.Storage
}

func newTransferFixture(t *testing.T) *transferFixture {
	t.Helper()
	server := kubetest.Start()
	t.Cleanup(server.Close)
	c := NewConfigFor(server.Config(), "default")
	c.Locker = nil // journals are forged without a holder
	f := &transferFixture{Config: c, server: server, records: c.Releases.(*storage.Storage)}
	configMap := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n---\n"
	}
	for name, text := range map[string]string{"web": configMap("a") + configMap("b"), "db": configMap("own"), "free": configMap("free")} {
		ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: name, Version: "1.0.0"},
			Templates: []*chart.File{{Name: "templates/all.yaml", Data: []byte(text)}}}
		if _, err := (Install{c}).Run(t.Context(), InstallRequest{Chart: ch, Name: name, Namespace: "default"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := (Disown{c}).Run(t.Context(), DisownRequest{Name: "free", Objects: []ObjectName{{Kind: "configmap", Name: "free"}}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// owner returns the release of a ConfigMap.
func (f *transferFixture) owner(name string) string {
	return liveObject{object: f.server.Get("/api/v1/namespaces/default/configmaps/" + name)}.annotation(release.NameAnnotation)
}

// forge writes the next revision of a release as pending, with the journal of a transfer of ConfigMaps.
func (f *transferFixture) forge(t *testing.T, name string, j release.Transfer, objects ...string) {
	t.Helper()
	rel, err := f.records.Get(t.Context(), name, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		uid := liveObject{object: f.server.Get("/api/v1/namespaces/default/configmaps/" + o)}.uid()
		j.Objects = append(j.Objects, release.TransferObject{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: o, UID: uid})
		j.Manifest += "---\n# Source: x\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + o + "\n\n"
	}
	next := rel.Clone()
	next.Revision, next.Info.Status, next.Stored, next.Transfer = rel.Revision+1, release.PendingUpgrade, release.Stored{}, &j
	if err := f.records.Create(t.Context(), next); err != nil {
		t.Fatal(err)
	}
}

func (f *transferFixture) status(t *testing.T, name string, revision int) string {
	t.Helper()
	rel, err := f.records.Get(t.Context(), name, revision)
	if err != nil {
		t.Fatal(err)
	}
	if rel.Transfer == nil {
		return string(rel.Info.Status)
	}
	return string(rel.Info.Status) + " " + string(rel.Transfer.State)
}

func TestResumeTransfer(t *testing.T) {
	from := release.Transfer{ID: "1", Verb: release.TransferMove, Role: release.TransferFrom,
		Peer: &release.TransferPeer{Namespace: "default", Name: "db", Revision: 2}}
	to := release.Transfer{ID: "1", Verb: release.TransferMove, Role: release.TransferTo,
		Peer: &release.TransferPeer{Namespace: "default", Name: "web", Revision: 2}}
	adopt := release.Transfer{ID: "1", Verb: release.TransferAdopt, Role: release.TransferTo}
	other := to
	other.ID = "2"
	for _, test := range []struct {
		name     string
		forge    func(t *testing.T, f *transferFixture)
		run      string
		web, db  string // the status of revision 2, "" without one
		a, free  string // the owners
		hasMoved bool   // a is in the manifest of db
	}{
		{name: "only the first record", run: "web", web: "failed undone", a: "web",
			forge: func(t *testing.T, f *transferFixture) { f.forge(t, "web", from, "a") }},
		{name: "both records", run: "web", web: "deployed done", db: "deployed done", a: "db", hasMoved: true,
			forge: func(t *testing.T, f *transferFixture) { f.forge(t, "web", from, "a"); f.forge(t, "db", to, "a") }},
		{name: "both records, from the other side", run: "db", web: "deployed done", db: "deployed done", a: "db", hasMoved: true,
			forge: func(t *testing.T, f *transferFixture) { f.forge(t, "web", from, "a"); f.forge(t, "db", to, "a") }},
		{name: "records of different transfers", run: "web", web: "failed undone", db: "pending-upgrade ", a: "web",
			forge: func(t *testing.T, f *transferFixture) { f.forge(t, "web", from, "a"); f.forge(t, "db", other, "a") }},
		{name: "a forged record that takes another release's objects", run: "db", db: "failed undone", a: "web",
			forge: func(t *testing.T, f *transferFixture) { f.forge(t, "db", to, "a") }},
		{name: "a forged record that takes objects of no release", run: "db", db: "failed undone", a: "web",
			forge: func(t *testing.T, f *transferFixture) { f.forge(t, "db", adopt, "free") }},
		{name: "both forged, with an object of no release", run: "web", web: "failed undone", db: "failed undone", a: "web",
			forge: func(t *testing.T, f *transferFixture) { f.forge(t, "web", from, "free"); f.forge(t, "db", to, "free") }},
		{name: "a record that a client which knows no journals has overtaken", run: "web", web: "failed undone", db: "failed undone", a: "web",
			forge: func(t *testing.T, f *transferFixture) {
				f.forge(t, "web", from, "a")
				f.forge(t, "db", to, "a")
				last, err := f.records.Get(t.Context(), "db", 1)
				if err != nil {
					t.Fatal(err)
				}
				last.Revision, last.Stored = 3, release.Stored{}
				if err := f.records.Create(t.Context(), last); err != nil {
					t.Fatal(err)
				}
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newTransferFixture(t)
			test.forge(t, f)
			if _, err := (Test{f.Config}).Run(t.Context(), TestRequest{Name: test.run}); err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]string{"web": test.web, "db": test.db} {
				if want == "" {
					continue
				}
				if got := f.status(t, name, 2); got != want {
					t.Errorf("revision 2 of %s is %q, want %q", name, got, want)
				}
			}
			if got := f.owner("a"); got != test.a {
				t.Errorf("a belongs to %q, want %q", got, test.a)
			}
			if got := f.owner("free"); got != test.free {
				t.Errorf("free belongs to %q, want %q", got, test.free)
			}
			if test.db != "" {
				rel, err := f.records.Get(t.Context(), "db", 2)
				if err != nil || strings.Contains(rel.Manifest, "name: a\n") != test.hasMoved || strings.Contains(rel.Manifest, "name: free\n") {
					t.Errorf("db has the manifest %s, %v", rel.Manifest, err)
				}
			}
		})
	}
}

func TestMoveRefused(t *testing.T) {
	f := newTransferFixture(t)
	name := func(kind, name string) []ObjectName { return []ObjectName{{Kind: kind, Name: name}} }
	var missing *NotInReleaseError
	_, err := (Move{f.Config}).Plan(t.Context(), MoveRequest{Name: "web", Objects: name("cm", "c"), To: "db"})
	if !errors.As(err, &missing) {
		t.Errorf("an object that is not there: %v", err)
	}
	var same *SameReleaseError
	_, err = (Move{f.Config}).Run(t.Context(), MoveRequest{Name: "web", Objects: name("cm", "a"), To: "web"})
	if !errors.As(err, &same) {
		t.Errorf("one release: %v", err)
	}
	rel, err := f.records.Get(t.Context(), "db", 0)
	if err != nil {
		t.Fatal(err)
	}
	rel.Info.Status = release.Failed
	if err := f.records.Update(t.Context(), rel); err != nil {
		t.Fatal(err)
	}
	var failed *NotDeployedError
	_, err = (Move{f.Config}).Run(t.Context(), MoveRequest{Name: "web", Objects: name("cm", "a"), To: "db"})
	if !errors.As(err, &failed) || failed.Status != release.Failed {
		t.Errorf("a failed release: %v", err)
	}
	if got := f.owner("a"); got != "web" {
		t.Errorf("a belongs to %q", got)
	}
}

func TestParseObjectName(t *testing.T) {
	for text, want := range map[string]ObjectName{
		"cm/a": {Kind: "cm", Name: "a"}, "n/deployments.apps/a": {Namespace: "n", Kind: "deployments.apps", Name: "a"},
		"cm": {}, "cm/": {}, "/a": {}, "/cm/a": {}, "a/b/c/d": {}, "": {},
	} {
		if got, ok := ParseObjectName(text); got != want || ok != (want != ObjectName{}) {
			t.Errorf("%q: got %v, %v", text, got, ok)
		}
	}
}

func TestWithNamespace(t *testing.T) {
	o, err := parseOne("s", "# kept\napiVersion: v1\nkind: Service\nmetadata:\n  name: a # this too\n")
	if err != nil {
		t.Fatal(err)
	}
	o, err = withNamespace(o, "shop")
	if err != nil {
		t.Fatal(err)
	}
	if o.Namespace != "shop" || !strings.Contains(o.Raw, "# this too") || !strings.HasPrefix(o.Raw, "# kept") {
		t.Errorf("got %s", manifest.Format([]*manifest.Object{o}))
	}
}
