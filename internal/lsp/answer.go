// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// place is a place in a file of a tree.
type place struct {
	*tree
	file   string // path in the tree
	text   *text
	offset int
}

// chartHere returns the chart of the file.
func (p place) chartHere() *chart.Chart {
	c, _ := p.chartOf(p.file)
	return c
}

// valueAt describes the value at a path in the values of the chart of the file.
type valueAt struct {
	value  any
	known  bool // there is a value
	schema map[string]any
	full   []string // the path from the root's values
}

func (p place) valueAt(keys []string) valueAt {
	c := p.chartHere()
	if c == nil {
		return valueAt{}
	}
	v := valueAt{full: valuesPath(c, keys)}
	v.value, v.known = at(p.values, v.full)
	v.schema = schemaAt(p.schemaOf(c), keys)
	if v.schema == nil && len(keys) > 0 { // the values of a subchart
		if sub := dependencyOf(c, keys[0]); sub != nil {
			v.schema = schemaAt(p.schemaOf(sub), keys[1:])
		}
	}
	return v
}

func dependencyOf(c *chart.Chart, name string) *chart.Chart {
	for _, sub := range c.Dependencies() {
		if sub.Name() == name {
			return sub
		}
	}
	return nil
}

// offered returns the first keys of the map at a path, sorted: as many as an answer has.
func (p place) offered(keys []string) []string {
	names := slices.Sorted(maps.Keys(p.keysAt(keys)))
	return names[:min(len(names), maxItems)]
}

// keysAt returns the keys of the map at a path, with the schemas of those that have one.
func (p place) keysAt(keys []string) map[string]map[string]any {
	v := p.valueAt(keys)
	out := map[string]map[string]any{}
	if m, ok := v.value.(map[string]any); ok {
		for key := range m {
			out[key] = nil
		}
	}
	properties, _ := v.schema["properties"].(map[string]any)
	for key, s := range properties {
		out[key], _ = s.(map[string]any)
	}
	return out
}

// describe returns Markdown about a value.
func (p place) describe(keys []string) string {
	v := p.valueAt(keys)
	if !v.known && v.schema == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**", strings.Join(keys, "."))
	if kind := typeOf(v); kind != "" {
		fmt.Fprintf(&b, " · %s", kind)
	}
	if text, ok := v.schema["description"].(string); ok && text != "" {
		b.WriteString("\n\n" + text)
	}
	if choices, ok := v.schema["enum"].([]any); ok {
		b.WriteString("\n\nOne of " + strings.Join(jsonTexts(choices), ", "))
	}
	if v.known {
		b.WriteString("\n\n```yaml\n" + sample(v.value) + "\n```")
	}
	if p.origins != nil {
		for i, o := range p.origins.Of(v.full...) {
			word := "set in"
			if i > 0 {
				word = "before"
			}
			fmt.Fprintf(&b, "\n\n%s %s", word, o)
		}
	}
	return b.String()
}

func jsonTexts(of []any) []string {
	out := make([]string, len(of))
	for i, v := range of {
		text, _ := json.Marshal(v)
		out[i] = "`" + string(text) + "`"
	}
	return out
}

func typeOf(v valueAt) string {
	switch kind := v.schema["type"].(type) {
	case string:
		return kind
	case []any:
		var names []string
		for _, k := range kind {
			names = append(names, fmt.Sprint(k))
		}
		return strings.Join(names, " or ")
	}
	switch v.value.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case nil:
		return ""
	}
	return "number"
}

// maxSample is the number of lines of a value that are shown.
const maxSample = 12

func sample(v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) > maxSample {
		lines = append(lines[:maxSample], "...")
	}
	return strings.Join(lines, "\n")
}

// definitions returns where the value at a path of the chart is set: the line in its values.yaml,
// and in those of the charts above it.
func (p place) definitions(keys []string) []Location {
	c, dir := p.chartOf(p.file)
	if c == nil {
		return nil
	}
	var out []Location
	if len(keys) > 0 {
		if sub := dependencyOf(c, keys[0]); sub != nil {
			out = append(out, p.keyLine(path.Join(p.directory(sub), chart.FileValues), keys[1:])...)
		}
	}
	for {
		out = append(out, p.keyLine(path.Join(dir, chart.FileValues), keys)...)
		if c.Parent() == nil {
			return out
		}
		if len(keys) == 0 || keys[0] != "global" {
			keys = append([]string{c.Name()}, keys...)
		}
		c, dir = c.Parent(), p.directory(c.Parent())
	}
}

// directory returns the directory of a chart in the tree.
func (t *tree) directory(c *chart.Chart) string {
	if c.Parent() == nil {
		return ""
	}
	base := chart.DirCharts
	if c.FromLibrary {
		base = chart.DirLibrary
	}
	for _, name := range []string{c.Name(), c.Unaliased} {
		dir := path.Join(t.directory(c.Parent()), base, name)
		if name != "" && t.texts[path.Join(dir, chart.FileMetadata)] != nil {
			return dir
		}
	}
	return path.Join(t.directory(c.Parent()), base, c.Name())
}

// keyLine returns the place of a key in a values file, or of the nearest key above it.
func (p place) keyLine(file string, keys []string) []Location {
	of := p.texts[file]
	if of == nil {
		return nil
	}
	if i := slices.Index(keys, each); i >= 0 {
		keys = keys[:i]
	}
	line := values.Lines([]byte(of.data))(keys...)
	if line == 0 || len(keys) == 0 {
		return nil
	}
	return []Location{p.location(file, of.lineRange(line-1))}
}

func (t *tree) location(file string, r Range) Location {
	return Location{URI: uriOf(filepath.Join(t.dir, filepath.FromSlash(file))), Range: r}
}

// defined returns where a named template is defined. Later definitions replace earlier ones.
func (p place) defined(name string) []Location {
	var out []Location
	p.eachDefine(func(file string, d define) {
		if d.name == name {
			out = append(out, p.location(file, p.texts[file].rangeOf(d.start, d.end)))
		}
	})
	return out
}

func (t *tree) eachDefine(visit func(file string, d define)) {
	for _, file := range t.templates() {
		for _, d := range t.scan(file).defines {
			visit(file, d)
		}
	}
}

// calls returns where a named template is used.
func (p place) calls(name string) []Location {
	var out []Location
	for _, file := range p.templates() {
		for _, c := range p.scan(file).calls {
			if c.name == name {
				out = append(out, p.location(file, p.texts[file].rangeOf(c.start, c.end)))
			}
		}
	}
	return out
}

// uses returns where templates use the value at a path of the chart of the file, or what is below
// it.
func (p place) uses(keys []string) []Location {
	full := valuesPath(p.chartHere(), keys)
	var out []Location
	for _, file := range p.templates() {
		c, _ := p.chartOf(file)
		for _, u := range p.scan(file).uses {
			if len(u.path) < 2 || u.path[0] != "Values" || c == nil {
				continue
			}
			path := valuesPath(c, u.path[1:])
			if len(path) < len(full) || !slices.Equal(path[:len(full)], full) {
				continue
			}
			out = append(out, p.location(file, p.texts[file].rangeOf(u.start, u.end)))
		}
	}
	return out
}

// edit returns the edit that inserts a name in the place of what is between two offsets.
func (p place) edit(start, end int, text string) *TextEdit {
	return &TextEdit{Range: p.text.rangeOf(start, end), NewText: text}
}

// sortItems sorts completions by name and limits their number.
func sortItems(items []CompletionItem) []CompletionItem {
	slices.SortFunc(items, func(a, b CompletionItem) int { return strings.Compare(a.Label, b.Label) })
	return items[:min(len(items), maxItems)]
}

// maxItems is the number of completions of one answer.
const maxItems = 2000

// scalar returns a value as it is written in YAML, in one line.
func scalar(v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}
