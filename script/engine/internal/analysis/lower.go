// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"slices"

	"github.com/arnodel/golua/ast"
	"github.com/arnodel/golua/ops"
)

// lowerer resolves the names of one file and adds what it has to a program.
type lowerer struct {
	p     *program
	file  string
	line  int // of the last position that is known
	scope *scope
	in    *function
	// branches counts the branches and loops around a statement, in its function; returned is
	// set after a return in one of them.
	branches int
	returned bool
	guarded  bool
}

// lower adds a file to p.
func (p *program) lower(file string, chunk ast.BlockStat) {
	main := &function{place: place{file: file, line: 1}}
	p.chunks[file] = main
	l := &lowerer{p: p, file: file, line: 1, in: main}
	l.block(chunk)
}

func (l *lowerer) at(n ast.Locator) place {
	if pos := n.Locate().StartPos(); pos != nil {
		l.line = pos.Line
	}
	return place{file: l.file, line: l.line, in: l.in}
}

// inner runs work in a scope of its own.
func (l *lowerer) inner(work func()) {
	before := l.scope
	l.scope = &scope{outer: before, names: map[string]*variable{}}
	work()
	l.scope = before
}

// branch runs work as a part that may not be run.
func (l *lowerer) branch(work func()) {
	l.branches++
	l.inner(work)
	l.branches--
}

func (l *lowerer) certain() bool { return l.branches == 0 && !l.returned && !l.guarded }

func (l *lowerer) declare(n ast.Name, o ...origin) *variable {
	at := l.at(n)
	v := &variable{name: n.Val, file: at.file, line: at.line, values: o}
	l.scope.names[n.Val] = v
	l.p.locals = append(l.p.locals, v)
	return v
}

// resolve returns the variable of a name.
func (l *lowerer) resolve(name string) *variable {
	if v := l.scope.find(name); v != nil {
		return v
	}
	v := l.p.globals[name]
	if v == nil {
		v = &variable{name: name, global: true}
		l.p.globals[name] = v
	}
	return v
}

func (l *lowerer) block(b ast.BlockStat) {
	l.inner(func() { l.statements(b) })
}

func (l *lowerer) statements(b ast.BlockStat) {
	for _, s := range b.Stats {
		l.statement(s)
	}
	l.returned = l.returned || b.Return != nil && l.branches > 0
	if len(b.Return) == 0 {
		return
	}
	list := make([]expression, len(b.Return))
	for i, e := range b.Return {
		list[i] = l.expr(e, use{kind: useReturned})
	}
	l.in.returns = append(l.in.returns, list)
}

func (l *lowerer) statement(s ast.Stat) {
	switch s := s.(type) {
	case ast.AssignStat:
		l.assign(s)
	case ast.BlockStat:
		l.block(s)
	case *ast.ForInStat:
		l.forIn(s)
	case *ast.ForStat:
		for _, e := range []ast.ExpNode{s.Start, s.Stop, s.Step} {
			if e != nil {
				l.expr(e, use{})
			}
		}
		l.branch(func() {
			l.declare(s.Var, origin{})
			l.statements(s.Body)
		})
	case ast.FunctionCall:
		l.call(s.BFunctionCall).dropped = true
	case ast.IfStat:
		l.ifElse(s)
	case ast.LocalFunctionStat:
		l.declare(s.Name).assign(origin{expr: l.function(s.Function, use{kind: useAssigned})})
	case ast.LocalStat:
		l.local(s)
	case ast.RepeatStat:
		l.branch(func() {
			l.statements(s.Body)
			l.expr(s.Cond, use{})
		})
	case ast.WhileStat:
		l.expr(s.Cond, use{})
		l.branch(func() { l.statements(s.Body) })
	}
}

func (l *lowerer) ifElse(s ast.IfStat) {
	l.expr(s.If.Cond, use{})
	l.branch(func() { l.statements(s.If.Body) })
	for _, other := range s.ElseIfs {
		l.branches++
		l.expr(other.Cond, use{})
		l.branches--
		l.branch(func() { l.statements(other.Body) })
	}
	if s.Else != nil {
		l.branch(func() { l.statements(*s.Else) })
	}
}

func (l *lowerer) forIn(s *ast.ForInStat) {
	var iterator expression
	for i, e := range s.Params {
		if x := l.expr(e, use{}); i == 0 {
			iterator = x
		}
	}
	l.branch(func() {
		for i, n := range s.Vars {
			l.declare(n, origin{loop: iterator, at: i})
		}
		l.statements(s.Body)
	})
}

// values lowers a list of expressions and returns what each of n variables gets.
func (l *lowerer) values(list []ast.ExpNode, n int, u use) []origin {
	out := make([]origin, n)
	for i, e := range list {
		if x := l.expr(e, u); i < n {
			out[i] = origin{expr: x}
		}
	}
	return out
}

func (l *lowerer) local(s ast.LocalStat) {
	values := l.values(s.Values, len(s.NameAttribs), use{kind: useAssigned})
	for i, n := range s.NameAttribs {
		v := l.declare(n.Name)
		if len(s.Values) > 0 {
			v.assign(values[i])
		}
	}
}

func (l *lowerer) assign(s ast.AssignStat) {
	u := use{kind: useAssigned}
	for _, d := range s.Dest {
		if _, field := d.(ast.IndexExp); field {
			u = use{}
		}
	}
	targets := make([]expression, len(s.Dest))
	for i, d := range s.Dest {
		switch d := d.(type) {
		case ast.Name:
			v := l.resolve(d.Val)
			if at := l.at(d); v.line == 0 {
				v.file, v.line = at.file, at.line
			}
			l.p.open = l.p.open || d.Val == "_ENV"
			targets[i] = v
		case ast.IndexExp:
			targets[i] = l.index(d, use{})
		}
	}
	values := l.values(s.Src, len(s.Dest), u)
	for i, d := range targets {
		switch d := d.(type) {
		case *variable:
			d.assign(values[i])
		case *index:
			l.p.writes = append(l.p.writes, &write{target: d, certain: l.certain()})
		}
	}
}

func (l *lowerer) expr(e ast.ExpNode, u use) expression {
	switch e := e.(type) {
	case ast.Name:
		return l.name(e, u)
	case ast.IndexExp:
		x := l.index(e, u)
		l.p.indexes = append(l.p.indexes, x)
		return x
	case ast.FunctionCall:
		return l.call(e.BFunctionCall)
	case *ast.BFunctionCall:
		return l.call(e)
	case ast.Function:
		return l.function(e, u)
	case ast.String:
		return &text{place: l.at(e), value: string(e.Val)}
	case ast.Int:
		return &number{place: l.at(e), value: float64(e.Val)}
	case ast.Float:
		return &number{place: l.at(e), value: e.Val}
	case ast.TableConstructor:
		return l.table(e)
	case *ast.BinOp:
		return l.binary(e)
	case *ast.UnOp:
		return l.unary(e)
	}
	return &other{}
}

func (l *lowerer) unary(e *ast.UnOp) expression {
	x := l.expr(e.Operand, use{})
	n, isNumber := x.(*number)
	switch {
	case e.Op == ops.OpNeg && isNumber:
		return &number{place: n.place, value: -n.value}
	case e.Op == ops.OpLen:
		return &other{numberKind}
	}
	return &other{}
}

func (l *lowerer) binary(e *ast.BinOp) expression {
	left := l.expr(e.Left, use{})
	short := e.OpType == ops.OpAnd.Type() || e.OpType == ops.OpOr.Type()
	if short {
		l.branches++
	}
	for _, r := range e.Right {
		right := l.expr(r.Operand, use{})
		if r.Op == ops.OpEq || r.Op == ops.OpNeq {
			l.p.compares = append(l.p.compares, &comparison{place: l.at(e), left: left, right: right,
				unequal: r.Op == ops.OpNeq})
		}
		left = &other{}
	}
	if short {
		l.branches--
	}
	if e.OpType == ops.OpConcat.Type() {
		return &other{textKind}
	}
	return &other{}
}

func (l *lowerer) name(e ast.Name, u use) *identifier {
	n := &identifier{place: l.at(e), use: u, v: l.resolve(e.Val), scope: l.scope}
	n.v.reads = append(n.v.reads, n)
	l.p.names = append(l.p.names, n)
	if e.Val == "_ENV" || n.v.global && e.Val == "_G" && !readsOnly(u) {
		l.p.open = true
	}
	return n
}

// readsOnly reports whether nothing is assigned to the table that is used.
func readsOnly(u use) bool {
	if u.kind != useArgument {
		return u.kind == useIndexed
	}
	return slices.Contains([]string{"rawget", "pairs", "next"}, calledName(u.call))
}

func (l *lowerer) index(e ast.IndexExp, u use) *index {
	x := &index{place: l.at(e), use: u}
	x.of = l.expr(e.Coll, use{kind: useIndexed})
	x.key = l.expr(e.Idx, use{})
	if t, ok := x.key.(*text); ok {
		x.name = t.value
		x.line = max(x.line, t.line)
	}
	return x
}

func (l *lowerer) call(e *ast.BFunctionCall) *call {
	c := &call{place: l.at(e), method: e.Method.Val, certain: l.certain()}
	if c.method == "" {
		c.target = l.expr(e.Target, use{kind: useCalled, call: c})
	} else {
		c.target = l.expr(e.Target, use{kind: useIndexed})
	}
	l.p.calls = append(l.p.calls, c)
	before := l.guarded
	if f, ok := c.target.(*identifier); ok && f.v.global && (f.v.name == "pcall" || f.v.name == "xpcall") {
		l.guarded = true
	}
	for i, a := range e.Args {
		c.args = append(c.args, l.expr(a, use{kind: useArgument, call: c, arg: i}))
	}
	l.guarded = before
	return c
}

func (l *lowerer) table(e ast.TableConstructor) *table {
	t := &table{place: l.at(e), named: map[string]expression{}}
	for _, f := range e.Fields {
		if _, none := f.Key.(ast.NoTableKey); none {
			t.items = append(t.items, l.expr(f.Value, use{}))
			continue
		}
		key := l.expr(f.Key, use{})
		value := l.expr(f.Value, use{})
		if s, ok := key.(*text); ok {
			t.named[s.value] = value
		} else {
			t.named[""] = value
		}
	}
	return t
}

func (l *lowerer) function(e ast.Function, u use) *function {
	at := l.at(e)
	f := &function{place: at, use: u, guarded: l.guarded}
	outer := *l
	l.in, l.branches, l.returned = f, 0, false
	l.inner(func() {
		for i, n := range e.Params {
			v := l.declare(n, origin{of: f, at: i})
			f.params = append(f.params, v)
		}
		l.statements(e.Body)
	})
	l.in, l.branches, l.returned = outer.in, outer.branches, outer.returned
	return f
}
