// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"text/template/parse"
)

// source is the text of a template: a file of a chart, or text passed to tpl.
type source struct {
	// file is the template's path from the root chart, or "" for tpl.
	file  string
	chart string
	text  string
}

// definition is a named template: a whole file, or a define in one.
type definition struct {
	name string
	root *parse.ListNode
	src  *source
}

func (d *definition) empty() bool { return parse.IsEmptyTree(d.root) }

// templateSet maps names to definitions. The set of a call of tpl is on top of the caller's
// set.
type templateSet struct {
	under *templateSet
	defs  map[string]*definition
}

func (s *templateSet) find(name string) *definition {
	for ; s != nil; s = s.under {
		if d, ok := s.defs[name]; ok {
			return d
		}
	}
	return nil
}

// add adds d to the set. As in text/template, a later definition replaces an earlier one unless
// only the later one is empty.
func (s *templateSet) add(d *definition) {
	if old, ok := s.defs[d.name]; ok && d.empty() && !old.empty() {
		return
	}
	s.defs[d.name] = d
}

// names returns the names of all templates of the set and the sets below it, except files.
func (s *templateSet) names() []string {
	var out []string
	for ; s != nil; s = s.under {
		for name, d := range s.defs {
			if name != d.src.file {
				out = append(out, name)
			}
		}
	}
	return out
}

// parsed has the bodies of one text by name. The text itself is under mainName.
type parsed struct {
	trees map[string]*parse.ListNode
	err   error
	// code is the size of its code; see measure.
	code int64
	// writes is set if the text calls a function that modifies a map.
	writes bool
}

// mainName is a name that no template defines by accident.
const mainName = "\x00"

func parseText(text string, known map[string]any, a *arena) *parsed {
	p := &parsed{}
	var ok bool
	if p.trees, ok = quickParse(text, known, a); !ok {
		if p.trees, p.err = slowParse(text, known); p.err != nil {
			return p
		}
	}
	if mayWrite(text) {
		for _, body := range p.trees {
			p.writes = p.writes || writes(body)
		}
	}
	return p
}

// slowParse is Go's own parser.
func slowParse(text string, known map[string]any) (map[string]*parse.ListNode, error) {
	set := map[string]*parse.Tree{}
	if _, err := parse.New(mainName).Parse(text, "", "", set, known); err != nil {
		return nil, err
	}
	trees := make(map[string]*parse.ListNode, len(set))
	for name, t := range set {
		trees[name] = t.Root
	}
	return trees, nil
}

// mayWrite is a fast check that precedes writes.
func mayWrite(text string) bool {
	return strings.Contains(text, "set") || strings.Contains(text, "erge")
}

// writes reports whether the node calls a function that changes a map in place.
func writes(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, c := range n.Nodes {
				if writes(c) {
					return true
				}
			}
		}
	case *parse.ActionNode:
		return writes(n.Pipe)
	case *parse.PipeNode:
		if n != nil {
			for _, c := range n.Cmds {
				for _, a := range c.Args {
					if writes(a) {
						return true
					}
				}
			}
		}
	case *parse.IdentifierNode:
		switch n.Ident {
		case "set", "unset", "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite":
			return true
		}
	case *parse.ChainNode:
		return writes(n.Node)
	case *parse.IfNode:
		return writes(n.Pipe) || writes(n.List) || writes(n.ElseList)
	case *parse.WithNode:
		return writes(n.Pipe) || writes(n.List) || writes(n.ElseList)
	case *parse.RangeNode:
		return writes(n.Pipe) || writes(n.List) || writes(n.ElseList)
	case *parse.TemplateNode:
		return writes(n.Pipe)
	}
	return false
}

// place is a position in a source, with 1-based line and column.
type place struct{ line, column int }

func (s *source) place(pos int) place {
	pos = min(max(pos, 0), len(s.text))
	before := s.text[:pos]
	nl := strings.LastIndexByte(before, '\n')
	return place{line: strings.Count(before, "\n") + 1, column: len([]rune(before[nl+1:])) + 1}
}

// start returns the offset of a node's text. The parser sets the position of a field path to
// the end of its first name.
func (s *source) start(n parse.Node) int {
	pos := int(n.Position())
	first := ""
	switch n := n.(type) {
	case *parse.FieldNode:
		if len(n.Ident) > 1 {
			first = "." + n.Ident[0]
		}
	case *parse.VariableNode:
		if len(n.Ident) > 1 {
			first = n.Ident[0]
		}
	case *parse.TemplateNode:
		if i := strings.LastIndex(s.text[:min(pos, len(s.text))], "template"); i >= 0 {
			return i
		}
	}
	if first != "" && strings.HasSuffix(s.text[:min(pos, len(s.text))], first) {
		return pos - len(first)
	}
	return pos
}
