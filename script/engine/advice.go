// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/arnodel/golua/ast"
	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/scriptapi"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/truncate"
)

// Lua says that "a nil value" was indexed or called, and golua does not say which. Here the
// key is added, and what comes before it in the script's line.

// fieldless gives nil, null, numbers and booleans an __index and a __newindex that
// name the key that was looked for.
func (e *engine) fieldless(meta *rt.Table, kind string) {
	fail := func(name, text string) {
		e.r.SetEnv(meta, name, e.one(fieldName, 2, 2, func(_ *rt.Thread, c *rt.GoCont) (rt.Value, error) {
			return rt.NilValue, fmt.Errorf(text, kind, keyText(c.Arg(1)))
		}))
	}
	fail("__index", indexed+"%s value (key %s)")
	fail("__newindex", assigned+"%s value (key %s)")
}

const (
	indexed  = "attempt to index a "
	assigned = "attempt to set a field of a "
	// fieldName is what functions are called that no traceback shows.
	fieldName = "(field)"
)

func keyText(k rt.Value) string {
	if s, ok := k.TryString(); ok {
		return fmt.Sprintf("%q", truncate.Bytes(s, 100, "…"))
	}
	s, _ := k.ToString()
	return truncate.Bytes(s, 100, "…")
}

// nameOperand adds to golua's error which operand of the line it is about, as far as that can
// be told.
func (e *engine) nameOperand(text string, at position) string {
	source, ok := e.texts[at.place]
	if !ok || !strings.HasPrefix(text, "attempt to ") && !strings.HasPrefix(text, "bad argument #1 to '") {
		return text
	}
	n := &naming{e: e, c: e.charts[at.chart], lineOperands: readOperands(source, at.line)}
	for _, say := range []func(string) string{n.indexed, n.called, n.computed} {
		if said := say(text); said != "" {
			return said
		}
	}
	return nameOperator(text)
}

// naming names what an error is about.
type naming struct {
	e *engine
	c *chart
	*lineOperands
}

// indexed names what has no fields.
func (n *naming) indexed(text string) string {
	for start, format := range map[string]string{
		indexed: "%s is %s, so it has no %s", assigned: "%s is %s, so it cannot have a %s",
	} {
		found := submatches(start+`(.+?) value \(key (.*)\)`, text)
		if found == nil {
			continue
		}
		kind, key := found[0], found[1]
		var holders, computed []ast.ExpNode
		for _, o := range n.list {
			switch {
			case o.role != indexRole:
			case o.key == strings.Trim(key, `"`):
				holders = append(holders, o.exp)
			case o.key == "":
				computed = append(computed, o.exp)
			}
		}
		if holders == nil {
			holders = computed
		}
		if holder := n.pick(holders, kind); holder != "" {
			return fmt.Sprintf(format, holder, article(kind), key) + n.because(holder, kind)
		}
	}
	return ""
}

// called describes a call of a value that is not a function.
func (n *naming) called(text string) string {
	for _, e := range n.of(forRole) {
		if path := n.path(e); path != "" && text == "attempt to call a table value" {
			return fmt.Sprintf("%[1]s is a table: write pairs(%[1]s), or ipairs(%[1]s) if it is a list", path)
		}
	}
	found := submatches("attempt to call a (.+) value", text)
	if found == nil {
		return ""
	}
	kind := found[0]
	if said := n.textMethod(); said != "" {
		return said
	}
	if name := n.pick(n.notResults(), kind); name != "" {
		return fmt.Sprintf("%s is %s, and cannot be called", name, article(kind)) + n.because(name, kind)
	}
	if method := n.unnamedMethod(); method != "" {
		return fmt.Sprintf("%s is %s, and cannot be called", method, article(kind)) + n.because(":"+method, kind)
	}
	return ""
}

// notResults returns what the line calls, without what is called of a call of those: that fails
// first.
func (n *naming) notResults() []ast.ExpNode {
	return slices.DeleteFunc(n.of(callRole), func(e ast.ExpNode) bool {
		call, ok := e.(ast.FunctionCall)
		if !ok {
			return false
		}
		v, known := n.value(call.Target)
		return known && v.IsNil()
	})
}

// unnamedMethod returns the method that is called of what has no name, ("x"):upper(), "" for
// none or several.
func (n *naming) unnamedMethod() string {
	method := ""
	for _, e := range n.of(callRole) {
		if v, known := n.value(e); known && !v.IsNil() {
			continue
		}
		at, isIndex := e.(ast.IndexExp)
		key := keyOf(at.Idx)
		if !isIndex || key == "" || method != "" {
			return ""
		}
		method = key
	}
	return method
}

// textMethod says which method a text does not have, "" if that is not known to be the mistake.
func (n *naming) textMethod() string {
	for _, e := range n.of(callRole) {
		at, ok := e.(ast.IndexExp)
		if !ok {
			continue
		}
		of, known := n.value(at.Coll)
		key := keyOf(at.Idx)
		functions, isTable := n.c.env.Get(rt.StringValue("string")).TryTable()
		if _, isText := of.TryString(); !known || !isText || key == "" || !isTable {
			continue
		}
		if functions.Get(rt.StringValue(key)).IsNil() {
			return fmt.Sprintf("%s is a string, which has no function %q", n.described(at.Coll), truncate.Bytes(key, 100, "…")) +
				n.c.advice(":"+key)
		}
	}
	return ""
}

// operandError is an error of golua about operands of a line.
type operandError struct {
	pattern string // with the types of one operand or two
	role    role
	says    string
}

// operandErrors returns the errors about operands of operators, and about what pairs and ipairs
// cannot go through.
func operandErrors() []operandError {
	const operator, missing = "(?:add|sub|mul|div|idiv|mod|pow)", "nil|null"
	return []operandError{
		{`attempt to get length of a (.+) value`, lengthRole, "%s is %s, so it has no length"},
		{`attempt to unm a '(.+)'`, minusRole, "%s is %s, and - needs a number"},
		{`attempt to perform arithmetic on a (.+) value`, arithmeticRole, "%s is %s, and arithmetic needs numbers"},
		{`attempt to perform bitwise \w+ on a (.+) value`, bitRole,
			"%s is %s, and bitwise operators need whole numbers"},
		{`attempt to compare a (.+) value with a (.+) value`, compareRole, "%s is %s, and cannot be compared with %s"},
		{`attempt to add a (.+?) value and a (.+?) value.*`, arithmeticRole,
			"%s is %s, and cannot be added to %s: + joins two strings, .. joins strings and numbers"},
		{`attempt to ` + operator + ` a '(` + missing + `)' with a '(?:` + missing + `)'`, arithmeticRole,
			"%s is %s, and arithmetic needs numbers"},
		{`attempt to ` + operator + ` a '(.+)' with a '(.+)'`, arithmeticRole,
			"%s is %s, and arithmetic with %s needs numbers"},
		{`attempt to concatenate a (.+?) value.*`, joinRole, "%s is %s, which cannot be joined to text"},
		{`bad argument #1 to 'pairs' \(table expected, got (.+)\)`, pairsRole, "%s is %s, but pairs needs a table"},
		{`bad argument #1 to 'ipairs' \(table expected, got (.+)\)`, ipairsRole, "%s is %s, but ipairs needs a table"},
	}
}

// submatches returns what the groups of a pattern match, nil if it does not match all of text.
func submatches(pattern, text string) []string {
	found := regexp.MustCompile(`(?s)^` + pattern + `$`).FindStringSubmatch(text)
	return found[min(1, len(found)):]
}

// computed names an operand. Of two it is the one that is nil or null, else the first that has
// a name.
func (n *naming) computed(text string) string {
	for _, wrong := range operandErrors() {
		kinds := submatches(wrong.pattern, text)
		if len(kinds) == 2 && missing(kinds[1]) && !missing(kinds[0]) {
			slices.Reverse(kinds)
		}
		for i, kind := range kinds {
			name := n.pick(n.operands(wrong.role, kind), kind)
			if name == "" {
				if missing(kind) {
					return ""
				}
				continue
			}
			args := []any{name, article(kind), article(kinds[len(kinds)-1-i])}
			return fmt.Sprintf(wrong.says, args[:1+len(kinds)]...) + n.because(name, kind)
		}
	}
	return ""
}

func missing(kind string) bool { return kind == "nil" || kind == "null" }

// operands returns the operands of a role that can be of a type.
func (n *naming) operands(r role, kind string) []ast.ExpNode {
	return slices.DeleteFunc(n.of(r), func(e ast.ExpNode) bool {
		of := literalKind(e)
		return of != "" && of != kind
	})
}

// mostOperands is how many operands an error names where any of them can be meant.
const mostOperands = 3

// pick returns the name of the operand that is of a type: of several the first that is known
// to be, or all that can be. It is "" where one of them has no name.
func (n *naming) pick(operands []ast.ExpNode, kind string) string {
	var are, may []string
	for _, e := range operands {
		name := n.described(e)
		switch v, known := n.value(e); {
		case known && v.CustomTypeName() == kind:
			are = append(are, name)
		case !known:
			may = append(may, name)
		}
	}
	slices.Sort(may)
	may = slices.Compact(may)
	if len(may) == 0 && len(are) > 0 {
		return are[0]
	}
	all := append(may, are...)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 || len(all) > mostOperands || all[0] == "" {
		return ""
	}
	return strings.Join(all, " or ")
}

// value returns what an expression is, where it is a path from a global or from the context
// of the handler that runs.
func (n *naming) value(e ast.ExpNode) (v rt.Value, known bool) {
	switch e := e.(type) {
	case ast.Name:
		if slices.Contains(n.c.names.declared, e.Val) {
			if q := n.e.request; e.Val == "ctx" && q != nil && len(q.order) > 0 {
				return q.order[0].self, true
			}
			return rt.NilValue, false
		}
		return n.c.env.Get(rt.StringValue(e.Val)), true
	case ast.IndexExp:
		coll, known := n.value(e.Coll)
		k, isConstant := constantKey(e.Idx)
		if !known || !isConstant {
			return rt.NilValue, false
		}
		if v, ok := n.e.viewOf(coll); ok {
			got, err := v.get(k)
			return got, err == nil
		}
		t, ok := coll.TryTable()
		if !ok {
			return rt.NilValue, false
		}
		return t.Get(k), true
	}
	return rt.NilValue, false
}

func constantKey(e ast.ExpNode) (rt.Value, bool) {
	switch e := e.(type) {
	case ast.String:
		return rt.StringValue(string(e.Val)), true
	case ast.Int:
		return rt.IntValue(int64(e.Val)), true
	}
	return rt.NilValue, false
}

// because returns what was likely meant by a name that is nil, or why it is nil.
func (n *naming) because(name, kind string) string {
	if kind != "nil" {
		return ""
	}
	if advice := n.c.advice(name); advice != "" {
		return advice
	}
	context, _ := scriptapi.ClassOf("Context")
	if f, ok := context.Field(strings.TrimPrefix(name, "ctx.")); ok && f.Optional && n.e.request != nil {
		return "; " + n.e.request.event + " has none"
	}
	if strings.HasPrefix(name, "ctx.values.") && !strings.Contains(name, " ") {
		return "; values.yaml gives it no default"
	}
	return ""
}

// nameOperator writes an operator as Lua does: golua's "attempt to sub a 'nil' with a 'nil'".
func nameOperator(text string) string {
	found := submatches(`attempt to (\w+) a '(.+)' with a '(.+)'`, text)
	if found == nil {
		return text
	}
	sign, ok := map[string]string{
		"add": "+", "sub": "-", "mul": "*", "div": "/", "idiv": "//", "mod": "%", "pow": "^",
	}[found[0]]
	if !ok {
		return text
	}
	return fmt.Sprintf("attempt to compute %s %s %s", found[1], sign, found[2])
}

func article(kind string) string {
	if kind == "nil" || kind == "null" || kind == "no value" {
		return kind
	}
	return "a " + kind
}

// absent are the globals of Lua that scripts do not have, with the permission that adds them.
var absent = map[string]string{
	"os": "os", "io": "io", "http": "network", "net": "network",
	"coroutine": "", "package": "", "debug": "", "load": "", "loadfile": "", "dofile": "", "loadstring": "",
	"collectgarbage": "", "warn": "", "module": "", "setfenv": "", "getfenv": "",
}

// advice returns why there is no such global, or what was likely meant.
func (c *chart) advice(expr string) string {
	if permission, ok := absent[expr]; ok {
		if permission == "" {
			return "; scripts have no " + expr
		}
		return fmt.Sprintf("; scripts have %s where ext/permissions.yaml asks for %s", expr, permission)
	}
	if strings.Contains(expr, "[") {
		return ""
	}
	table, prefix, name := c.env, "", expr
	if method, ok := strings.CutPrefix(expr, ":"); ok {
		table, _ = c.env.Get(rt.StringValue("string")).TryTable()
		name = method
	} else if i := strings.LastIndexAny(expr, ".:"); i >= 0 {
		prefix, name = expr[:i+1], expr[i+1:]
		if prefix == "ctx." {
			return "" // an unknown field is an error of its own
		}
		of, _ := c.global(expr[:i])
		table, _ = of.TryTable()
	}
	if table == nil {
		return ""
	}
	var names []string
	each(table, func(known string, v rt.Value) {
		if !v.IsNil() {
			names = append(names, known)
		}
	})
	slices.Sort(names)
	if prefix != "" || table != c.env {
		return didYouMean(names, prefix, name, 2)
	}
	return didYouMean(names, prefix, name, len(name)/3)
}

func didYouMean(names []string, prefix, name string, most int) string {
	meant := suggest.Similar(names, name, most, strings.ToLower)
	if meant != "" && (len(name) > 2 || strings.EqualFold(meant, name)) {
		return fmt.Sprintf("; did you mean %s%s?", prefix, meant)
	}
	return ""
}

// global returns the value of a path of names, and whether its first name is a global. Locals
// are not known.
func (c *chart) global(expr string) (v rt.Value, root bool) {
	if strings.HasPrefix(expr, ":") {
		return rt.NilValue, false
	}
	v = rt.TableValue(c.env)
	for i, name := range strings.FieldsFunc(expr, func(r rune) bool { return r == '.' || r == ':' }) {
		t, ok := v.TryTable()
		if !ok {
			return rt.NilValue, i > 0
		}
		v = t.Get(rt.StringValue(name))
		if i == 0 && v.IsNil() {
			return v, false
		}
	}
	return v, true
}

// nameFunction adds the function to golua's error about an argument.
func (e *engine) nameFunction(text string) string {
	if len(e.lastTrace.frames) == 0 {
		return text
	}
	info := e.lastTrace.frames[0].at.DebugInfo()
	if info == nil || info.Source != "[Go]" || slices.Contains([]string{"error", "assert", "helm.fail"}, info.Name) {
		return text
	}
	found := submatches(`(?:bad argument )?(#\d) (.*)`, text)
	if found == nil || strings.HasPrefix(found[1], "to ") {
		return text
	}
	return fmt.Sprintf("bad argument %s to '%s' (%s)", found[0], info.Name, strings.Trim(found[1], "()"))
}
