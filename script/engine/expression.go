// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strconv"
	"strings"

	"github.com/arnodel/golua/ast"
	"github.com/arnodel/golua/ops"

	"github.com/moonhelm/moonhelm/internal/truncate"
)

// lineOperands are what a line of a script computes with, to name one of them in an error.
// golua places an operation at the line at which it begins.
type lineOperands struct {
	text     string // of the script
	fields   []lineField
	calls    []ast.ExpNode // what is called; a method is an IndexExp
	measured []ast.ExpNode // behind #
	binary   []lineBinary
	negated  []ast.ExpNode // behind - and ~
	iterated string        // behind the in of a for
	argument map[string][]ast.ExpNode
}

// lineField is a field that a line asks for, or sets.
type lineField struct {
	holder ast.ExpNode
	key    string // "" for one that is computed
}

// lineBinary is an operation of two values. The left one is nil where it is the result of
// another operation.
type lineBinary struct {
	op          ops.Op
	left, right ast.ExpNode
}

// readOperands returns the operands of a line. A script that has an error has none.
func readOperands(text string, line int) *lineOperands {
	w := &operandWalk{line: line, found: &lineOperands{text: text, argument: map[string][]ast.ExpNode{}}}
	if b, err := parse(text); err == nil {
		walkBlock(&b, w)
	}
	return w.found
}

// operandWalk looks for operands. It implements [visitor] and changes nothing.
type operandWalk struct {
	line  int
	found *lineOperands
}

func (w *operandWalk) here(n ast.Locator) bool {
	p := n.Locate().StartPos()
	return p != nil && p.Line == w.line
}

func (w *operandWalk) stat(s ast.Stat) ast.Stat {
	loop, ok := s.(*ast.ForInStat)
	if ok && len(loop.Params) == 1 && w.here(loop.Params[0]) && w.found.iterated == "" {
		w.found.iterated = w.found.path(loop.Params[0])
	}
	return s
}

func (w *operandWalk) exp(e ast.ExpNode) ast.ExpNode {
	if at, ok := e.(ast.Locator); !ok || !w.here(at) {
		return e
	}
	f := w.found
	switch e := e.(type) {
	case ast.IndexExp:
		f.fields = append(f.fields, lineField{e.Coll, keyOf(e.Idx)})
	case *ast.BinOp:
		left := e.Left
		for _, r := range e.Right {
			f.binary = append(f.binary, lineBinary{r.Op, left, r.Operand})
			left = nil
		}
	case *ast.UnOp:
		switch e.Op {
		case ops.OpLen:
			f.measured = append(f.measured, e.Operand)
		case ops.OpNeg, ops.OpBitNot:
			f.negated = append(f.negated, e.Operand)
		}
	case ast.FunctionCall:
		w.call(e.BFunctionCall)
	case *ast.BFunctionCall:
		w.call(e)
	}
	return e
}

func (w *operandWalk) call(c *ast.BFunctionCall) {
	target := c.Target
	if c.Method.Val != "" {
		if w.here(c.Target) {
			w.found.fields = append(w.found.fields, lineField{c.Target, c.Method.Val})
		}
		target = ast.IndexExp{Location: c.Location, Coll: c.Target, Idx: c.Method.AstString()}
	}
	w.found.calls = append(w.found.calls, target)
	if name := w.found.path(target); name != "" && len(c.Args) > 0 {
		w.found.argument[name] = append(w.found.argument[name], c.Args[0])
	}
}

// keyOf returns a key as errors have it, which know no more than its text; "" for one that is
// computed.
func keyOf(e ast.ExpNode) string {
	switch e := e.(type) {
	case ast.String:
		return string(e.Val)
	case ast.Int:
		return strconv.FormatUint(e.Val, 10)
	}
	return ""
}

// path returns an expression as a script writes it, list[i].name; "" for one that is more
// than names.
func (s *lineOperands) path(e ast.ExpNode) string {
	switch e := e.(type) {
	case ast.Name:
		return e.Val
	case ast.IndexExp:
		coll := s.path(e.Coll)
		if coll == "" {
			return ""
		}
		switch k := e.Idx.(type) {
		case ast.String:
			if p := k.StartPos(); p == nil || p.Offset >= len(s.text) || !strings.ContainsRune("\"'[", rune(s.text[p.Offset])) {
				return coll + "." + string(k.Val)
			}
			return coll + "[" + strconv.Quote(truncate.Bytes(string(k.Val), 100, "…")) + "]"
		case ast.Int:
			return coll + "[" + strconv.FormatUint(k.Val, 10) + "]"
		case ast.Name:
			return coll + "[" + k.Val + "]"
		}
	}
	return ""
}

// described returns what an operand is called in an error, "" where it has no name.
func (s *lineOperands) described(e ast.ExpNode) string {
	var call *ast.BFunctionCall
	switch e := e.(type) {
	case ast.FunctionCall:
		call = e.BFunctionCall
	case *ast.BFunctionCall:
		call = e
	case nil:
		return ""
	default:
		if path := s.path(e); path != "" {
			return path
		}
		return s.ofResult(e)
	}
	target := s.path(call.Target)
	switch {
	case target == "":
		return ""
	case call.Method.Val != "":
		return "what " + target + ":" + call.Method.Val + " returns"
	}
	return "what " + target + " returns"
}

// ofResult names a field of what a function returns: lookup(...).data.
func (s *lineOperands) ofResult(e ast.ExpNode) string {
	at, ok := e.(ast.IndexExp)
	if !ok {
		return ""
	}
	key, isConstant := constantKey(at.Idx)
	result := s.described(at.Coll)
	if !isConstant || !strings.Contains(result, "what ") {
		return ""
	}
	return keyText(key) + " of " + result
}

// literalKind returns the type of a literal, "" for other expressions.
func literalKind(e ast.ExpNode) string {
	switch e.(type) {
	case ast.String:
		return "string"
	case ast.Int, ast.Float:
		return "number"
	case ast.Bool:
		return "boolean"
	case ast.TableConstructor:
		return "table"
	case ast.Function:
		return "function"
	case ast.Nil:
		return "nil"
	}
	return ""
}
