// SPDX-License-Identifier: Apache-2.0

package analysis

import "strconv"

// comparison warns of one that never holds, or always: of a text with a number.
func (c *checker) comparison(x *comparison) {
	left, right := c.kindOf(x.left), c.kindOf(x.right)
	if left == anyKind || right == anyKind || left == right {
		return
	}
	operator, result := "==", "false"
	if x.unequal {
		operator, result = "~=", "true"
	}
	hint := "tonumber and tostring convert"
	for _, side := range []expression{x.left, x.right} {
		if t, ok := side.(*text); ok {
			if _, err := strconv.ParseFloat(t.value, 64); err == nil {
				hint = "did you mean " + t.value + " without quotes?"
			}
		}
	}
	c.add(Warning, x.place, "%s is always %s between %s and %s; %s", operator, result, left, right, hint)
}

// kindOf returns the kind of an expression's value, if it is evident.
func (c *checker) kindOf(e expression) kind {
	switch e := e.(type) {
	case *text:
		return textKind
	case *number:
		return numberKind
	case *other:
		return e.kind
	case *identifier:
		if o, ok := e.v.single(); ok && o.expr != nil && !e.v.global {
			if _, again := o.expr.(*identifier); !again {
				return c.kindOf(o.expr)
			}
		}
	case *index:
		if v := c.in.valueOf(e.of); v.shape != nil && !v.guess {
			return v.shape.kinds[e.name]
		}
	case *call:
		switch calledName(e) {
		case "tostring", "type", "string.format", "string.lower", "string.upper", "string.sub", "string.rep", "yaml.encode",
			"json.encode", "base64.encode", "table.concat":
			return textKind
		}
	}
	return anyKind
}

// position reports an index of a list that is 0 or less: lists begin at 1. What is in the context is
// data, whose maps have texts as keys.
func (c *checker) position(v value, x *index, at place) {
	n, ok := x.key.(*number)
	if !ok || n.value > 0 || n.value != float64(int64(n.value)) || !c.isData(v, x.of) {
		return
	}
	path := v.path
	if of, ok := x.of.(*identifier); ok && path == "" {
		path = of.v.name
	}
	if n.value == 0 {
		c.add(Error, at, "%s[0] does not exist: lists begin at 1", path)
		return
	}
	c.add(Error, at, "%s[%v] does not exist: lists begin at 1, and end at their length, #", path, n.value)
}

// isData reports whether a value is a part of the context, or a list that the script has written as one.
func (c *checker) isData(v value, of expression) bool {
	if v.field != "" {
		return true
	}
	n, ok := of.(*identifier)
	if !ok {
		return false
	}
	o, single := n.v.single()
	t, isTable := o.expr.(*table)
	if !single || !isTable || len(t.items) == 0 || len(t.named) > 0 {
		return false
	}
	for _, w := range c.p.writes { // the script may have an item 0 of its own
		if to, ok := w.target.of.(*identifier); ok && to.v == n.v {
			return false
		}
	}
	return true
}
