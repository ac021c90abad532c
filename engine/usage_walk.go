// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/moonhelm/moonhelm/internal/truncate"
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
	if u.depth > maxUsageDepth || u.nested[def.root] >= maxUsageRecursion ||
		u.writers[def.root] >= maxUsageWriters {
		u.use(dot)
		return
	}
	key := fmt.Sprintf("%p %s", def.root, dot.signature())
	u.steps += len(key) / 64
	if u.known[key] || u.running[key] {
		return
	}
	u.running[key] = true
	u.nested[def.root]++
	u.depth++
	start, written := u.nextID(), u.written
	u.written = math.MaxInt
	f := &usageFrame{usageFinder: u, def: def, set: set, vars: []usageVariable{{"$", dot}}}
	f.list(dot, def.root)
	u.depth--
	u.nested[def.root]--
	delete(u.running, key)
	if u.written > start {
		u.known[key] = true
	} else { // it has changed its argument: the next call has another one
		u.writers[def.root]++
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

// maxRounds limits how often the body of a range is followed.
const maxRounds = 8

// loop follows the body of a range: once for each item if they are known, otherwise until an
// iteration sets nothing new that another one may use.
func (f *usageFrame) loop(dot *abstract, n *parse.RangeNode) {
	mark := len(f.vars)
	pipe := *n.Pipe
	pipe.Decl = nil
	v := f.pipeline(dot, &pipe)
	if items, keys, ok := listed(v); ok {
		for i, item := range items {
			f.iterate(n, keys[i], item, mark)
		}
		f.list(dot, n.ElseList)
		return
	}
	item := f.elements(v)
	var changed []*abstract
	for range maxRounds {
		before, stores := f.signatures(), f.stores
		if f.iterate(n, keysOf(v), item, mark); f.stores == stores {
			break
		}
		if changed = f.changes(before); len(changed) == 0 {
			break
		}
	}
	for _, v := range changed { // it goes on, such as along tables that are in each other
		f.use(v)
	}
	f.list(dot, n.ElseList)
}

// signatures returns those of the variables.
func (f *usageFrame) signatures() []string {
	out := make([]string, len(f.vars))
	for i, v := range f.vars {
		out[i] = v.value.signature()
		f.steps += len(out[i]) / 64
	}
	return out
}

// changes returns the values of variables whose signatures are not what they were.
func (f *usageFrame) changes(before []string) []*abstract {
	var out []*abstract
	for i, now := range f.signatures() {
		if now != before[i] {
			out = append(out, f.vars[i].value)
		}
	}
	return out
}

// iterate follows the body of a range for an item.
func (f *usageFrame) iterate(n *parse.RangeNode, key, item *abstract, mark int) {
	for i, d := range n.Pipe.Decl {
		value := item
		if i == 0 && len(n.Pipe.Decl) > 1 {
			value = key
		}
		if n.Pipe.IsAssign {
			f.assign(d.Ident[0], value)
		} else {
			f.vars = append(f.vars, usageVariable{d.Ident[0], value})
		}
	}
	f.list(item, n.List)
	f.vars = f.vars[:mark]
}

// listed returns the items and keys of a list or a table in order, if all of them are known.
func listed(a *abstract) (items, keys []*abstract, ok bool) {
	names := keysOf(a)
	if names == nil {
		return nil, nil, false
	}
	t := a.tables[0]
	for i, key := range names.texts {
		if t.list {
			items, keys = append(items, t.entries[strconv.Itoa(i)]), append(keys, nil)
		} else {
			items, keys = append(items, t.entries[key]), append(keys, &abstract{texts: []string{key}})
		}
	}
	return items, keys, true
}

// keysOf returns the keys of a table, if all of them are known.
func keysOf(a *abstract) *abstract {
	if a == nil || len(a.nodes) > 0 || a.items != nil || len(a.tables) != 1 {
		return nil
	}
	t := a.tables[0]
	if t.name != "" || t.other != nil || t.merged != nil || len(t.entries) > maxAlternatives {
		return nil
	}
	return &abstract{texts: t.keys()}
}

// assign adds v to what a variable may be: the assignment may be in a branch.
func (f *usageFrame) assign(name string, v *abstract) {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name {
			f.stores++
			if f.vars[i].value = f.union(f.vars[i].value, v); v == nil {
				f.vars[i].value = f.vars[i].value.unlessText()
			}
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
	case *parse.NumberNode:
		return &abstract{texts: []string{n.Text}} // a position
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
		text, ok := a.text()
		if !ok {
			return nil
		}
		texts[i] = text
	}
	switch {
	case len(texts) == 0, format && !onlyTexts(texts[0].(string)):
		return nil
	case format:
		return &abstract{texts: []string{clipped(fmt.Sprintf(texts[0].(string), texts[1:]...))}}
	}
	return &abstract{texts: []string{clipped(fmt.Sprint(texts...))}}
}

// onlyTexts reports whether a format is for texts, not for numbers.
func onlyTexts(format string) bool {
	return !strings.Contains(strings.NewReplacer("%s", "", "%v", "", "%%", "").Replace(format), "%")
}

// clipped bounds a text that is made again and again out of itself.
func clipped(text string) string { return truncate.Bytes(text, 1000, "") }
