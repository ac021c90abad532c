// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
)

// rendered is what a template of the chart makes with the function f of its script.
func rendered(t *testing.T, code, template string, values map[string]any) (string, error) {
	t.Helper()
	c := newChart("web", map[string]string{chart.FileScript: code, "config/app.conf": "debug=1\n"}, newChart("db", nil))
	c.Templates = []*chart.File{{Name: "templates/a.yaml", Data: []byte(template)}}
	h := luaHost()
	bus, err := load(t, h, c)
	if err != nil {
		return "", err
	}
	e := &event.PreRender{Payload: event.Payload{Chart: c, Values: values}}
	if err := errors.Join(bus.Emit(t.Context(), e), bus.Functions(t.Context(), e)); err != nil {
		return "", err
	}
	version, err := engine.ParseKubeVersion("1.36.1")
	if err != nil {
		t.Fatal(err)
	}
	out, err := engine.Render(t.Context(), engine.Input{Chart: c, Values: values, Functions: e.Functions,
		Release:      engine.Release{Name: "moon", Namespace: "prod"},
		Capabilities: &engine.Capabilities{KubeVersion: version, APIVersions: engine.VersionSet{"v1", "apps/v1"}}})
	if err != nil {
		return "", err
	}
	for _, f := range out.Files {
		if f.Name == "web/templates/a.yaml" {
			return f.Content, nil
		}
	}
	t.Fatal("the template has no output")
	return "", nil
}

func TestTheRootContextAsArgument(t *testing.T) {
	large := map[string]any{}
	for _, k := range strings.Fields("a b c d e f g h") {
		large[k] = strings.Repeat("x", 40<<10)
	}
	values := map[string]any{"port": int64(80), "image": map[string]any{"tag": "1"}, "large": large,
		"db": map[string]any{"port": int64(3306)}}
	for name, tc := range map[string]struct{ code, want string }{
		"values":           {`return root.Values.port + 1`, "81"},
		"deep values":      {`return root.Values.image.tag`, "1"},
		"large values":     {`return #root.Values.large.c`, "40960"},
		"the release":      {`return root.Release.Name .. "/" .. root.Release.Namespace`, "moon/prod"},
		"the chart":        {`return root.Chart.Name`, "web"},
		"the template":     {`return root.Template.Name`, "web/templates/a.yaml"},
		"the version":      {`return root.Capabilities.KubeVersion.Version`, "v1.36.1"},
		"the API versions": {`return table.concat(root.Capabilities.APIVersions, " ")`, "v1 apps/v1"},
		"files":            {`return root.Files["config/app.conf"]`, "debug=1\n"},
		"a subchart":       {`return root.Subcharts.db.Values.port`, "3306"},
		"as data":          {`return yaml.encode(root.Values.image)`, "tag: \"1\"\n"},
		"read-only":        {`root.Values.port = 1`, "$.Values.port is read-only"},
		"a part of it":     {`return root.Values.image`, "map[tag:1]"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rendered(t, `template.func("f", function(root) `+tc.code+` end)`, "{{ f $ }}", values)
			if err != nil {
				got = err.Error()
			}
			if got != tc.want && (err == nil || !strings.Contains(got, tc.want)) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestArgumentsThatScriptsHaveNoFormOf(t *testing.T) {
	_, err := rendered(t, `template.func("f", function(x) return x end)`, `{{ f now }}`, nil)
	if err == nil || !strings.Contains(err.Error(), "scripts take text, numbers, booleans, lists, maps and the root context ($)") {
		t.Errorf("got %v", err)
	}
	got, err := rendered(t, `template.func("f", function(x) return x.KubeVersion.Minor end)`, `{{ f .Capabilities }}`, nil)
	if err != nil || got != "36" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A map that holds what scripts have no form of is an error where a script looks at it, also if
// it was to be sent along: it is not empty.
func TestValuesOfOtherTypes(t *testing.T) {
	const want = "values: bad: a struct {} cannot be given to a script"
	for _, code := range []string{`print(ctx.values.a)`, `ctx.values.a = "lost"`, `for k in pairs(ctx.values) do print(k) end`} {
		t.Run(code, func(t *testing.T) {
			c := lchart("web", `events.on("pre-render", function(ctx) `+code+` end)`)
			e := &event.PreRender{Payload: event.Payload{Chart: c, Values: map[string]any{"a": "x", "bad": struct{}{}}}}
			if err := emit(t, e); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			if len(e.Values) != 2 || e.Values["a"] != "x" {
				t.Errorf("values are %v now", e.Values)
			}
		})
	}
}

// Templates may put anything into the values. These are too large to be a part of the root
// context, and small enough to be sent along with it.
func TestRootContextOfOtherTypes(t *testing.T) {
	large := strings.Repeat("x", 64<<10-800)
	got, err := rendered(t, `template.func("f", function(root) return root.Values.port end)`,
		`{{ $_ := set .Values "ca" (genCA "ca" 1) }}{{ f $ }}`, map[string]any{"port": int64(80), "large": large})
	if err == nil || !strings.Contains(err.Error(), "$.Values: ca: ") ||
		!strings.Contains(err.Error(), "cannot be given to a script") {
		t.Errorf("got %q, %v", got, err)
	}
}
