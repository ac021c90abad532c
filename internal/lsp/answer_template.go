// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"path"
	"slices"
	"strings"
)

// completeTemplate returns what may be written at a place of a template.
func (p place) completeTemplate() []CompletionItem {
	c, ok := before(p.text.data, p.offset)
	switch {
	case !ok:
		return nil
	case c.name:
		return p.completeNames(c)
	case c.word.kind == tokenChain:
		return p.completeChain(c)
	case c.word.kind == tokenWord:
		return p.completeWords(c.start, c.end)
	case c.word.kind == tokenOther:
		return p.completeWords(p.offset, p.offset)
	}
	return nil
}

// completeNames returns the names of templates.
func (p place) completeNames(c cursor) []CompletionItem {
	var items []CompletionItem
	seen := map[string]bool{}
	p.eachDefine(func(file string, d define) {
		if !seen[d.name] {
			seen[d.name] = true
			items = append(items, CompletionItem{Label: d.name, Kind: kindModule, Detail: file,
				Documentation: markdown(d.comment), TextEdit: p.edit(c.start, c.end, d.name)})
		}
	})
	return sortItems(items)
}

// completeChain returns the fields below the chain before a place.
func (p place) completeChain(c cursor) []CompletionItem {
	if !c.known {
		return nil
	}
	var items []CompletionItem
	if len(c.path) > 0 && c.path[0] == "Values" {
		for _, key := range p.offered(c.path[1:]) {
			keys := append(slices.Clone(c.path[1:]), key)
			v := p.valueAt(keys)
			if !isField(key) {
				continue
			}
			items = append(items, CompletionItem{Label: key, Kind: kindProperty, Detail: typeOf(v),
				Documentation: markdown(p.describe(keys)), TextEdit: p.edit(c.start, c.end, key)})
		}
		return sortItems(items)
	}
	for name, text := range objects[strings.Join(c.path, ".")] {
		items = append(items, CompletionItem{Label: name, Kind: kindField, Documentation: markdown(text),
			TextEdit: p.edit(c.start, c.end, name)})
	}
	return sortItems(items)
}

// isField reports whether a key can be written after a dot.
func isField(key string) bool {
	for i := range len(key) {
		if !isNameByte(key[i]) {
			return false
		}
	}
	return key != ""
}

// completeWords returns the functions and keywords.
func (p place) completeWords(start, end int) []CompletionItem {
	var items []CompletionItem
	for name, f := range functions() {
		items = append(items, CompletionItem{Label: name, Kind: kindFunction, Documentation: markdown(f.markdown(name)),
			TextEdit: p.edit(start, end, name)})
	}
	for name, text := range keywords {
		items = append(items, CompletionItem{Label: name, Kind: kindKeyword, Documentation: markdown(text),
			TextEdit: p.edit(start, end, name)})
	}
	return sortItems(items)
}

// hoverTemplate describes what is at a place of a template.
func (p place) hoverTemplate() *Hover {
	c, ok := before(p.text.data, p.offset)
	if !ok {
		return nil
	}
	text := ""
	switch {
	case c.name:
		text = p.describeDefine(unquoted(c.word.text))
	case c.word.kind == tokenWord:
		if f, ok := functions()[c.word.text]; ok {
			text = f.markdown(c.word.text)
		} else if k, ok := keywords[c.word.text]; ok {
			text = "**" + c.word.text + "**: " + k
		}
	case c.word.kind == tokenChain && len(c.whole) > 1 && c.whole[0] == "Values":
		text = p.describe(c.whole[1:])
	case c.word.kind == tokenChain && len(c.whole) > 0:
		text = objects[strings.Join(c.whole[:len(c.whole)-1], ".")][c.whole[len(c.whole)-1]]
	}
	if text == "" {
		return nil
	}
	r := p.text.rangeOf(c.start, c.end)
	return &Hover{Contents: markdown(text), Range: &r}
}

// describeDefine describes a named template.
func (p place) describeDefine(name string) string {
	text := ""
	p.eachDefine(func(file string, d define) {
		if d.name == name {
			text = "**" + name + "**, defined in " + file
			if d.comment != "" {
				text += "\n\n" + d.comment
			}
		}
	})
	return text
}

// defineTemplate returns where what is at a place of a template is defined.
func (p place) defineTemplate() []Location {
	c, ok := before(p.text.data, p.offset)
	switch {
	case !ok:
		return nil
	case c.name:
		return p.defined(unquoted(c.word.text))
	case c.word.kind == tokenChain && len(c.whole) > 1 && c.whole[0] == "Values":
		return p.definitions(c.whole[1:])
	case c.word.kind == tokenChain && len(c.whole) > 1 && c.whole[0] == "Chart":
		key := strings.ToLower(c.whole[1][:1]) + c.whole[1][1:]
		_, dir := p.chartOf(p.file)
		return p.keyLine(path.Join(dir, "Chart.yaml"), []string{key})
	}
	return nil
}

// referencesTemplate returns where what is at a place of a template is used.
func (p place) referencesTemplate() []Location {
	c, ok := before(p.text.data, p.offset)
	switch {
	case !ok:
		return nil
	case c.name:
		return append(p.defined(unquoted(c.word.text)), p.calls(unquoted(c.word.text))...)
	case c.word.kind == tokenChain && len(c.whole) > 1 && c.whole[0] == "Values":
		return append(p.definitions(c.whole[1:]), p.uses(c.whole[1:])...)
	}
	return nil
}
