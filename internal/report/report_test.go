// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/release"
)

func web() *release.Release {
	rel := release.New("web", "ns", 2, &chart.Chart{Metadata: &chart.Metadata{Name: "web", Version: "1.0.0"}})
	rel.Info = release.Info{LastDeployed: time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local), Status: release.Deployed, Description: "Install complete", Notes: "Welcome.\n\n"}
	rel.Manifest = "---\n# Source: web/templates/a.yaml\nkind: ConfigMap\nmetadata: {name: a}\n---\n# Source: web/templates/s.yaml\nkind: Secret\nmetadata: {name: s}\ndata: {password: aHVudGVyMg==}\n"
	rel.Hooks = []*release.Hook{
		{Name: "setup", Kind: "Secret", Path: "web/templates/h.yaml", Manifest: "kind: Secret\ndata: {key: aHVudGVyMg==}", Events: []release.HookEvent{release.PreInstall}},
		{Name: "smoke", Kind: "Pod", Path: "web/templates/t.yaml", Manifest: "kind: Pod", Events: []release.HookEvent{release.Test}},
	}
	return rel
}

func printed(t *testing.T, v View, f output.Format, rel *release.Release) string {
	t.Helper()
	var b bytes.Buffer
	if err := v.Write(term.Streams{Out: &b}, f, rel); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestViewTable(t *testing.T) {
	const head = "NAME: web\nLAST DEPLOYED: Sat Nov 21 12:00:00 2026\nNAMESPACE: ns\nSTATUS: deployed\nREVISION: 2\n"
	for _, test := range []struct {
		name string
		view View
		want string
	}{
		{"plain", View{}, head + "DESCRIPTION: Install complete\nNOTES:\nWelcome.\n"},
		{"bare", View{HideNotes: true, NoDescription: true}, head},
		{"with objects", View{HideNotes: true, Resources: "==> v1/Pod\n"}, head + "DESCRIPTION: Install complete\nRESOURCES:\n==> v1/Pod\n\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := printed(t, test.view, output.Table, web()); got != test.want {
				t.Errorf("%s: got\n%s\nwanted\n%s", test.name, got, test.want)
			}
		})
	}
	fresh := web()
	fresh.Info.LastDeployed = time.Time{}
	if got := printed(t, View{}, output.Table, fresh); strings.Contains(got, "LAST DEPLOYED") {
		t.Errorf("zero time is printed: %s", got)
	}
}

func TestViewManifest(t *testing.T) {
	got := printed(t, View{Manifest: true, HideNotes: true}, output.Table, web())
	for _, want := range []string{"HOOKS:\n---\n# Source: web/templates/h.yaml\nkind: Secret", "MANIFEST:\n---\n# Source: web/templates/a.yaml"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestViewTestSuites(t *testing.T) {
	rel := web()
	if got := printed(t, View{}, output.Table, rel); strings.Contains(got, "TEST SUITE") {
		t.Error("a test that never ran is printed")
	}
	at := rel.Info.LastDeployed
	rel.Hooks[1].LastRun = release.Run{StartedAt: at, CompletedAt: at.Add(time.Second), Phase: release.PhaseFailed}
	want := "TEST SUITE:     smoke\nLast Started:   Sat Nov 21 12:00:00 2026\nLast Completed: Sat Nov 21 12:00:01 2026\nPhase:          Failed\n"
	if got := printed(t, View{}, output.Table, rel); !strings.Contains(got, want) {
		t.Errorf("got\n%s", got)
	}
}

// The record is untrusted.
func TestTestSuitesAreEscaped(t *testing.T) {
	rel := web()
	rel.Hooks[1].Name = "\x1b[2J"
	rel.Hooks[1].LastRun = release.Run{StartedAt: rel.Info.LastDeployed, Phase: "\x1b]0;x\a"}
	var b strings.Builder
	Tests(&b, rel, term.Safe)
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", b.String())
	}
}

func TestViewJSON(t *testing.T) {
	for _, without := range []bool{false, true} {
		rel := web()
		var got map[string]any
		if err := json.Unmarshal([]byte(printed(t, View{WithoutChart: without}, output.JSON, rel)), &got); err != nil {
			t.Fatal(err)
		}
		if got["name"] != "web" || got["version"] != 2.0 || (got["chart"] != nil) == without {
			t.Errorf("without %t: %v", without, got)
		}
		if c, err := rel.Chart(); err != nil || c == nil {
			t.Error("the chart of the original was removed")
		}
	}
	if got := printed(t, View{}, output.YAML, web()); !strings.Contains(got, "\nname: web\n") {
		t.Error(got)
	}
}

// CVE-2019-25210: --hide-secret hides Secrets in hooks too.
func TestHideSecretsFormats(t *testing.T) {
	rel := web()
	hook := rel.Hooks[0]
	if err := HideSecrets(rel); err != nil {
		t.Fatal(err)
	}
	for _, f := range []output.Format{output.Table, output.JSON, output.YAML} {
		got := printed(t, View{Manifest: true}, f, rel)
		if strings.Contains(got, "aHVudGVyMg") || strings.Count(got, "# HIDDEN: The Secret output has been suppressed") != 2 || !strings.Contains(got, "kind: ConfigMap") {
			t.Errorf("%s:\n%s", f, got)
		}
	}
	if !strings.Contains(hook.Manifest, "aHVudGVyMg") {
		t.Error("the original hook was changed")
	}
	rel.Manifest = "a: b: c"
	if err := HideSecrets(rel); err == nil {
		t.Error("no error for an unreadable object, which may be a Secret")
	}
}

func TestStatus(t *testing.T) {
	st := term.Streams{Color: "always"}.Style(nil)
	for status, code := range map[release.Status]string{
		release.Deployed: "32", release.Failed: "31", release.PendingInstall: "33", release.PendingUpgrade: "33",
		release.PendingRollback: "33", release.Uninstalling: "33", release.Superseded: "", release.Uninstalled: "", "odd": "",
	} {
		want := string(status)
		if code != "" {
			want = "\x1b[" + code + "m" + want + "\x1b[0m"
		}
		if got := Status(st, status); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestChartName(t *testing.T) {
	for want, in := range map[string][2]string{"web-1.0.0": {"web", "1.0.0"}, "web": {"web", ""}, "MISSING": {"", "1.0.0"}} {
		t.Run(want, func(t *testing.T) {
			if got := ChartName(in[0], in[1]); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func releaseStatus() *action.ReleaseStatus {
	return &action.ReleaseStatus{Release: web(), Objects: []status.LiveObject{
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", Live: map[string]any{"kind": "Deployment"}, Columns: []string{"NAME", "READY"}, Cells: []string{"web", "1/1"}},
		{APIVersion: "v1", Kind: "Service", Name: "gone"},
		{APIVersion: "v1", Kind: "Pod", Name: "a", Live: map[string]any{"kind": "Pod"}, Columns: []string{"NAME", "STATUS"}, Cells: []string{"web-\x1b[2J", "Running"}, Related: true},
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "b", Live: map[string]any{"kind": "Deployment"}, Columns: []string{"NAME", "READY"}, Cells: []string{"background", "0/1"}},
	}}
}

func TestWriteStatusTable(t *testing.T) {
	var b bytes.Buffer
	if err := WriteStatus(term.Streams{Out: &b}, output.Table, releaseStatus()); err != nil {
		t.Fatal(err)
	}
	want := "RESOURCES:\n==> v1/Deployment\nNAME         READY\nweb          1/1\nbackground   0/1\n\n" +
		"==> v1/Pod(related)\nNAME          STATUS\nweb-\\x1b[2J   Running\n\n==> MISSING\nService/gone\n\n\nNOTES:"
	if !strings.Contains(b.String(), want) {
		t.Errorf("got\n%q\nwanted\n%q", b.String(), want)
	}
}

func TestWriteStatusUninstalled(t *testing.T) {
	var b bytes.Buffer
	st := releaseStatus()
	st.Release.Info.Status = release.Uninstalled
	if err := WriteStatus(term.Streams{Out: &b}, output.Table, st); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "MISSING") || !strings.Contains(b.String(), "background") {
		t.Errorf("got\n%s", b.String())
	}
}

func TestWriteStatusJSON(t *testing.T) {
	var b bytes.Buffer
	st := releaseStatus()
	if err := WriteStatus(term.Streams{Out: &b}, output.JSON, st); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Chart any
		Info  struct{ Resources map[string][]any }
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Chart != nil || len(got.Info.Resources["v1/Deployment"]) != 2 || len(got.Info.Resources["v1/Pod(related)"]) != 1 || len(got.Info.Resources) != 2 {
		t.Errorf("%+v", got)
	}
	if c, _ := st.Release.Chart(); c == nil {
		t.Error("the chart of the original was removed")
	}
}

// Programs that read Helm's output know no other keys.
func TestViewOmitsKeysOfRecords(t *testing.T) {
	rel := web()
	rel.Info.Completed = rel.Info.LastDeployed.Add(time.Second)
	rel.ValueOrigins, rel.Lists = json.RawMessage(`{"sources":[]}`), json.RawMessage(`{"fields":{}}`)
	for _, f := range []output.Format{output.JSON, output.YAML} {
		got := printed(t, View{}, f, rel)
		for _, key := range []string{"completed", "sources", "origins", "fields", "lists"} {
			if strings.Contains(got, key) {
				t.Errorf("%s has %s:\n%s", f, key, got)
			}
		}
	}
	if rel.Info.Completed.IsZero() || rel.ValueOrigins == nil || rel.Lists == nil {
		t.Error("the release was changed")
	}
}
