// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"

	"github.com/arnodel/golua/ast"
)

// hookName is the local variable of every script that holds [engine.wrote]. No script can
// write it.
const hookName = "(wrote)"

// rewriter changes the syntax tree of a script where golua cannot do what is needed.
//
// The script calls [engine.wrote] after every assignment to a field, so that a value that
// cannot be kept is blamed on the assignment. golua has no hook for it.
//
//	t[k] = v   is   do local v, t, k = v, t, k; t[k] = v; wrote(t, k) end
//
// Every iteration of a for-in loop gets variables of its own, as in Lua. With golua all
// iterations share them, and they are nil after the loop, so that functions that are made in
// the loop, such as handlers, would find nil. A body that makes functions begins with
// "local k, v = k, v".
//
// The rewriter also notes the names that the script assigns or declares.
type rewriter struct {
	at       place               // of the script
	assigned map[string]position // names without local in front of them, where that was last
	declared []string            // local variables, parameters
	function int                 // the offset of the function that begins last of those in the script so far
}

// hooked returns a chunk that returns the script as a function. The chunk's argument is the
// hook.
func (r *rewriter) hooked(b ast.BlockStat) ast.BlockStat {
	r.read(b)
	local := ast.NewLocalStat([]ast.NameAttrib{{Name: ast.Name{Val: hookName}}}, []ast.ExpNode{ast.Etc{}})
	main := ast.Function{ParList: ast.NewParList(nil, true), Body: b, Name: "<main chunk>"}
	return ast.NewBlockStat([]ast.Stat{local}, []ast.ExpNode{main})
}

// read rewrites a script in its place.
func (r *rewriter) read(b ast.BlockStat) {
	r.function = -1
	walkBlock(&b, r)
}

// stat implements [visitor].
func (r *rewriter) stat(s ast.Stat) ast.Stat {
	switch s := s.(type) {
	case ast.AssignStat:
		return r.assignment(s)
	case ast.LocalStat:
		for _, n := range s.NameAttribs {
			r.declare(n.Name)
		}
	case ast.LocalFunctionStat:
		r.declare(s.Name)
	case *ast.ForStat:
		r.declare(s.Var)
	case *ast.ForInStat:
		r.declare(s.Vars...)
		if p := s.StartPos(); p != nil && r.function > p.Offset {
			s.Body.Stats = slices.Insert(s.Body.Stats, 0, ownVariables(s))
		}
	}
	return s
}

// exp implements [visitor].
func (r *rewriter) exp(e ast.ExpNode) ast.ExpNode {
	if f, ok := e.(ast.Function); ok {
		r.declare(f.Params...)
		if p := f.StartPos(); p != nil {
			r.function = max(r.function, p.Offset)
		}
	}
	return e
}

func (r *rewriter) declare(names ...ast.Name) {
	for _, n := range names {
		r.declared = append(r.declared, n.Val)
	}
}

// ownVariables returns "local k, v = k, v" for the variables of a loop.
func ownVariables(s *ast.ForInStat) ast.Stat {
	own := ast.LocalStat{Location: s.Location}
	for _, n := range s.Vars {
		own.NameAttribs = append(own.NameAttribs, ast.NameAttrib{Name: n})
		own.Values = append(own.Values, n)
	}
	return own
}

// assignment returns an assignment that calls the hook. Of several assignments in one
// statement those to fields of a variable do.
func (r *rewriter) assignment(s ast.AssignStat) ast.Stat {
	var hooks []ast.Stat
	for _, dest := range s.Dest {
		switch dest := dest.(type) {
		case ast.Name:
			at := position{place: r.at}
			if p := dest.StartPos(); p != nil {
				at.line = p.Line
			}
			r.assigned[dest.Val] = at
		case ast.IndexExp:
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
	v := s.Src[0]
	if _, isFunction := v.(ast.Function); !isFunction { // to make one has no effect on t and k
		v = hold("(v)", v)
	}
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
