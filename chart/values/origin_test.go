// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

// originChart returns a chart with the given values.yaml, dependencies and subcharts.
func originChart(t *testing.T, name, text string, entries []*chart.Dependency, below ...*chart.Chart) *chart.Chart {
	t.Helper()
	vals, err := Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := &chart.Chart{Metadata: &chart.Metadata{Name: name, Version: "1.0.0", Dependencies: entries}, Values: vals,
		Raw: []*chart.File{{Name: chart.FileValues, Data: []byte(text)}}}
	c.SetDependencies(below...)
	return c
}

// texts returns the origins as text.
func texts(origins []Origin) []string {
	var out []string
	for _, o := range origins {
		out = append(out, o.String())
	}
	return out
}

func TestExplain(t *testing.T) {
	db := originChart(t, "db", "port: 5432\nglobal:\n  zone: b\nauth:\n  user: app\nexports:\n  data:\n    url: db:5432\n", nil)
	web := originChart(t, "web", strings.Join([]string{
		"image:", "  repository: web", `  tag: "1"`, // lines 1 to 3
		"ports: [80, 443]", "global: {zone: a}", // 4, 5
		"primary:", "  auth: {user: web}", "  enabled: true", // 6 to 8
		"off: 1", "hosts:", "- name: a", "- port: 1", "  name: b", // 9 to 13
		"on: 1", `"no": 2`, "0x10: 3", ""}, "\n"), // 14 to 16
		[]*chart.Dependency{
			{Name: "db", Alias: "primary", Version: "1.0.0", Condition: "primary.enabled", ImportValues: []any{"data"}},
			{Name: "db", Alias: "second", Version: "1.0.0", Condition: "second.enabled"},
		}, db)
	files := map[string]string{
		"prod.yaml": "image:\n  tag: \"2\"\nsecond: {enabled: false}\n",
		"more.yaml": "image:\n\n  tag: \"3\"\noff: null\nprimary:\n  port: 1\n",
	}
	read := func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, errors.New("not there")
		}
		return []byte(text), nil
	}
	options := Options{Files: []string{"prod.yaml", "more.yaml"}, Set: []string{"image.tag=4,ports[1]=8443", "new.key=x"}}
	origins, err := Explain(web, options, read)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		want []string
	}{
		{"image.repository", []string{"web/values.yaml:2"}},
		{"image.tag", []string{"--set image.tag=4,ports[1]=8443", "more.yaml:3", "prod.yaml:2", "web/values.yaml:3"}},
		{"ports", []string{"--set image.tag=4,ports[1]=8443", "web/values.yaml:4"}},
		{"hosts.[1].name", []string{"web/values.yaml:13"}},
		{"hosts.[1].other", []string{"web/values.yaml:12"}},
		{"hosts.[7]", []string{"web/values.yaml:10"}},
		{"new.key", []string{"--set new.key=x"}},
		{"off", nil},
		{"false", nil},
		{"true", []string{"web/values.yaml:14"}},
		{"no", []string{"web/values.yaml:15"}},
		{"16", []string{"web/values.yaml:16"}},
		{"image", nil},
		{"missing.key", nil},
		{"url", []string{"web/charts/db/values.yaml:8 (exports.data.url)"}},
		{"primary.port", []string{"more.yaml:6", "web/charts/db/values.yaml:1"}},
		{"primary.auth.user", []string{"web/values.yaml:7", "web/charts/db/values.yaml:5"}},
		{"primary.global.zone", []string{"web/values.yaml:5", "web/charts/db/values.yaml:3"}},
		{"second.port", nil},
	} {
		t.Run(c.path, func(t *testing.T) {
			if got := texts(origins.Of(strings.Split(c.path, ".")...)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if _, err := Explain(web, Options{Files: []string{"absent.yaml"}}, read); err == nil {
		t.Error("got no error for a file that cannot be read")
	}
}

// Every value that Resolve returns has an origin, and the origins belong to the same values.
func TestExplainAgreesWithResolve(t *testing.T) {
	db := originChart(t, "db", "a: {x: 1, y: [1, 2]}\nglobal: {g: 1, h: null}\nnull_: null\nexports: {e: {a: {x: 9}}}\n", nil)
	web := originChart(t, "web", "a: {x: 2}\ndb: {a: {y: null, z: 1}}\nglobal: {h: 2}\nb: 1\n",
		[]*chart.Dependency{{Name: "db", Version: "1.0.0", ImportValues: []any{"e"}}}, db)
	for i, options := range []Options{
		{},
		{Set: []string{"a.x=3,db.a.y=null,b=null"}},
		{JSON: []string{`{"a": {"y": [1]}, "db": {"a": 7}}`}, Set: []string{"a.y[2].k=v"}},
		{String: []string{"global.g=s"}, Literal: []string{"db.a.x=1,2"}},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			user, err := options.Build(nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := Resolve(web, user)
			if err != nil {
				t.Fatal(err)
			}
			origins, err := Explain(web, options, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkTraced(t, res.Values, origins.root, "")
		})
	}
}

func checkTraced(t *testing.T, want, got map[string]any, path string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d keys, want %d", path, len(got), len(want))
	}
	for k, v := range want {
		switch table, isTable := v.(map[string]any); {
		case isTable:
			below, _ := got[k].(map[string]any)
			checkTraced(t, table, below, join(path, k))
		case v == nil:
			if got[k] != nil {
				t.Errorf("%s: got %v, want null", join(path, k), got[k])
			}
		default:
			leaf, ok := got[k].(*traced)
			if !ok {
				t.Errorf("%s: got %T, want a traced value", join(path, k), got[k])
			} else if !equal(leaf.value, v) || len(leaf.origins) == 0 {
				t.Errorf("%s: got %v with origins %v, want %v", join(path, k), leaf.value, leaf.origins, v)
			}
		}
	}
}

func TestOriginsUpdate(t *testing.T) {
	c := originChart(t, "web", "a: 1\nb: {c: x, d: y}\n", nil)
	origins, err := Explain(c, Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	script := Origin{Script: "web"}
	origins.Update(map[string]any{"a": 1.0, "b": map[string]any{"c": "z", "new": []any{"n"}}},
		func([]string) Origin { return script })
	for path, want := range map[string][]string{
		"a":     {"web/values.yaml:1"},
		"b.c":   {"script of web", "web/values.yaml:2"},
		"b.d":   nil,
		"b.new": {"script of web"},
	} {
		if got := texts(origins.Of(strings.Split(path, ".")...)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
