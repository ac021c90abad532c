// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strconv"
	"strings"

	"github.com/arnodel/golua/ast"
	"github.com/arnodel/golua/ops"

	"github.com/moonhelm/moonhelm/internal/truncate"
)

// role is what a line of a script does with an operand.
type role int

const (
	otherRole      role = iota
	indexRole           // x.key and x:key()
	callRole            // x(); a method that is called is an IndexExp
	forRole             // for ... in x do
	lengthRole          // #x
	minusRole           // -x
	arithmeticRole      // x + y
	bitRole             // x & y, ~x
	compareRole         // x < y
	joinRole            // x .. y
	pairsRole           // pairs(x)
	ipairsRole          // ipairs(x)
)

// roleOf returns the role of the operands of an operator.
func roleOf(op ops.Op) role {
	switch op {
	case ops.OpLen:
		return lengthRole
	case ops.OpNeg:
		return minusRole
	case ops.OpAdd, ops.OpSub, ops.OpMul, ops.OpDiv, ops.OpFloorDiv, ops.OpMod, ops.OpPow:
		return arithmeticRole
	case ops.OpBitAnd, ops.OpBitOr, ops.OpBitXor, ops.OpShiftL, ops.OpShiftR, ops.OpBitNot:
		return bitRole
	case ops.OpLt, ops.OpLeq, ops.OpGt, ops.OpGeq:
		return compareRole
	case ops.OpConcat:
		return joinRole
	}
	return otherRole
}

// operand is what a line computes with. exp is nil where it is the result of another operation.
type operand struct {
	role role
	exp  ast.ExpNode
	key  string // of an indexRole; "" for one that is computed
}

// lineOperands are the operands of a line of a script, to name one of them in an error. golua
// places an operation at the line at which it begins.
type lineOperands struct {
	text string // of the script
	line int
	list []operand
}

// readOperands returns the operands of a line. A script that has an error has none.
func readOperands(text string, line int) *lineOperands {
	s := &lineOperands{text: text, line: line}
	if b, err := parse(text); err == nil {
		walkBlock(&b, s)
	}
	return s
}

// of returns the operands of a role.
func (s *lineOperands) of(r role) []ast.ExpNode {
	var out []ast.ExpNode
	for _, o := range s.list {
		if o.role == r {
			out = append(out, o.exp)
		}
	}
	return out
}

func (s *lineOperands) add(r role, e ast.ExpNode) { s.list = append(s.list, operand{role: r, exp: e}) }

func (s *lineOperands) here(n ast.Locator) bool {
	p := n.Locate().StartPos()
	return p != nil && p.Line == s.line
}

// stat implements [visitor]. It changes nothing.
func (s *lineOperands) stat(stat ast.Stat) ast.Stat {
	if loop, ok := stat.(*ast.ForInStat); ok && len(loop.Params) == 1 && s.here(loop.Params[0]) {
		s.add(forRole, loop.Params[0])
	}
	return stat
}

// exp implements [visitor]. It changes nothing.
func (s *lineOperands) exp(e ast.ExpNode) ast.ExpNode {
	if at, ok := e.(ast.Locator); !ok || !s.here(at) {
		return e
	}
	switch e := e.(type) {
	case ast.IndexExp:
		s.list = append(s.list, operand{indexRole, e.Coll, keyOf(e.Idx)})
	case *ast.BinOp:
		left := e.Left
		for _, r := range e.Right {
			s.add(roleOf(r.Op), left)
			s.add(roleOf(r.Op), r.Operand)
			left = nil
		}
	case *ast.UnOp:
		s.add(roleOf(e.Op), e.Operand)
	case ast.FunctionCall:
		s.call(e.BFunctionCall)
	case *ast.BFunctionCall:
		s.call(e)
	}
	return e
}

func (s *lineOperands) call(c *ast.BFunctionCall) {
	target := c.Target
	if c.Method.Val != "" {
		if s.here(c.Target) {
			s.list = append(s.list, operand{indexRole, c.Target, c.Method.Val})
		}
		target = ast.IndexExp{Location: c.Location, Coll: c.Target, Idx: c.Method.AstString()}
	}
	s.add(callRole, target)
	if of, ok := map[string]role{"pairs": pairsRole, "ipairs": ipairsRole}[s.path(target)]; ok && len(c.Args) > 0 {
		s.add(of, c.Args[0])
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
