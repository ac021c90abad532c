// SPDX-License-Identifier: Apache-2.0

package unused

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// declare adds what reads values besides templates to n, the values of c: the schemas, conditions,
// tags and imports of c and of the charts below it.
func (s *search) declare(c *chart.Chart, n *engine.Usage) {
	readSchema(c, n)
	if c.Metadata == nil {
		return
	}
	for _, e := range c.Metadata.Dependencies {
		if e == nil {
			continue
		}
		for cond := range strings.SplitSeq(strings.TrimSpace(e.Condition), ",") {
			if cond != "" {
				child(n, strings.Split(cond, ".")...)
			}
		}
		for _, tag := range e.Tags {
			child(s.root, "tags", tag)
		}
		name := e.Name
		if e.Alias != "" {
			name = e.Alias
		}
		for _, iv := range e.ImportValues {
			if path := imported(iv); path != nil {
				child(n, append([]string{name}, path...)...).Whole = true
			}
		}
		for _, ev := range e.ExportValues {
			if path := exported(ev); path != nil {
				child(n, path...).Whole = true
			}
		}
		for _, d := range named(c, name) {
			s.declare(d, child(n, name))
		}
	}
	for _, d := range c.Subcharts() {
		if n.Keys[d.Name()] != nil {
			s.declare(d, n.Keys[d.Name()])
		}
	}
}

// imported returns the path in the subchart of an entry of import-values.
func imported(iv any) []string {
	switch iv := iv.(type) {
	case string:
		return []string{"exports", iv}
	case map[string]any:
		if from, ok := iv["child"].(string); ok && from != "." {
			return strings.Split(from, ".")
		}
	}
	return nil
}

// exported returns the path in the parent of an entry of export-values.
func exported(ev any) []string {
	switch ev := ev.(type) {
	case string:
		return []string{"exports", ev}
	case map[string]any:
		if from, ok := ev["parent"].(string); ok && from != "." {
			return strings.Split(from, ".")
		}
	}
	return nil
}

// child returns the node at a path below n, and adds it if it is not there.
func child(n *engine.Usage, path ...string) *engine.Usage {
	for _, key := range path {
		if n.Keys == nil {
			n.Keys = map[string]*engine.Usage{}
		}
		if n.Keys[key] == nil {
			n.Keys[key] = &engine.Usage{}
		}
		n = n.Keys[key]
	}
	return n
}

// maxSchemaSteps limits the schemas of a chart that are followed, with their references.
const maxSchemaSteps = 100_000

// schemaReader adds the properties of a schema.
type schemaReader struct {
	root  map[string]any
	steps int
	seen  map[schemaAt]bool
}

type schemaAt struct {
	ref string
	n   *engine.Usage
}

// readSchema adds the properties of the schema of c. It ignores a schema that cannot be read, which
// its validation reports.
func readSchema(c *chart.Chart, n *engine.Usage) {
	text := c.Schema
	if schema.FileOf(c) == chart.FileSchemaYAML {
		text = c.SchemaYAML
	}
	r := &schemaReader{seen: map[schemaAt]bool{}}
	if len(text) > 0 && yaml.Unmarshal(text, &r.root) == nil {
		r.read(r.root, n)
	}
}

func (r *schemaReader) read(s map[string]any, n *engine.Usage) {
	if r.steps++; r.steps > maxSchemaSteps || len(s) == 0 {
		return
	}
	if ref, ok := s["$ref"].(string); ok {
		r.reference(ref, n)
	}
	properties, _ := s["properties"].(map[string]any)
	for key, p := range properties {
		below := child(n, key)
		if p, ok := p.(map[string]any); ok {
			r.read(p, below)
		}
	}
	patterns, _ := s["patternProperties"].(map[string]any)
	for _, p := range patterns {
		r.readAny(p, n)
	}
	r.readAny(s["additionalProperties"], n)
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		for _, p := range list {
			if p, ok := p.(map[string]any); ok {
				r.read(p, n)
			}
		}
	}
	for _, key := range []string{"if", "then", "else"} {
		if p, ok := s[key].(map[string]any); ok {
			r.read(p, n)
		}
	}
}

// readAny adds a schema for keys that it does not name. A schema that allows everything says
// nothing about a key.
func (r *schemaReader) readAny(s any, n *engine.Usage) {
	if p, ok := s.(map[string]any); ok && len(p) > 0 {
		if n.Any == nil {
			n.Any = &engine.Usage{}
		}
		r.read(p, n.Any)
	}
}

// reference follows a reference in the document. What another document declares is not known.
func (r *schemaReader) reference(ref string, n *engine.Usage) {
	at := schemaAt{ref, n}
	if r.seen[at] {
		return
	}
	r.seen[at] = true
	pointer, local := strings.CutPrefix(ref, "#")
	var v any = r.root
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if step == "" {
			continue
		}
		table, _ := v.(map[string]any)
		v = table[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	if target, ok := v.(map[string]any); ok && local {
		r.read(target, n)
		return
	}
	n.Whole = true
}

// scripts are the words in the scripts of a chart tree.
type scripts struct {
	words map[string]bool
	// whole are the words that scripts may use without naming a key below them.
	whole map[string]bool
	// named are the paths that scripts write out, with their places, to suggest them.
	named *engine.Usage
}

var (
	scriptWord = lazy.Regexp(`[A-Za-z_][A-Za-z0-9_-]*`)
	// scriptField matches what follows a word whose field is used.
	scriptField = lazy.Regexp(`^(?:["']\])?(?:\.[A-Za-z_]|\[["'])`)
	// scriptAlias matches a variable that stands for a field.
	scriptAlias = lazy.Regexp(`(?m)\blocal\s+([A-Za-z_]\w*)\s*=\s*(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)[ \t]*(?:[;\r]|--.*)?$`)
)

// scriptsOf returns what the scripts of a tree may read. It looks at their text only: a script
// may read a key whose name is in it, and all keys of a table that it uses without naming one, also
// through a variable.
func scriptsOf(c *chart.Chart) scripts {
	s := scripts{words: map[string]bool{}, whole: map[string]bool{}, named: &engine.Usage{}}
	aliases := map[string][]string{}
	c.Walk(func(c *chart.Chart) {
		var below []string // the names from the root chart down
		for up := c; !up.IsRoot(); up = up.Parent() {
			below = append([]string{up.Name()}, below...)
		}
		for _, f := range c.Files {
			if strings.HasPrefix(f.Name, chart.DirScripts+"/") {
				s.add(f.Data, aliases)
				s.name(f.Data, c.FullPath()+"/"+f.Name, child(s.named, below...))
			}
		}
	})
	s.follow(aliases)
	return s
}

// add adds the words of a script, and to aliases what its variables stand for.
func (s scripts) add(text []byte, aliases map[string][]string) {
	named := map[int]bool{} // where a word is only given another name
	for _, m := range scriptAlias().FindAllSubmatchIndex(text, -1) {
		variable, field := string(text[m[2]:m[3]]), string(text[m[4]:m[5]])
		aliases[variable] = append(aliases[variable], field)
		named[m[2]], named[m[4]] = true, true
	}
	for _, at := range scriptWord().FindAllIndex(text, -1) {
		word := string(text[at[0]:at[1]])
		s.words[word] = true
		if !named[at[0]] && !scriptField().Match(text[at[1]:]) {
			s.whole[word] = true
		}
	}
}

var (
	scriptChain = lazy.Regexp(`[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+`)
	// scriptLocal matches a variable that is given what a chain of fields names.
	scriptLocal = lazy.Regexp(`\blocal\s+([A-Za-z_]\w*)\s*=\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)`)
)

// name adds the paths of values that a script writes out as ctx.values.image.tag, also through variables, to n, which
// has the values of the script's chart.
func (s scripts) name(text []byte, file string, n *engine.Usage) {
	roots := map[string]*engine.Usage{} // what variables stand for
	find := func(chain string) *engine.Usage {
		steps := strings.Split(chain, ".")
		if i := slices.Index(steps, "values"); i > 0 {
			return child(n, steps[i+1:]...)
		}
		if root := roots[steps[0]]; root != nil {
			return child(root, steps[1:]...)
		}
		return nil
	}
	for _, m := range scriptLocal().FindAllSubmatch(text, -1) {
		if at := find(string(m[2])); at != nil {
			roots[string(m[1])] = at
		}
	}
	for _, at := range scriptChain().FindAllIndex(text, -1) {
		if u := find(string(text[at[0]:at[1]])); u != nil && u.Line == 0 {
			u.File, u.Line = file, 1+bytes.Count(text[:at[0]], []byte("\n"))
		}
	}
}

// follow takes the fields as whole whose variables are.
func (s scripts) follow(aliases map[string][]string) {
	queue := slices.Collect(maps.Keys(s.whole))
	for len(queue) > 0 {
		variable := queue[0]
		queue = queue[1:]
		for _, field := range aliases[variable] {
			if !s.whole[field] {
				s.whole[field] = true
				queue = append(queue, field)
			}
		}
	}
}

// read reports whether a script may read the value at path.
func (s scripts) read(path []string) bool {
	return s.words[path[len(path)-1]] || s.readWhole(path[:len(path)-1])
}

// readWhole reports whether a script may read all that is below path.
func (s scripts) readWhole(path []string) bool {
	return s.whole["values"] || slices.ContainsFunc(path, func(key string) bool { return s.whole[key] })
}
