// SPDX-License-Identifier: Apache-2.0

package unused_test

import (
	"context"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/unused"
	"github.com/moonhelm/moonhelm/chart/values"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	vals, err := values.Parse("values.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return vals
}

// web is a chart with a subchart that is off, and one with an alias.
func web(t *testing.T) *chart.Chart {
	t.Helper()
	template := func(text string) []*chart.File {
		return []*chart.File{{Name: "templates/a.yaml", Data: []byte(text)}}
	}
	db := &chart.Chart{Metadata: &chart.Metadata{Name: "db", Version: "1.0.0"},
		Templates: template("{{ .Values.port }}{{ .Values.global.region }}"),
		Values:    map[string]any{"port": 1, "exports": map[string]any{"data": map[string]any{"host": "x"}}}}
	cache := &chart.Chart{Metadata: &chart.Metadata{Name: "redis", Version: "1.0.0"},
		Templates: template("{{ .Values.memory }}")}
	c := &chart.Chart{
		Metadata: &chart.Metadata{Name: "web", Version: "1.0.0", Dependencies: []*chart.Dependency{
			{Name: "db", Version: "1.x", Condition: "db.enabled", Tags: []string{"backend"}, ImportValues: []any{"data"}},
			{Name: "redis", Version: "1.x", Alias: "cache"},
		}},
		Templates: template("{{ .Values.image.tag }}\n{{ toYaml .Values.resources }}{{ .Values.image.digest }}"),
		Values: map[string]any{"db": map[string]any{"enabled": false}, "dead": map[string]any{"a": 1},
			"image": map[string]any{"tag": "1"}},
		Schema: []byte(`{"properties": {"declared": {"$ref": "#/$defs/d"}, "free": {"additionalProperties": {"type": "string"}},
			"other": {"$ref": "http://example.com/x"}}, "$defs": {"d": {"properties": {"x": {}}, "allOf": [{"$ref": "#/$defs/d"}]}}}`),
	}
	c.SetDependencies(db, cache)
	return c
}

func TestFind(t *testing.T) {
	for _, c := range []struct{ name, user, want string }{
		{"misspelled", "image: {tagg: 1}", "image.tagg: never read; did you mean image.tag, read at templates/a.yaml:1?"},
		{"not one that is set", "image: {tag: 1, digets: 2}",
			"image.digets: never read; did you mean image.digest, read at templates/a.yaml:2?"},
		{"of a table", "imag: {tag: 1}", "imag: never read; did you mean image, read at templates/a.yaml:1?"},
		{"in the wrong table", "digest: 1", "digest: never read; did you mean image.digest, read at templates/a.yaml:2?"},
		{"like none", "wibble: 1", "wibble: never read"},
		{"null", "image: {tagg: ~}", "image.tagg: never read; did you mean image.tag, read at templates/a.yaml:1?"},
		{"below a table that is passed on", "resources: {a: {b: 1}}", ""},
		{"with a default that nothing reads", "dead: {a: 2}", ""},
		{"beside one", "dead: {b: 2}", "dead.b: never read"},
		{"of a subchart that is off", "db: {prot: 1, port: 2}",
			"db.prot: never read; did you mean db.port, read at charts/db/templates/a.yaml:1?"},
		{"of a subchart by its alias", "cache: {memory: 1, mem: 2}",
			"cache.mem: never read; did you mean cache.memory, read at charts/cache/templates/a.yaml:1?"},
		{"a subchart by its name", "redis: {memory: 1}", "redis: never read"},
		{"a condition", "db: {enabled: true}", ""},
		{"a tag", "tags: {backend: true}", ""},
		{"no tag", "tags: {backnd: true}", "tags.backnd: never read; did you mean tags.backend?"},
		{"an import", "db: {exports: {data: {new: 1}}}", ""},
		{"what is imported", "host: y", ""},
		{"a global", "global: {region: x}", ""},
		{"no global", "global: {regoin: x}", "global.regoin: never read; did you mean global.region, read at charts/db/templates/a.yaml:1?"},
		{"of the schema", "declared: {x: 1}", ""},
		{"not of the schema", "declared: {xyz: 1}", "declared.xyz: never read"},
		{"any of the schema", "free: {a: 1}", ""},
		{"of another schema", "other: {a: 1}", ""},
		{"control characters", `"ta\x1b[2Jg": 1`, `ta\x1b[2Jg: never read`},
		{"none", "{}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys, err := unused.Find(context.Background(), web(t), parse(t, c.user), unused.Options{})
			if err != nil {
				t.Fatal(err)
			}
			lines := make([]string, len(keys))
			for i, k := range keys {
				lines[i] = k.String()
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("for %s got %q, want %q", c.user, got, c.want)
			}
		})
	}
}

// TestFindDefaults includes keys with defaults that nothing reads.
func TestFindDefaults(t *testing.T) {
	keys, err := unused.Find(context.Background(), web(t), parse(t, "dead: {a: 2}\nimage: {tag: 2}"),
		unused.Options{Defaults: true})
	if err != nil || len(keys) != 1 || keys[0].String() != "dead: never read" || !keys[0].Default {
		t.Errorf("got %v, %v, want dead", keys, err)
	}
}

// TestFindWithScripts takes the words of scripts for what they read.
func TestFindWithScripts(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"a field", `local n = ctx.values.site.name`, "other site.nope"},
		{"a field that is set", `ctx.values.site.name = 1`, "other site.nope"},
		{"fields by text", `local n = ctx.values["site"]['name']`, "other site.nope"},
		{"a field by a computed name", `local n = ctx.values.site[key]`, "other"},
		{"a part of a text", `local n = ctx.values.site .. "x"`, "other"},
		{"a variable", "local site = ctx.values.site -- renamed\nlocal n = site.name", "other site.nope"},
		{"a variable that is passed on", "local s = ctx.values.site\nf(s)", "other"},
		{"a variable for everything", "local v = ctx.values\nlocal n = v.site.name", "other site.nope"},
		{"everything in variables", "local v = ctx.values\nlocal w = v;\nfor k in pairs(w) do end", ""},
		{"everything by text", `for k in pairs(ctx["values"]) do end`, ""},
		{"a text", `local n = ctx.values["other"]`, "site"},
		{"a table", `for k, v in pairs(ctx.values.site) do end`, "other"},
		{"everything", `f(ctx.values)`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ch := &chart.Chart{Metadata: &chart.Metadata{Name: "web"}, Files: []*chart.File{
				{Name: chart.FileScript, Data: []byte(c.script)}}}
			keys, err := unused.Find(context.Background(), ch, parse(t, "site: {name: x, nope: 1}\nother: 2"),
				unused.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, k := range keys {
				got = append(got, strings.Join(k.Path, "."))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestSuggestionsOfScripts suggests keys that only a script reads.
func TestSuggestionsOfScripts(t *testing.T) {
	script := "local v = ctx.values\nlocal img = v.image\nif v.replicas then f(img.tag) end\nf(ctx.values.db.port)\n"
	for _, c := range []struct{ user, want string }{
		{"replcas: 1", "replcas: never read; did you mean replicas, read at ext/lua/chart.lua:3?"},
		{"image: {tagg: 1}", "image.tagg: never read; did you mean image.tag, read at ext/lua/chart.lua:3?"},
		{"sub: {prot: 1}", "sub.prot: never read; did you mean sub.port, read at charts/sub/ext/lua/chart.lua:1?"},
		{"other: {zone: 1}", "other: never read"},
		{"deep: {tag: 1}", "deep: never read"},
	} {
		t.Run(c.user, func(t *testing.T) {
			sub := &chart.Chart{Metadata: &chart.Metadata{Name: "sub"}, Files: []*chart.File{
				{Name: chart.FileScript, Data: []byte("f(ctx.values.port)")}}}
			ch := &chart.Chart{Metadata: &chart.Metadata{Name: "web"}, Files: []*chart.File{
				{Name: chart.FileScript, Data: []byte(script)}}}
			ch.SetDependencies(sub)
			keys, err := unused.Find(context.Background(), ch, parse(t, c.user), unused.Options{})
			if err != nil || len(keys) != 1 || keys[0].String() != c.want {
				t.Errorf("for %s got %v, %v, want %q", c.user, keys, err, c.want)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	keys := make([]unused.Key, 12)
	for i := range keys {
		keys[i].Path = []string{"k", string(rune('a' + i))}
	}
	got := unused.Summary(keys)
	if strings.Count(got, "\n") != 11 || !strings.HasSuffix(got, "\n  k.j: never read\n  and 2 more") {
		t.Errorf("the summary of 12 keys is\n%s", got)
	}
	want := "nothing in the chart reads a key of the given values:\n  k.a: never read"
	if got := unused.Summary(keys[:1]); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
