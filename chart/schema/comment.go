// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"strings"

	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// comment is the result of parsing the comments about a key.
type comment struct {
	description string
	types       []string // in addition to the value's own
	schema      *note    // nil if there are no annotations
}

// comments are the comments of a values file that are not directly above their key.
type comments struct {
	byPath map[string]comment // "## @param path ..." and "# path -- ..."
	below  map[int][]line     // annotations below a value, by the line of its key
	top    []line             // @schema.root
	used   map[int]bool       // lines of annotations that belong to a key
}

// line is a line of a comment, without indentation. Its number is 1-based.
type line struct {
	number int
	text   string
}

// words returns the comment's text without its number signs.
func (l line) words() string { return strings.TrimSpace(strings.TrimLeft(l.text, "#")) }

// isMark reports whether the line has the marker of an annotation.
func (l line) isMark(mark string) bool {
	rest, ok := strings.CutPrefix(l.words(), mark)
	return ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

// The comments of bitnami's readme-generator ("## @param a.b [array] Text") and of helm-docs
// ("# a.b -- Text", "# -- (int) Text").
var (
	paramLine = lazy.Regexp(`^@(?:param|extra|skip)\s+(\S+)\s*(?:\[([^\]]*)\])?\s*(.*)$`)
	pathLine  = lazy.Regexp(`^(\S+)\s+--(?:\s+(.*))?$`)
	docsType  = lazy.Regexp(`^\(([^()]+)\)\s*(.*)$`)
	yamlLine  = lazy.Regexp(`^(?:- .*|-|\{.*\}|\[.*\]|["']?[A-Za-z0-9_./-]+["']?:(?: .*)?)$`)
	proseLine = lazy.Regexp(`(?i)^(?:note|notes|ref|see|warning|important|e\.g\.?|default|defaults|` +
		`example|examples|deprecated|options|supported|required|optional|https?):`)
	pragmaLine = lazy.Regexp(`(?i)^(?:yamllint |yaml-language-server:|vim?:|checkov:|kics-scan |nosemgrep|` +
		`spdx-license-identifier|copyright |default values for |this is a yaml-formatted file|` +
		`declare (?:variables|name/value pairs) to be passed |prettier-ignore|renovate:|ct:)`)
)

// readComments returns the comments that are not directly above their key.
func readComments(s *source) comments {
	c := comments{byPath: map[string]comment{}, below: map[int][]line{}, used: map[int]bool{}}
	for i := 0; i < len(s.lines); i++ {
		if !isComment(s.lines[i]) {
			continue
		}
		var group []line
		for ; i < len(s.lines) && isComment(s.lines[i]); i++ {
			group = append(group, line{i + 1, strings.TrimSpace(s.lines[i])})
		}
		c.paths(group)
		c.marks(s, group)
	}
	return c
}

func isComment(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "#") }

// paths parses the comments that have the path of their key.
func (c *comments) paths(group []line) {
	for i, l := range group {
		w := l.words()
		if m := paramLine().FindStringSubmatch(w); m != nil {
			if _, again := c.byPath[m[1]]; !again {
				c.byPath[m[1]] = comment{description: strings.TrimSpace(m[3]), types: modifiers(m[2])}
			}
			continue
		}
		if m := pathLine().FindStringSubmatch(w); m != nil && m[1] != "@default" {
			c.byPath[m[1]] = helmDocs(m[2], group[i+1:])
		}
	}
}

// modifiers returns the types in the brackets of a @param.
func modifiers(list string) []string {
	var types []string
	for m := range strings.SplitSeq(list, ",") {
		switch m = strings.TrimSpace(m); m {
		case "array", "object", "string":
			types = append(types, m)
		case "nullable":
			types = append(types, "null")
		}
	}
	return types
}

// helmDocs parses a description of helm-docs, which continues on the following lines.
func helmDocs(first string, rest []line) comment {
	var c comment
	if m := docsType().FindStringSubmatch(first); m != nil {
		if k := docsKind(m[1]); k != "" {
			c.types, first = []string{k}, m[2]
		} else if !strings.Contains(m[1], " ") {
			first = m[2]
		}
	}
	parts, sep := []string{}, " "
	if first != "" {
		parts = append(parts, first)
	}
	for _, l := range rest {
		w := l.words()
		switch {
		case w == "@raw":
			sep = "\n"
			continue
		case strings.HasPrefix(w, "@"):
			continue
		case strings.HasPrefix(l.text, "##"), w == "--", strings.HasPrefix(w, "-- "), pathLine().MatchString(w):
			c.description = strings.TrimSpace(strings.Join(parts, sep))
			return c
		}
		if sep == "\n" {
			w = strings.TrimPrefix(strings.TrimPrefix(l.text, "#"), " ")
		}
		if w != "" {
			parts = append(parts, w)
		}
	}
	c.description = strings.TrimSpace(strings.Join(parts, sep))
	return c
}

// docsKind returns the JSON type for a type name of helm-docs, or "" if the name is only
// documentation.
func docsKind(name string) string {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "int", "integer":
		return "integer"
	case "float", "number":
		return "number"
	case "bool", "boolean":
		return "boolean"
	case "string":
		return "string"
	case "list", "array":
		return "array"
	case "object", "dict", "map":
		return "object"
	}
	return ""
}

// marks adds the annotations of a group that are below their value or apply to the whole
// file.
func (c *comments) marks(s *source, group []line) {
	inRoot := false
	for _, l := range group {
		switch {
		case l.isMark(annotationRoot) && s.comments[l.text]:
			c.top = append(c.top, l)
			c.used[l.number] = true
			if l.words() == annotationRoot {
				inRoot = !inRoot
			}
		case inRoot:
			c.top = append(c.top, l)
			c.used[l.number] = true
		}
	}
	after := group[len(group)-1].number // the index of the next line
	if after < len(s.lines) && strings.TrimSpace(s.lines[after]) != "" &&
		indent(s.lines[after]) >= indent(s.lines[group[0].number-1]) {
		return
	}
	owner := s.keyAbove(group[0].number-1, indent(s.lines[group[0].number-1]))
	for _, l := range group {
		if owner > 0 && l.isMark(annotation) && l.words() != annotation && s.comments[l.text] {
			c.below[owner] = append(c.below[owner], l)
		}
	}
}

// keyAbove returns the line of the key that is indented by column and whose value ends on the
// line before index, or 0 if there is none.
func (s *source) keyAbove(index, column int) int {
	for i := index - 1; i >= 0; i-- {
		text := s.lines[i]
		switch in := indent(text); {
		case strings.TrimSpace(text) == "" && i == index-1:
			return 0
		case strings.TrimSpace(text) == "", isComment(text), in > column:
		case in == column && !strings.HasPrefix(text[in:], "-"):
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

func indent(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// isFirstOnLine reports whether a key is the first on its line. Other keys cannot have
// comments.
func (s *source) isFirstOnLine(key *yaml.Node) bool {
	return key != nil && key.Line >= 1 && key.Line <= len(s.lines) && indent(s.lines[key.Line-1]) == key.Column-1
}

// above returns the comment lines directly above a key.
func (s *source) above(key *yaml.Node) []line {
	at := key.Line - 1
	first := at
	for first > 0 && isComment(s.lines[first-1]) && indent(s.lines[first-1]) < key.Column {
		first--
	}
	var out []line
	for i := first; i < at; i++ {
		out = append(out, line{i + 1, strings.TrimSpace(s.lines[i])})
	}
	return out
}

// commentOf returns the comment about a key.
func (c *comments) commentOf(s *source, e entry, path string) (comment, error) {
	var out comment
	if s.isFirstOnLine(e.key) {
		lines := s.above(e.key)
		var marks []line
		marks, lines = c.split(lines)
		marks = append(marks, c.below[e.key.Line]...)
		marks = append(marks, s.beside(e.key.Line)...)
		for _, l := range marks {
			c.used[l.number] = true
		}
		var err error
		if out.schema, err = readNote(s.name, path, annotation, marks); err != nil {
			return out, err
		}
		described := describe(lines)
		out.description, out.types = described.description, described.types
	}
	if named, ok := c.byPath[path]; ok {
		out.types = append(out.types, named.types...)
		if named.description != "" {
			out.description = named.description
		}
	}
	return out, nil
}

// split separates the annotations of a key from the rest of its comment. It removes
// annotations of the whole file.
func (c *comments) split(lines []line) (marks, rest []line) {
	open := false
	for _, l := range lines {
		switch {
		case l.isMark(annotationRoot), !open && c.used[l.number] && !l.isMark(annotation):
		case l.isMark(annotation):
			marks = append(marks, l)
			if l.words() == annotation {
				open = !open
			}
		case open:
			marks = append(marks, l)
		default:
			rest = append(rest, l)
		}
	}
	return marks, rest
}

// beside returns the annotation after a value on its line, if there is one.
func (s *source) beside(number int) []line {
	text := s.lines[number-1]
	start := strings.Index(text, annotation)
	if start < 0 {
		return nil
	}
	before := strings.TrimRight(text[:start], " \t")
	from := len(strings.TrimRight(before, "#"))
	l := line{number, strings.TrimSpace(text[from:])}
	if from == 0 || from == len(before) || !l.isMark(annotation) || l.words() == annotation || !s.comments[l.text] {
		return nil
	}
	return []line{l}
}

// describe parses the description in the lines above a key.
func describe(lines []line) comment {
	for i := len(lines) - 1; i >= 0; i-- {
		w := lines[i].words()
		if rest, ok := strings.CutPrefix(w, "--"); ok && (rest == "" || rest[0] == ' ') &&
			!strings.HasPrefix(lines[i].text, "##") {
			return helmDocs(strings.TrimSpace(rest), lines[i+1:])
		}
	}
	var kept []string
	for _, l := range lines {
		w := strings.TrimRight(strings.TrimPrefix(strings.TrimLeft(l.text, "#"), " "), " \t")
		tag := strings.TrimSpace(w)
		if strings.HasPrefix(tag, "@") || pragmaLine().MatchString(tag) {
			continue
		}
		if tag != "" && strings.Trim(tag, "-=*~#_+ ") == "" {
			w = "" // a horizontal rule
		}
		if w == "" && (len(kept) == 0 || kept[len(kept)-1] == "") {
			continue
		}
		kept = append(kept, strings.ReplaceAll(w, "\t", "  "))
	}
	if isExample(kept) {
		return comment{}
	}
	return comment{description: strings.TrimSpace(strings.Join(kept, "\n"))}
}

// isExample reports whether a comment is YAML that is commented out, most often an example
// for the key above.
func isExample(lines []string) bool {
	for _, l := range lines {
		l = strings.TrimSpace(l)
		if l != "" && (!yamlLine().MatchString(l) || proseLine().MatchString(l)) {
			return false
		}
	}
	return len(lines) > 0
}
