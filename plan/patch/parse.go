// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/manifest"
)

// A SyntaxError is returned for a file that is not a file of patches.
type SyntaxError struct {
	File string
	Line int // or 0 if it is unknown
	Text string
	// Similar is a field that the file may mean, or "".
	Similar string
	Err     error // of reading or decoding, or nil
}

func (e *SyntaxError) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.Err != nil {
		return at + ": " + e.Err.Error()
	}
	return at + ": " + e.Text
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// Hint suggests a similar field.
func (e *SyntaxError) Hint() string {
	if e.Similar != "" {
		return "did you mean " + e.Similar + "?"
	}
	return ""
}

// parser reads one file.
type parser struct {
	file  string
	lines []string
	// open returns the text of a file that the file names.
	open func(path string) (string, error)
	out  []*Patch
}

// maxPatches is the number of patches that a file may have: the time of each grows with what the others have
// added to the same object.
const maxPatches = 5000

func (f File) parse(open func(path string) (string, error)) ([]*Patch, error) {
	if strings.HasPrefix(f.Text, "\xfe\xff") || strings.HasPrefix(f.Text, "\xff\xfe") {
		return nil, &SyntaxError{File: f.Name, Text: "the text is UTF-16: save it as UTF-8"}
	}
	p := &parser{file: f.Name, lines: strings.Split(f.Text, "\n"), open: open}
	for _, doc := range documents(f.Text) {
		if err := p.document(doc); err != nil {
			return nil, err
		}
	}
	switch n := len(p.out); {
	case n == 0:
		return nil, &SyntaxError{File: f.Name, Text: "has no patches"}
	case n > maxPatches:
		return nil, &SyntaxError{File: f.Name, Text: fmt.Sprintf("has %d patches, and may have %d", n, maxPatches)}
	}
	return p.out, nil
}

// document is a document of a file. Its text has an empty line for each line before it, so that lines
// in it are those of the file.
type document struct {
	text        string
	first, last int
}

func documents(text string) []document {
	var out []document
	line, from := 1, 0
	for _, doc := range manifest.Split(text) {
		at := from + strings.Index(text[from:], doc)
		line += strings.Count(text[from:at], "\n")
		n := strings.Count(strings.TrimRight(doc, "\n"), "\n")
		out = append(out, document{strings.Repeat("\n", line-1) + doc, line, line + n})
		line, from = line+strings.Count(doc, "\n"), at+len(doc)
	}
	return out
}

func (p *parser) errorf(line int, format string, args ...any) error {
	return &SyntaxError{File: p.file, Line: line, Text: fmt.Sprintf(format, args...)}
}

// decode decodes a text of the file.
func (p *parser) decode(doc document) (any, error) {
	v, err := manifest.Decode("", doc.text)
	if syntax, ok := err.(*manifest.SyntaxError); ok {
		return nil, &SyntaxError{File: p.file, Line: syntax.Line, Text: syntax.Problem}
	}
	return v, err
}

// document reads one document of the file.
func (p *parser) document(doc document) error {
	v, err := p.decode(doc)
	if err != nil {
		return err
	}
	root := yaml.Target(yaml.RootLines([]byte(doc.text)))
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		if len(v) > 0 && isOperation(v[0]) {
			return p.errorf(doc.first, "is a JSON 6902 patch without a target: put it into the field patch of a list of "+
				"patches, with a target beside it")
		}
		return p.entries(doc, root, v, "patches")
	case map[string]any:
		if isKustomization(v) {
			return p.kustomization(doc, root, v)
		}
		return p.body(doc, entry{line: doc.first, source: span{p.lines, doc.first, doc.last}})
	}
	return p.errorf(doc.first, "is %v, and must be a patch or a list of patches", v)
}

// The fields of a kustomization that have patches.
const (
	fieldPatches   = "patches"
	fieldStrategic = "patchesStrategicMerge"
	fieldJSON      = "patchesJson6902"
)

func isKustomization(v map[string]any) bool {
	version, _ := v["apiVersion"].(string)
	if strings.HasPrefix(version, "kustomize.config.k8s.io/") {
		return true
	}
	return v["kind"] == nil && (v[fieldPatches] != nil || v[fieldStrategic] != nil || v[fieldJSON] != nil)
}

// kustomization reads the patches of a kustomization.
func (p *parser) kustomization(doc document, root *yaml.Node, v map[string]any) error {
	fields := []string{fieldPatches, fieldStrategic, fieldJSON}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if key == "apiVersion" || key == "kind" || key == "metadata" || slices.Contains(fields, key) {
			continue
		}
		return &SyntaxError{File: p.file, Line: lineOf(root, key, doc.first), Similar: first(suggest.Nearest(fields, key)),
			Text: fmt.Sprintf("has %s; of a kustomization only %s are read here", key, strings.Join(fields, ", "))}
	}
	for _, key := range []string{fieldStrategic, fieldPatches, fieldJSON} { // the order of kustomize
		if v[key] == nil {
			continue
		}
		list, ok := v[key].([]any)
		if !ok {
			return p.errorf(lineOf(root, key, doc.first), "%s must be a list", key)
		}
		if err := p.entries(doc, yaml.Target(yaml.Value(root, key)), list, key); err != nil {
			return err
		}
	}
	return nil
}

// entry is an entry of a list of patches.
type entry struct {
	line   int
	source span
	target *target // nil if the patch names its target
	rename rename
}

// rename is the options of an entry.
type rename struct{ name, kind bool }

// entries reads a list of patches. field is the kustomization's field that it is.
func (p *parser) entries(doc document, list *yaml.Node, items []any, field string) error {
	for i, item := range items {
		e := entry{line: doc.first}
		if list != nil && i < len(list.Content) {
			e.line = list.Content[i].Line
		}
		e.source = span{p.lines, e.line, doc.last}
		if list != nil && i+1 < len(list.Content) {
			e.source.last = max(list.Content[i+1].Line-1, e.line)
		}
		var node *yaml.Node
		if list != nil && i < len(list.Content) {
			node = yaml.Target(list.Content[i])
		}
		if err := p.entry(e, node, item, field); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) entry(e entry, node *yaml.Node, item any, field string) error {
	if text, ok := item.(string); ok && field == fieldStrategic {
		if strings.Contains(text, "\n") {
			return p.inline(e, node, text)
		}
		return p.named(e, text)
	}
	m, ok := item.(map[string]any)
	if !ok {
		return p.errorf(e.line, "%s must have maps with patch or path", field)
	}
	if err := p.known(e.line, node, "an entry of "+field, m, "patch", "path", "target", "options"); err != nil {
		return err
	}
	var err error
	if e.target, err = p.target(e.line, yaml.Target(yaml.Value(node, "target")), m["target"]); err != nil {
		return err
	}
	if e.rename, err = p.options(e.line, node, m["options"]); err != nil {
		return err
	}
	text, inline := m["patch"].(string)
	file, named := m["path"].(string)
	switch {
	case m["patch"] != nil && m["path"] != nil:
		return p.errorf(e.line, "has both patch and path")
	case inline:
		return p.inline(e, yaml.Value(node, "patch"), text)
	case named:
		return p.named(e, file)
	case m["patch"] != nil:
		return p.errorf(e.line, "has a patch that is not a string: write it below \"patch: |-\"")
	case m["path"] != nil:
		return p.errorf(e.line, "has a path that is not a string")
	}
	return p.errorf(e.line, "has neither patch nor path")
}

// blockScalar matches the line of a key whose value is a block scalar.
var blockScalar = lazy.Regexp(`[|>][-+0-9]*\s*(#.*)?$`)

// inline reads the patches in a string of the file.
func (p *parser) inline(e entry, node *yaml.Node, text string) error {
	first := e.line
	if node != nil && node.Line > 0 {
		first = node.Line
	}
	if first <= len(p.lines) && blockScalar().MatchString(p.lines[first-1]) { // it begins below its key
		first++
	}
	docs := documents(text)
	for i := range docs {
		docs[i].text = strings.Repeat("\n", first-1) + docs[i].text
		docs[i].first, docs[i].last = docs[i].first+first-1, docs[i].last+first-1
	}
	return p.bodies(e, docs)
}

// named reads the patches of a file that the entry names.
func (p *parser) named(e entry, name string) error {
	text, err := p.open(name)
	if err != nil {
		return &SyntaxError{File: p.file, Line: e.line, Err: err}
	}
	other := &parser{file: path.Join(path.Dir(p.file), name), lines: strings.Split(text, "\n")}
	if strings.Contains(p.file, "://") {
		other.file = p.file[:strings.LastIndexByte(p.file, '/')+1] + name
	}
	docs := documents(text)
	e.line, e.source = 1, span{other.lines, 1, len(other.lines)}
	if err := other.bodies(e, docs); err != nil {
		return err
	}
	p.out = append(p.out, other.out...)
	return nil
}

// bodies reads the patches of an entry.
func (p *parser) bodies(e entry, docs []document) error {
	before := len(p.out)
	for _, doc := range docs {
		if e.target == nil && len(docs) > 1 {
			e.line, e.source = doc.first, span{p.lines, doc.first, doc.last}
		}
		if err := p.body(doc, e); err != nil {
			return err
		}
	}
	switch n := len(p.out) - before; {
	case n == 0:
		return p.errorf(e.line, "has an empty patch")
	case n > 1 && e.target != nil:
		return p.errorf(e.line, "has %d patches for one target: make an entry of each", n)
	}
	return nil
}

// body reads one patch.
func (p *parser) body(doc document, e entry) error {
	v, err := p.decode(doc)
	if err != nil || v == nil {
		return err
	}
	out := &Patch{File: p.file, Line: e.line, source: e.source}
	switch v := v.(type) {
	case []any:
		if e.target == nil {
			return p.errorf(e.line, "has a JSON 6902 patch without a target")
		}
		if out.operations, err = p.operations(doc, v); err != nil {
			return err
		}
	case map[string]any:
		if isOperation(v) {
			return p.errorf(doc.first, "is one operation of a JSON 6902 patch, which must be a list of them")
		}
		if err := p.strategic(out, doc, e, v); err != nil {
			return err
		}
	default:
		return p.errorf(doc.first, "is %v, and must be a strategic merge patch (a map) or a JSON 6902 patch (a list)", v)
	}
	if e.target != nil {
		out.target = *e.target
	}
	p.out = append(p.out, out)
	return nil
}

// strategic sets a strategic merge patch. What identifies the object is not merged, it is the target if
// there is no other.
func (p *parser) strategic(out *Patch, doc document, e entry, v map[string]any) error {
	version, _ := v["apiVersion"].(string)
	kind, _ := v["kind"].(string)
	meta, isMap := v["metadata"].(map[string]any)
	if v["metadata"] != nil && !isMap {
		return p.errorf(doc.first, "has metadata that is not a map")
	}
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	if e.target == nil {
		if version == "" || kind == "" || name == "" {
			return p.errorf(doc.first, "is a patch without a target: it needs apiVersion, kind and metadata.name, or a target "+
				"beside it")
		}
		out.target = target{exact: &identity{version, kind, namespace, name}}
	}
	if e.rename.name {
		out.name = name
	}
	if e.rename.kind {
		out.kind = kind
	}
	out.strategic = maps.Clone(v)
	delete(out.strategic, "apiVersion")
	delete(out.strategic, "kind")
	if meta != nil {
		meta = maps.Clone(meta)
		delete(meta, "name")
		delete(meta, "namespace")
		out.strategic["metadata"] = meta
		if len(meta) == 0 {
			delete(out.strategic, "metadata")
		}
	}
	return nil
}

// options reads the options of an entry.
func (p *parser) options(line int, node *yaml.Node, v any) (rename, error) {
	m, ok := v.(map[string]any)
	if v != nil && !ok {
		return rename{}, p.errorf(line, "has options that are not a map")
	}
	if err := p.known(line, yaml.Target(yaml.Value(node, "options")), "options", m, "allowNameChange",
		"allowKindChange"); err != nil {
		return rename{}, err
	}
	var r rename
	for key, to := range map[string]*bool{"allowNameChange": &r.name, "allowKindChange": &r.kind} {
		if *to, ok = m[key].(bool); m[key] != nil && !ok {
			return r, p.errorf(line, "has the option %s, which must be true or false", key)
		}
	}
	return r, nil
}

// known returns an error if m has a key that is not one of names.
func (p *parser) known(line int, node *yaml.Node, what string, m map[string]any, names ...string) error {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(names, key) {
			return &SyntaxError{File: p.file, Line: lineOf(node, key, line), Similar: first(suggest.Nearest(names, key)),
				Text: fmt.Sprintf("%s has no field %s; its fields are %s", what, key, strings.Join(names, ", "))}
		}
	}
	return nil
}

// lineOf returns the line of a key, or otherwise if it is not known.
func lineOf(node *yaml.Node, key string, otherwise int) int {
	if i := yaml.Find(node, key, nil); i >= 0 {
		return node.Content[i].Line
	}
	return otherwise
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// checkPath returns an error for a path that leaves the directory of the file that has it.
func checkPath(name string) error {
	clean := path.Clean(name)
	if name == "" || path.IsAbs(name) || strings.Contains(name, `\`) || strings.Contains(name, "://") || clean == ".." ||
		strings.HasPrefix(clean, "../") {
		return fmt.Errorf("the path %q must be that of a file in the directory of the patches, or below it", name)
	}
	return nil
}
