// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/arnodel/golua/ast"

// visitor is given the statements and expressions of a script by [walkBlock], the inner ones
// first, and returns what is to take their places. For a function it returns a function,
// for what can be assigned to an [ast.Var].
type visitor interface {
	stat(s ast.Stat) ast.Stat
	exp(e ast.ExpNode) ast.ExpNode
}

// walkBlock has v visit a block, which is changed in its place.
func walkBlock(b *ast.BlockStat, v visitor) {
	for i, s := range b.Stats {
		b.Stats[i] = walkStat(s, v)
	}
	walkExps(b.Return, v)
}

func walkStat(s ast.Stat, v visitor) ast.Stat {
	switch x := s.(type) {
	case ast.AssignStat:
		for i, d := range x.Dest {
			x.Dest[i], _ = walkExp(d, v).(ast.Var)
		}
		walkExps(x.Src, v)
	case ast.BlockStat:
		walkBlock(&x, v)
	case ast.FunctionCall:
		walkExp(x, v)
	case ast.LocalStat:
		walkExps(x.Values, v)
	case ast.LocalFunctionStat:
		x.Function, _ = walkExp(x.Function, v).(ast.Function)
		s = x
	case ast.IfStat:
		walkCond(&x.If, v)
		for i := range x.ElseIfs {
			walkCond(&x.ElseIfs[i], v)
		}
		if x.Else != nil {
			walkBlock(x.Else, v)
		}
		s = x
	case ast.WhileStat:
		walkCond(&x.CondStat, v)
		s = x
	case ast.RepeatStat:
		walkCond(&x.CondStat, v)
		s = x
	case *ast.ForInStat:
		walkExps(x.Params, v)
		walkBlock(&x.Body, v)
	case *ast.ForStat:
		x.Start, x.Stop, x.Step = walkExp(x.Start, v), walkExp(x.Stop, v), walkExp(x.Step, v)
		walkBlock(&x.Body, v)
	}
	return v.stat(s)
}

func walkCond(c *ast.CondStat, v visitor) {
	c.Cond = walkExp(c.Cond, v)
	walkBlock(&c.Body, v)
}

func walkExps(list []ast.ExpNode, v visitor) {
	for i, e := range list {
		list[i] = walkExp(e, v)
	}
}

func walkExp(e ast.ExpNode, v visitor) ast.ExpNode {
	switch x := e.(type) {
	case ast.Function:
		walkBlock(&x.Body, v)
		e = x
	case ast.FunctionCall:
		walkCall(x.BFunctionCall, v)
	case *ast.BFunctionCall:
		walkCall(x, v)
	case ast.IndexExp:
		x.Coll, x.Idx = walkExp(x.Coll, v), walkExp(x.Idx, v)
		e = x
	case ast.TableConstructor:
		for i, f := range x.Fields {
			x.Fields[i].Key, x.Fields[i].Value = walkExp(f.Key, v), walkExp(f.Value, v)
		}
	case *ast.BinOp:
		x.Left = walkExp(x.Left, v)
		for i, r := range x.Right {
			x.Right[i].Operand = walkExp(r.Operand, v)
		}
	case *ast.UnOp:
		x.Operand = walkExp(x.Operand, v)
	}
	return v.exp(e)
}

func walkCall(c *ast.BFunctionCall, v visitor) {
	c.Target = walkExp(c.Target, v)
	walkExps(c.Args, v)
}
