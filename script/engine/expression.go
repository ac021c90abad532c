// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strconv"
	"strings"

	"github.com/arnodel/golua/ast"
	"github.com/arnodel/golua/ops"
	"github.com/arnodel/golua/parsing"
	"github.com/arnodel/golua/scanner"

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
	key    string
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
	defer func() {
		_ = recover() // golua's parser may panic
	}()
	if _, err := readBlocks(text); err != nil {
		return w.found
	}
	if b, err := parsing.ParseChunk(scanner.New("script", []byte(text))); err == nil {
		w.block(b)
	}
	return w.found
}

// operandWalk looks for operands.
type operandWalk struct {
	line  int
	found *lineOperands
}

func (w *operandWalk) here(n ast.Locator) bool {
	p := n.Locate().StartPos()
	return p != nil && p.Line == w.line
}

func (w *operandWalk) block(b ast.BlockStat) {
	for _, s := range b.Stats {
		w.stat(s)
	}
	w.exps(b.Return)
}

func (w *operandWalk) stat(s ast.Stat) {
	switch s := s.(type) {
	case ast.AssignStat:
		for _, d := range s.Dest {
			w.exp(d)
		}
		w.exps(s.Src)
	case ast.BlockStat:
		w.block(s)
	case ast.FunctionCall:
		w.exp(s)
	case ast.LocalStat:
		w.exps(s.Values)
	case ast.LocalFunctionStat:
		w.block(s.Body)
	case ast.IfStat:
		w.cond(s.If)
		for _, c := range s.ElseIfs {
			w.cond(c)
		}
		if s.Else != nil {
			w.block(*s.Else)
		}
	default:
		w.loop(s)
	}
}

func (w *operandWalk) loop(s ast.Stat) {
	switch s := s.(type) {
	case ast.WhileStat:
		w.cond(s.CondStat)
	case ast.RepeatStat:
		w.cond(s.CondStat)
	case *ast.ForInStat:
		if len(s.Params) == 1 && w.here(s.Params[0]) {
			w.found.iterated = w.found.path(s.Params[0])
		}
		w.exps(s.Params)
		w.block(s.Body)
	case *ast.ForStat:
		w.exps([]ast.ExpNode{s.Start, s.Stop, s.Step})
		w.block(s.Body)
	}
}

func (w *operandWalk) cond(c ast.CondStat) {
	w.exp(c.Cond)
	w.block(c.Body)
}

func (w *operandWalk) exps(list []ast.ExpNode) {
	for _, e := range list {
		w.exp(e)
	}
}

func (w *operandWalk) exp(e ast.ExpNode) {
	switch e := e.(type) {
	case ast.Function:
		w.block(e.Body)
	case ast.FunctionCall:
		w.call(e.BFunctionCall)
	case *ast.BFunctionCall:
		w.call(e)
	case ast.IndexExp:
		w.exp(e.Coll)
		w.exp(e.Idx)
		if key, ok := keyOf(e.Idx); ok && w.here(e) {
			w.found.fields = append(w.found.fields, lineField{e.Coll, key})
		}
	case ast.TableConstructor:
		for _, f := range e.Fields {
			w.exp(f.Key)
			w.exp(f.Value)
		}
	case *ast.BinOp:
		w.binary(e)
	case *ast.UnOp:
		w.exp(e.Operand)
		switch {
		case !w.here(e):
		case e.Op == ops.OpLen:
			w.found.measured = append(w.found.measured, e.Operand)
		case e.Op == ops.OpNeg, e.Op == ops.OpBitNot:
			w.found.negated = append(w.found.negated, e.Operand)
		}
	}
}

func (w *operandWalk) binary(b *ast.BinOp) {
	w.exp(b.Left)
	left := b.Left
	for _, r := range b.Right {
		w.exp(r.Operand)
		if w.here(b) {
			w.found.binary = append(w.found.binary, lineBinary{r.Op, left, r.Operand})
		}
		left = nil
	}
}

func (w *operandWalk) call(c *ast.BFunctionCall) {
	w.exp(c.Target)
	w.exps(c.Args)
	target := c.Target
	if c.Method.Val != "" {
		if w.here(c.Target) {
			w.found.fields = append(w.found.fields, lineField{c.Target, c.Method.Val})
		}
		target = ast.IndexExp{Location: c.Location, Coll: c.Target, Idx: c.Method.AstString()}
	}
	if !w.here(c) {
		return
	}
	w.found.calls = append(w.found.calls, target)
	if name := w.found.path(target); name != "" && len(c.Args) > 0 {
		w.found.argument[name] = append(w.found.argument[name], c.Args[0])
	}
}

// keyOf returns a key as errors have it, which know no more than its text; ok is false for
// one that is computed.
func keyOf(e ast.ExpNode) (key string, ok bool) {
	switch e := e.(type) {
	case ast.String:
		return string(e.Val), true
	case ast.Int:
		return strconv.FormatUint(e.Val, 10), true
	case ast.Name:
		return e.Val, true
	}
	return "", false
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
