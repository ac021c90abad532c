// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"

	"github.com/arnodel/golua/ast"
)

// hookName is the local variable of every script that holds [engine.wrote]. No script can
// write it.
const hookName = "(wrote)"

// rewriter has a script call [engine.wrote] behind every assignment to a field, so that a
// value that cannot be kept is blamed on the assignment. golua has no hook for it.
//
//	t[k] = v   is   do local v, t, k = v, t, k; t[k] = v; wrote(t, k) end
//
// The rewriter also notes the names that the script assigns or declares.
type rewriter struct {
	at       place               // of the script
	assigned map[string]position // names without local in front of them, where that was last
	declared []string            // local variables, parameters
}

// hooked returns a chunk that returns the script as a function. The chunk's argument is the
// hook.
func (r *rewriter) hooked(b ast.BlockStat) ast.BlockStat {
	local := ast.NewLocalStat([]ast.NameAttrib{{Name: ast.Name{Val: hookName}}}, []ast.ExpNode{ast.Etc{}})
	main := ast.Function{ParList: ast.NewParList(nil, true), Body: r.block(b), Name: "<main chunk>"}
	return ast.NewBlockStat([]ast.Stat{local}, []ast.ExpNode{main})
}

func (r *rewriter) block(b ast.BlockStat) ast.BlockStat {
	out := b
	out.Stats = make([]ast.Stat, 0, len(b.Stats))
	for _, s := range b.Stats {
		out.Stats = append(out.Stats, r.stat(s))
	}
	out.Return = r.exps(b.Return)
	return out
}

// stat returns a statement with those in it rewritten.
func (r *rewriter) stat(s ast.Stat) ast.Stat {
	switch s := s.(type) {
	case ast.AssignStat:
		return r.assignment(s)
	case ast.BlockStat:
		return r.block(s)
	case ast.FunctionCall:
		return ast.FunctionCall{BFunctionCall: r.call(s.BFunctionCall)}
	case ast.LocalStat:
		for _, n := range s.NameAttribs {
			r.declared = append(r.declared, n.Name.Val)
		}
		s.Values = r.exps(s.Values)
		return s
	case ast.LocalFunctionStat:
		r.declared = append(r.declared, s.Name.Val)
		s.Function = r.function(s.Function)
		return s
	case ast.IfStat:
		return r.branch(s)
	}
	return r.loop(s)
}

func (r *rewriter) branch(s ast.IfStat) ast.Stat {
	s.If = r.cond(s.If)
	s.ElseIfs = slices.Clone(s.ElseIfs)
	for i, c := range s.ElseIfs {
		s.ElseIfs[i] = r.cond(c)
	}
	if s.Else != nil {
		b := r.block(*s.Else)
		s.Else = &b
	}
	return s
}

func (r *rewriter) cond(c ast.CondStat) ast.CondStat {
	return ast.CondStat{Cond: r.exp(c.Cond), Body: r.block(c.Body)}
}

// loop returns a loop with the statements in it rewritten, and other statements as they are.
func (r *rewriter) loop(s ast.Stat) ast.Stat {
	switch s := s.(type) {
	case *ast.ForInStat:
		l := *s
		for _, n := range s.Vars {
			r.declared = append(r.declared, n.Val)
		}
		l.Params, l.Body = r.exps(s.Params), r.block(s.Body)
		return &l
	case *ast.ForStat:
		l := *s
		r.declared = append(r.declared, s.Var.Val)
		l.Start, l.Stop, l.Step, l.Body = r.exp(s.Start), r.exp(s.Stop), r.exp(s.Step), r.block(s.Body)
		return &l
	case ast.WhileStat:
		s.CondStat = r.cond(s.CondStat)
		return s
	case ast.RepeatStat:
		s.CondStat = r.cond(s.CondStat)
		return s
	}
	return s
}

// assignment returns an assignment that calls the hook. Of several assignments in one
// statement those to fields of a variable do.
func (r *rewriter) assignment(s ast.AssignStat) ast.Stat {
	s.Src = r.exps(s.Src)
	s.Dest = slices.Clone(s.Dest)
	var hooks []ast.Stat
	for i, dest := range s.Dest {
		switch dest := dest.(type) {
		case ast.Name:
			at := position{place: r.at}
			if p := dest.StartPos(); p != nil {
				at.line = p.Line
			}
			r.assigned[dest.Val] = at
		case ast.IndexExp:
			dest.Coll, dest.Idx = r.exp(dest.Coll), r.exp(dest.Idx)
			s.Dest[i] = dest
			if len(s.Dest) == 1 && len(s.Src) == 1 {
				return oneField(s, dest)
			}
			if simple(dest.Coll) && simple(dest.Idx) {
				hooks = append(hooks, hookCall(s.Location, dest.Coll, dest.Idx))
			}
		}
	}
	if hooks == nil {
		return s
	}
	return ast.NewBlockStat(append([]ast.Stat{s}, hooks...), nil)
}

// oneField rewrites an assignment to one field.
func oneField(s ast.AssignStat, dest ast.IndexExp) ast.Stat {
	var stats []ast.Stat
	hold := func(name string, e ast.ExpNode) ast.ExpNode {
		if simple(e) {
			return e
		}
		held := ast.Name{Location: e.Locate(), Val: name}
		stats = append(stats, ast.LocalStat{Location: e.Locate(), NameAttribs: []ast.NameAttrib{{Name: held}},
			Values: []ast.ExpNode{e}})
		return held
	}
	v := hold("(v)", s.Src[0])
	coll, idx := hold("(t)", dest.Coll), hold("(k)", dest.Idx)
	to := ast.IndexExp{Location: dest.Location, Coll: coll, Idx: idx}
	return ast.NewBlockStat(append(stats,
		ast.AssignStat{Location: s.Location, Dest: []ast.Var{to}, Src: []ast.ExpNode{v}},
		hookCall(s.Location, coll, idx)), nil)
}

func hookCall(at ast.Location, coll, idx ast.ExpNode) ast.Stat {
	return ast.FunctionCall{BFunctionCall: &ast.BFunctionCall{
		Location: at, Target: ast.Name{Location: at, Val: hookName}, Args: []ast.ExpNode{coll, idx},
	}}
}

// simple reports whether an expression can be written twice: a name or a literal.
func simple(e ast.ExpNode) bool {
	switch e.(type) {
	case ast.Name, ast.String, ast.Int, ast.Float, ast.Bool, ast.Nil:
		return true
	}
	return false
}

func (r *rewriter) exps(list []ast.ExpNode) []ast.ExpNode {
	if list == nil {
		return nil
	}
	out := make([]ast.ExpNode, len(list))
	for i, e := range list {
		out[i] = r.exp(e)
	}
	return out
}

// exp returns an expression with the functions in it rewritten.
func (r *rewriter) exp(e ast.ExpNode) ast.ExpNode {
	switch e := e.(type) {
	case ast.Function:
		return r.function(e)
	case ast.FunctionCall:
		return ast.FunctionCall{BFunctionCall: r.call(e.BFunctionCall)}
	case *ast.BFunctionCall:
		return r.call(e)
	case ast.IndexExp:
		e.Coll, e.Idx = r.exp(e.Coll), r.exp(e.Idx)
		return e
	case ast.TableConstructor:
		fields := make([]ast.TableField, len(e.Fields))
		for i, f := range e.Fields {
			f.Key, f.Value = r.exp(f.Key), r.exp(f.Value)
			fields[i] = f
		}
		e.Fields = fields
		return e
	case *ast.BinOp:
		op := *e
		op.Left, op.Right = r.exp(e.Left), slices.Clone(e.Right)
		for i := range op.Right {
			op.Right[i].Operand = r.exp(op.Right[i].Operand)
		}
		return &op
	case *ast.UnOp:
		op := *e
		op.Operand = r.exp(e.Operand)
		return &op
	}
	return e
}

func (r *rewriter) call(c *ast.BFunctionCall) *ast.BFunctionCall {
	out := *c
	out.Target, out.Args = r.exp(c.Target), r.exps(c.Args)
	return &out
}

func (r *rewriter) function(f ast.Function) ast.Function {
	for _, n := range f.Params {
		r.declared = append(r.declared, n.Val)
	}
	f.Body = r.block(f.Body)
	return f
}
