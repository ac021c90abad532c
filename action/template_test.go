// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/progress"
)

func TestTemplateWithoutCluster(t *testing.T) {
	c := newChart(t, "templates/a.yaml", objectText("Service", "{{ .Release.Name }}")+objectText("ConfigMap", "v-{{ .Capabilities.KubeVersion.Minor }}")+
		`{{ with lookup "v1" "Secret" "ns" "s" }}`+objectText("Secret", "found")+`{{ end }}`+
		`{{ if .Capabilities.APIVersions.Has "x/v1" }}`+objectText("Role", "x")+`{{ end }}`+
		`{{ if .Release.IsUpgrade }}`+objectText("Role", "upgrade")+`{{ end }}`)
	for _, test := range []struct {
		name string
		req  TemplateRequest
		want string
	}{
		{"plain", TemplateRequest{KubeVersion: "1.30"}, "[ConfigMap/v-30 Service/web]"},
		{"as an upgrade, with a version more", TemplateRequest{KubeVersion: "1.31.2", IsUpgrade: true, APIVersions: []string{"x/v1"}}, "[ConfigMap/v-31 Role/x Role/upgrade Service/web]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.req.Chart, test.req.Name = c, "web"
			out, err := Template{}.Run(t.Context(), test.req)
			if err != nil || names(out.Objects) != test.want {
				t.Errorf("%s: %v, %v", test.name, out, err)
			}
		})
	}
}

// CVE-2020-11013 is a lookup that asks a server while rendering offline; with a
// cluster the answer comes from there, and what was said on top of its
// capabilities stays with this one rendering.
func TestTemplateWithCluster(t *testing.T) {
	d := &callLog{}
	cl := newFakeCluster(d)
	cl.objects = map[string]map[string]any{"Secret/s": {"kind": "Secret"}}
	before := slices.Clone(cl.caps.APIVersions)
	version := cl.caps.KubeVersion
	c := newChart(t, "templates/a.yaml", `{{ with lookup "v1" "Secret" "ns" "s" }}`+objectText("Secret", "found")+`{{ end }}`)
	out, err := Template{&Config{Cluster: cl}}.Run(t.Context(), TemplateRequest{Chart: c, KubeVersion: "1.20", APIVersions: []string{"x/v1"}})
	if err != nil || names(out.Objects) != "[Secret/found]" {
		t.Errorf("%v, %v", out, err)
	}
	d.want(t, "capabilities", "lookup Secret/s")
	if cl.caps.KubeVersion != version || !slices.Equal(cl.caps.APIVersions, before) {
		t.Error("the cluster's own capabilities were changed")
	}
}

func TestTemplateErrors(t *testing.T) {
	library := newChart(t)
	library.Metadata.Type = chart.TypeLibrary
	odd := newChart(t)
	odd.Metadata.KubeVersion = "about 1.20"
	for _, test := range []struct {
		name string
		req  TemplateRequest
		want string
	}{
		{"a library", TemplateRequest{Chart: library}, "not installable"},
		{"a name that is none", TemplateRequest{Chart: newChart(t), Name: "A B"}, "is invalid"},
		{"a version that is none", TemplateRequest{Chart: newChart(t), KubeVersion: "new"}, "new"},
		{"a range that is none", TemplateRequest{Chart: odd}, "is not a valid range of versions"},
		{"a schema's values", TemplateRequest{Chart: newChart(t, "values.schema.json", `{"required":["a"]}`)}, "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := (Template{}).Run(t.Context(), test.req); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, want %q", test.name, err, test.want)
			}
		})
	}
	skipped := TemplateRequest{Chart: newChart(t, "values.schema.json", `{"required":["a"]}`), SkipSchema: true}
	if _, err := (Template{}).Run(t.Context(), skipped); err != nil {
		t.Errorf("schema skipped: %v", err)
	}
}

func TestKubeVersionPreRelease(t *testing.T) {
	c := newChart(t)
	for want, good := range map[string]bool{">=1.20.0-0": true, ">= 1.30": true, "^1.40": false} {
		t.Run(want, func(t *testing.T) {
			c.Metadata.KubeVersion = want
			_, err := Template{}.Run(t.Context(), TemplateRequest{Chart: c, KubeVersion: "v1.30.1"})
			var wrong *KubeVersionError
			if good && err != nil || !good && !errors.As(err, &wrong) {
				t.Errorf("%s: %v", want, err)
			}
		})
	}
}

func TestSubchartNotes(t *testing.T) {
	c := newChart(t, "templates/NOTES.txt", "root")
	sub := newChart(t, "templates/NOTES.txt", "sub")
	sub.Metadata.Name = "db"
	c.SetDependencies(sub)
	for with, want := range map[bool]string{false: "root", true: "root\nsub"} {
		out, err := Template{}.Run(t.Context(), TemplateRequest{Chart: c, SubchartNotes: with})
		if err != nil || out.Notes != want {
			t.Errorf("%t: %q, %v", with, out.Notes, err)
		}
	}
}

func TestHandlersRunBeforeSchema(t *testing.T) {
	c := newChart(t, "values.yaml", "port: 80", "values.schema.json", `{"properties":{"port":{"type":"integer"}}}`)
	bus := &event.Bus{}
	var saw any
	event.On(bus, "test", 0, func(_ context.Context, e *event.PreRender) error {
		saw = e.Values["port"]
		e.Values = map[string]any{"port": "eighty"}
		return nil
	})
	_, err := Template{&Config{Events: bus}}.Run(t.Context(), TemplateRequest{Chart: c})
	if err == nil || !strings.Contains(err.Error(), "port") || saw == nil {
		t.Errorf("handlers got %v; validation of their values returned %v", saw, err)
	}
}

func TestValuesWarnings(t *testing.T) {
	var got []string
	c := newChart(t, "values.yaml", "a: {b: 1}")
	_, err := Template{&Config{Progress: func(e progress.Event) { got = append(got, string(e.Kind)+" "+e.Text) }}}.
		Run(t.Context(), TemplateRequest{Chart: c, Values: map[string]any{"a": "text"}})
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "warning ") {
		t.Errorf("%q, %v", got, err)
	}
}

// YAML's "on" is a bool, so it happens easily; Helm leaves such objects out too.
func TestHookUnknownEvent(t *testing.T) {
	var told []string
	verb := Template{&Config{Progress: func(e progress.Event) { told = append(told, e.Text) }}}
	out, err := verb.Run(t.Context(), TemplateRequest{Name: "web", Chart: newChart(t, "templates/a.yaml", objectText("Job", "a", "helm.sh/hook", "pre-instal")+objectText("Job", "b"))})
	if err != nil {
		t.Fatal(err)
	}
	const want = `Job/a (web/templates/a.yaml): unknown hook event "pre-instal": the object is left out `
	if len(out.Objects) != 1 || len(out.Hooks) != 0 || len(told) != 1 || !strings.HasPrefix(told[0], want) {
		t.Errorf("%v, %v, warnings = %q", out.Objects, out.Hooks, told)
	}
}
