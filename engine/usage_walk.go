// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math"
	"text/template/parse"
)

// usageFrame is a template that is being followed.
type usageFrame struct {
	*usageFinder
	def  *definition
	set  *templateSet
	vars []usageVariable
}

type usageVariable struct {
	name  string
	value *abstract
}

// call follows a definition with dot. It returns nothing: what a template prints is text.
func (u *usageFinder) call(def *definition, set *templateSet, dot *abstract) {
	if def.root == nil || !u.step() {
		return
	}
	if u.depth > maxUsageDepth {
		u.use(dot)
		return
	}
	key := fmt.Sprintf("%p %s", def.root, dot.signature(0))
	if u.known[key] || u.running[key] {
		return
	}
	u.running[key] = true
	u.depth++
	start, written := u.nextID(), u.written
	u.written = math.MaxInt
	f := &usageFrame{usageFinder: u, def: def, set: set, vars: []usageVariable{{"$", dot}}}
	f.list(dot, def.root)
	u.depth--
	delete(u.running, key)
	if u.written > start { // otherwise it has changed its argument, and the next call has another one
		u.known[key] = true
	}
	u.written = min(u.written, written)
}

func (f *usageFrame) list(dot *abstract, l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		if !f.step() {
			return
		}
		f.walk(dot, n)
	}
}

func (f *usageFrame) walk(dot *abstract, n parse.Node) {
	switch n := n.(type) {
	case *parse.ActionNode:
		if v := f.pipeline(dot, n.Pipe); len(n.Pipe.Decl) == 0 {
			f.use(v)
		}
	case *parse.IfNode:
		f.branches(dot, n.Pipe, n.List, n.ElseList, false)
	case *parse.WithNode:
		f.branches(dot, n.Pipe, n.List, n.ElseList, true)
	case *parse.RangeNode:
		f.loop(dot, n)
	case *parse.TemplateNode:
		f.include(&abstract{texts: []string{n.Name}}, f.pipeline(dot, n.Pipe))
	case *parse.ListNode:
		f.list(dot, n)
	}
}

// branches follows both branches.
func (f *usageFrame) branches(dot *abstract, p *parse.PipeNode, list, other *parse.ListNode, with bool) {
	mark := len(f.vars)
	v, inner := f.pipeline(dot, p), dot
	if with {
		inner = v
	}
	f.list(inner, list)
	f.vars = f.vars[:min(mark+len(p.Decl), len(f.vars))]
	f.list(dot, other)
	f.vars = f.vars[:mark]
}

// loop follows the body of a range twice, because one iteration may use what another has set.
func (f *usageFrame) loop(dot *abstract, n *parse.RangeNode) {
	mark := len(f.vars)
	pipe := *n.Pipe
	pipe.Decl = nil
	v := f.pipeline(dot, &pipe)
	item := f.elements(v)
	for range 2 {
		f.vars = f.vars[:mark]
		for i, d := range n.Pipe.Decl {
			value := item
			if i == 0 && len(n.Pipe.Decl) > 1 {
				value = keysOf(v)
			}
			if n.Pipe.IsAssign {
				f.assign(d.Ident[0], value)
			} else {
				f.vars = append(f.vars, usageVariable{d.Ident[0], value})
			}
		}
		f.list(item, n.List)
	}
	f.vars = f.vars[:mark]
	f.list(dot, n.ElseList)
}

// keysOf returns the keys of a table, if all of them are known.
func keysOf(a *abstract) *abstract {
	if a == nil || len(a.nodes) > 0 || a.items != nil || len(a.tables) != 1 {
		return nil
	}
	t := a.tables[0]
	if t.other != nil || t.merged != nil || len(t.entries) > maxAlternatives {
		return nil
	}
	return &abstract{texts: t.keys()}
}

// assign adds v to what a variable may be: the assignment may be in a branch.
func (f *usageFrame) assign(name string, v *abstract) {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name {
			f.vars[i].value = union(f.vars[i].value, v)
			return
		}
	}
}

func (f *usageFrame) variable(name string) *abstract {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name {
			return f.vars[i].value
		}
	}
	return nil
}

func (f *usageFrame) pipeline(dot *abstract, p *parse.PipeNode) *abstract {
	if p == nil {
		return nil
	}
	var last *abstract
	for i, cmd := range p.Cmds {
		last = f.command(dot, cmd, last, i > 0)
	}
	for _, d := range p.Decl {
		if p.IsAssign {
			f.assign(d.Ident[0], last)
		} else {
			f.vars = append(f.vars, usageVariable{d.Ident[0], last})
		}
	}
	return last
}

// command returns the result of a command. If piped is set, last is its last argument.
func (f *usageFrame) command(dot *abstract, cmd *parse.CommandNode, last *abstract, piped bool) *abstract {
	args := make([]*abstract, 0, len(cmd.Args))
	for _, a := range cmd.Args[1:] {
		args = append(args, f.operand(dot, a))
	}
	if piped {
		args = append(args, last)
	}
	if n, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		return f.function(n.Ident, args)
	}
	for _, a := range args { // of a method
		f.use(a)
	}
	return f.operand(dot, cmd.Args[0])
}

func (f *usageFrame) operand(dot *abstract, n parse.Node) *abstract {
	if !f.step() {
		return nil
	}
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return f.path(dot, n, n.Ident)
	case *parse.VariableNode:
		return f.path(f.variable(n.Ident[0]), n, n.Ident[1:])
	case *parse.ChainNode:
		return f.path(f.operand(dot, n.Node), n, n.Field)
	case *parse.PipeNode:
		return f.pipeline(dot, n)
	case *parse.IdentifierNode:
		return f.function(n.Ident, nil)
	case *parse.StringNode:
		return &abstract{texts: []string{n.Text}}
	}
	return nil
}

// path returns the value of idents, one in the other, and remembers its place.
func (f *usageFrame) path(v *abstract, n parse.Node, idents []string) *abstract {
	for _, name := range idents {
		v = f.key(v, name)
		f.locate(v, n)
	}
	return v
}

// locate sets the place of the values that v may be, unless they have one.
func (f *usageFrame) locate(v *abstract, n parse.Node) {
	if v == nil || f.def.src.file == "" {
		return
	}
	for _, node := range v.nodes {
		if node.Line == 0 {
			node.File, node.Line = f.def.src.file, f.def.src.place(f.def.src.start(n)).line
		}
	}
}

// include follows the templates that have one of the names, or all of them if it has none.
func (f *usageFrame) include(name, dot *abstract) {
	names := []string{}
	if name != nil {
		names = name.texts
	}
	if len(names) == 0 {
		f.use(name)
		names = f.names(f.set)
	}
	for _, name := range names {
		if def := f.set.find(name); def != nil {
			f.call(def, f.set, dot)
		}
	}
}

// printed returns the text that print and printf make of texts, or nil if it is not known.
func printed(args []*abstract, format bool) *abstract {
	texts := make([]any, len(args))
	for i, a := range args {
		if a == nil || len(a.texts) != 1 || len(a.nodes)+len(a.tables) > 0 || a.items != nil {
			return nil
		}
		texts[i] = a.texts[0]
	}
	switch {
	case len(texts) == 0:
		return nil
	case format:
		return &abstract{texts: []string{clipped(fmt.Sprintf(texts[0].(string), texts[1:]...))}}
	}
	return &abstract{texts: []string{clipped(fmt.Sprint(texts...))}}
}

// clipped bounds a text that is made again and again out of itself.
func clipped(text string) string { return text[:min(len(text), 1000)] }
