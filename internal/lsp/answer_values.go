// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// yamlKey matches a line of a values file that begins with a key.
var yamlKey = lazy.Regexp(`^([ ]*)((?:- +)*)("[^"]*"|'[^']*'|[^\s:#'"\-][^:#]*?)\s*:(\s|$)`)

// keyHere is the key of a line of a values file, and those above it.
type keyHere struct {
	path   []string // with the key of the line, if it has one
	parent []string // of the line
	key    string   // "" if the line has none yet
	start  int      // column of the key, in bytes
	value  int      // column of the value, or -1
}

// keyAt returns the keys at a line of a values file, by the indentation: the text may not be valid
// YAML while it is written.
func keyAt(t *text, line int) keyHere {
	current := t.line(line)
	indent := len(current) - len(strings.TrimLeft(current, " "))
	here := keyHere{start: indent, value: -1}
	if m := yamlKey().FindStringSubmatchIndex(current); m != nil {
		here.key, here.start = strings.Trim(current[m[6]:m[7]], `"'`), m[6]
		here.value = m[8] + 1
		indent = m[6]
	} else if rest := strings.TrimLeft(current, " "); strings.HasPrefix(rest, "- ") {
		indent += len(rest) - len(strings.TrimLeft(rest[1:], " "))
		here.start = indent
	}
	inList := strings.HasPrefix(strings.TrimLeft(current, " "), "- ")
	if inList {
		here.parent = append(here.parent, each)
		indent = len(current) - len(strings.TrimLeft(current, " ")) + 1
	}
	for i := line - 1; i >= 0 && indent > 0; i-- {
		above := t.line(i)
		m := yamlKey().FindStringSubmatchIndex(above)
		if m != nil && m[6] == indent && m[4] < m[5] { // the first key of the item of the line
			here.parent = append(here.parent, each)
			indent = m[3] + 1
			continue
		}
		if m == nil || m[6] >= indent {
			continue
		}
		here.parent = append(here.parent, strings.Trim(above[m[6]:m[7]], `"'`))
		indent = m[6]
		if m[4] < m[5] { // "- key:"
			here.parent = append(here.parent, each)
			indent = m[2] + len(above[m[2]:m[3]]) + 1
		}
	}
	slices.Reverse(here.parent)
	here.path = here.parent
	if here.key != "" {
		here.path = append(slices.Clone(here.parent), here.key)
	}
	return here
}

// completeValues returns the keys or values that may be written in a values file.
func (p place) completeValues() []CompletionItem {
	pos := p.text.position(p.offset)
	here := keyAt(p.text, pos.Line)
	lineStart := p.text.lines[pos.Line]
	if here.value >= 0 && p.offset-lineStart >= here.value {
		return p.completeScalar(here, lineStart+here.value)
	}
	line := p.text.line(pos.Line)
	if strings.HasPrefix(strings.TrimLeft(line, " "), "#") || p.offset < lineStart+here.start {
		return nil
	}
	end := lineStart + here.start
	for end < lineStart+len(line) && isNameByte(p.text.data[end]) {
		end++
	}
	existing := p.keysBeside(here)
	var items []CompletionItem
	for _, key := range p.offered(here.parent) {
		if existing[key] && key != here.key {
			continue
		}
		keys := append(slices.Clone(here.parent), key)
		insert := key
		if here.value < 0 {
			insert += ": "
		}
		items = append(items, CompletionItem{Label: key, Kind: kindProperty, Detail: typeOf(p.valueAt(keys)),
			Documentation: markdown(p.describe(keys)), TextEdit: p.edit(lineStart+here.start, end, insert)})
	}
	return sortItems(items)
}

// keysBeside returns the keys that the map of a line has in the file.
func (p place) keysBeside(here keyHere) map[string]bool {
	out := map[string]bool{}
	node := yaml.Root([]byte(p.text.data))
	for _, key := range here.parent {
		if key == each || node == nil {
			return out
		}
		node = yaml.Target(yaml.Value(node, key))
	}
	if node == nil || node.Kind != yaml.MappingNode {
		return out
	}
	for i := 0; i < len(node.Content); i += 2 {
		out[node.Content[i].Value] = true
	}
	return out
}

// completeScalar returns the values that the schema allows.
func (p place) completeScalar(here keyHere, start int) []CompletionItem {
	s := p.valueAt(here.path).schema
	choices, _ := s["enum"].([]any)
	if s["type"] == "boolean" {
		choices = []any{true, false}
	}
	end := start
	for end < len(p.text.data) && p.text.data[end] != '\n' && p.text.data[end] != '\r' {
		end++
	}
	if i := strings.Index(p.text.data[start:end], " #"); i >= 0 {
		end = start + i
	}
	var items []CompletionItem
	for _, v := range choices {
		items = append(items, CompletionItem{Label: scalar(v), Kind: kindValue, TextEdit: p.edit(start, end, scalar(v))})
	}
	return items
}

// hoverValues describes a key of a values file, and says where it is used.
func (p place) hoverValues() *Hover {
	pos := p.text.position(p.offset)
	here := keyAt(p.text, pos.Line)
	if here.key == "" {
		return nil
	}
	text := p.describe(here.path)
	uses := p.uses(here.path)
	for i, u := range uses {
		if i == maxShownUses {
			text += fmt.Sprintf("\n\nand %d more", len(uses)-i)
			break
		}
		name := strings.TrimPrefix(strings.TrimPrefix(pathOf(u.URI), p.dir), "/")
		text += fmt.Sprintf("\n\nused in %s:%d", name, u.Range.Start.Line+1)
	}
	if text == "" {
		return nil
	}
	start := p.text.lines[pos.Line] + here.start
	r := p.text.rangeOf(start, start+len(here.key))
	return &Hover{Contents: markdown(strings.TrimPrefix(text, "\n\n")), Range: &r}
}

// maxShownUses is the number of places that a hover lists.
const maxShownUses = 8

// usesOfKey returns where templates use the key of a line of a values file.
func (p place) usesOfKey() []Location {
	here := keyAt(p.text, p.text.position(p.offset).Line)
	if here.key == "" {
		return nil
	}
	return p.uses(here.path)
}
