// SPDX-License-Identifier: Apache-2.0

package values

import (
	"bytes"
	"path"
	"reflect"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Keywords of schemas, as in the schemas of Kubernetes' custom resources.
const (
	listTypeKeyword = "x-kubernetes-list-type"
	mapKeysKeyword  = "x-kubernetes-list-map-keys"
)

// Lists says which lists in the values of a chart tree merge item by item: those whose schema has
// the keyword x-kubernetes-list-type with the value "map", for items that have the same keys
// (x-kubernetes-list-map-keys), or "set", for items that are equal. All other lists replace each
// other.
//
// The schema of a chart describes its values and, below their names, those of its subcharts; the
// subchart's own schema takes precedence. Lists follows properties, additionalProperties, items,
// allOf, and references within the chart.
//
// A nil *Lists has no list that merges. A Lists must not be used by several goroutines at once.
type Lists struct {
	schemas []schemaAt
	chart   *chart.Chart // the chart whose values these are, or nil
	above   *Lists       // the values of the chart that has chart as a subchart
	fields  map[string]*Lists
	rule    *listRule
	hasRule bool // rule is known
}

// listRule says how a list merges.
type listRule struct {
	keys  []string // of a map; nil for a set
	text  map[string]bool
	items *Lists
}

// ListsOf returns the lists that merge in the values of the tree of c. It returns nil if no schema
// of the tree has such a list, or if c is nil. It ignores a schema that cannot be read, which its validation
// reports.
func ListsOf(c *chart.Chart) *Lists {
	if c == nil || !declaresLists(c) {
		return nil
	}
	tree := grow(c, true)
	tree.link()
	return listsOf(tree.chart)
}

// listsOf is ListsOf for a tree in which aliases have been applied.
func listsOf(c *chart.Chart) *Lists {
	if !declaresLists(c) {
		return nil
	}
	return &Lists{chart: c, schemas: rootSchemas(c)}
}

// declaresLists reports whether a file of the tree that may be a schema has the keyword.
func declaresLists(c *chart.Chart) bool {
	name, text := schemaText(c)
	found := bytes.Contains(text, []byte(listTypeKeyword))
	if name != "" && !found && bytes.Contains(text, []byte("$ref")) {
		for _, f := range c.Files {
			if ext := path.Ext(f.Name); ext == ".json" || ext == ".yaml" || ext == ".yml" {
				found = found || bytes.Contains(f.Data, []byte(listTypeKeyword))
			}
		}
	}
	for _, d := range c.Subcharts() {
		found = found || declaresLists(d)
	}
	return found
}

// schemaText returns the schema of c and the name of its file, or "". The chart of a release record
// has a schema in YAML only among its files.
func schemaText(c *chart.Chart) (name string, text []byte) {
	text = c.SchemaYAML
	if text == nil {
		text = fileOf(c, chart.FileSchemaYAML)
	}
	if len(bytes.TrimSpace(text)) > 0 {
		return chart.FileSchemaYAML, text
	}
	if len(bytes.TrimSpace(c.Schema)) > 0 {
		return chart.FileSchema, c.Schema
	}
	return "", nil
}

// fileOf returns the contents of a file of c, or nil.
func fileOf(c *chart.Chart, name string) []byte {
	if f := c.File(name); f != nil {
		return f.Data
	}
	for _, f := range c.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// schemaAt is a schema in a file of a chart.
type schemaAt struct {
	node map[string]any
	file *schemaFile
}

// schemaFile is a file with schemas. It shares the files that were read with all others of its chart.
type schemaFile struct {
	name  string
	root  map[string]any
	chart *chart.Chart
	files map[string]*schemaFile
}

func rootSchemas(c *chart.Chart) []schemaAt {
	name, text := schemaText(c)
	if name == "" {
		return nil
	}
	f := &schemaFile{name: name, chart: c, files: map[string]*schemaFile{}}
	f.files[name] = f
	if yaml.Unmarshal(text, &f.root) != nil {
		return nil
	}
	return expand(schemaAt{f.root, f})
}

// maxExpanded limits the schemas that describe one value.
const maxExpanded = 256

// expand returns the schemas and those that apply wherever they do: those that they refer to, and those
// of their allOf. The order is that of the queue.
func expand(queue ...schemaAt) []schemaAt {
	var out []schemaAt
	seen := map[uintptr]bool{}
	for len(queue) > 0 && len(out) < maxExpanded {
		s := queue[0]
		queue = queue[1:]
		id := reflect.ValueOf(s.node).Pointer()
		if s.node == nil || seen[id] {
			continue
		}
		seen[id] = true
		out = append(out, s)
		if ref, ok := s.node["$ref"].(string); ok {
			queue = append(queue, s.refer(ref))
		}
		all, _ := s.node["allOf"].([]any)
		for _, v := range all {
			node, _ := v.(map[string]any)
			queue = append(queue, schemaAt{node, s.file})
		}
	}
	return out
}

// refer returns the schema that ref refers to from s: a JSON pointer in its file or in another file
// of the chart. Its node is nil if there is none.
func (s schemaAt) refer(ref string) schemaAt {
	name, pointer, _ := strings.Cut(ref, "#")
	file := s.file
	if name != "" {
		if file = file.open(path.Join(path.Dir(file.name), name)); file == nil {
			return schemaAt{}
		}
	}
	var v any = file.root
	for _, step := range strings.Split(pointer, "/")[1:] {
		table, _ := v.(map[string]any)
		v = table[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	node, _ := v.(map[string]any)
	if pointer != "" && pointer[0] != '/' {
		node = nil // an anchor
	}
	return schemaAt{node, file}
}

func (f *schemaFile) open(name string) *schemaFile {
	if other, ok := f.files[name]; ok {
		return other
	}
	var other *schemaFile
	if text := fileOf(f.chart, name); text != nil {
		other = &schemaFile{name: name, chart: f.chart, files: f.files}
		if yaml.Unmarshal(text, &other.root) != nil {
			other = nil
		}
	}
	f.files[name] = other
	return other
}

// field returns the lists in the value of a key, or nil.
func (l *Lists) field(key string) *Lists {
	if l == nil {
		return nil
	}
	if below, ok := l.fields[key]; ok {
		return below
	}
	below := &Lists{}
	if l.chart != nil {
		for _, d := range l.chart.Subcharts() {
			if below.chart == nil && d.Name() == key {
				below.chart, below.above, below.schemas = d, l, rootSchemas(d)
			}
		}
	}
	for _, s := range l.schemas {
		properties, _ := s.node["properties"].(map[string]any)
		node, ok := properties[key].(map[string]any)
		if !ok {
			node, ok = s.node["additionalProperties"].(map[string]any)
		}
		if ok {
			below.schemas = append(below.schemas, schemaAt{node, s.file})
		}
	}
	if key == Global && l.above != nil {
		if global := l.above.field(Global); global != nil {
			below.schemas = append(below.schemas, global.schemas...)
		}
	}
	if below.schemas = expand(below.schemas...); len(below.schemas) == 0 && below.chart == nil {
		below = nil
	}
	if l.fields == nil {
		l.fields = map[string]*Lists{}
	}
	l.fields[key] = below
	return below
}

// list returns how the value merges if it is a list, or nil if it does not merge. The first schema
// that has a type decides.
func (l *Lists) list() *listRule {
	if l == nil {
		return nil
	}
	if !l.hasRule {
		l.rule, l.hasRule = l.findRule(), true
	}
	return l.rule
}

func (l *Lists) findRule() *listRule {
	for i, s := range l.schemas {
		kind, ok := s.node[listTypeKeyword].(string)
		if !ok {
			continue
		}
		r := &listRule{}
		switch kind {
		case "set":
		case "map":
			keys, _ := s.node[mapKeysKeyword].([]any)
			for _, k := range keys {
				if name, ok := k.(string); ok {
					r.keys = append(r.keys, name)
				}
			}
			if len(r.keys) == 0 {
				return nil
			}
		default:
			return nil
		}
		r.items = itemsOf(l.schemas[i:])
		r.text = r.items.textFields(r.keys)
		return r
	}
	return nil
}

// itemsOf returns the lists in the items of a list.
func itemsOf(schemas []schemaAt) *Lists {
	items := &Lists{}
	for _, s := range schemas {
		if node, ok := s.node["items"].(map[string]any); ok {
			items.schemas = append(items.schemas, schemaAt{node, s.file})
		}
	}
	items.schemas = expand(items.schemas...)
	if len(items.schemas) == 0 {
		return nil
	}
	return items
}

// textFields returns those of the keys whose values are strings.
func (l *Lists) textFields(keys []string) map[string]bool {
	out := map[string]bool{}
	for _, k := range keys {
		if below := l.field(k); below != nil {
			for _, s := range below.schemas {
				out[k] = out[k] || s.node["type"] == "string"
			}
		}
	}
	return out
}
