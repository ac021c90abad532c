// SPDX-License-Identifier: Apache-2.0

package analysis

// program is the scripts of one chart.
type program struct {
	chart   *Chart
	globals map[string]*variable

	names    []*identifier
	indexes  []*index // that are read
	writes   []*write
	calls    []*call
	compares []*comparison
	locals   []*variable
	chunks   map[string]*function // by file

	// open is set where globals may be assigned in ways that are not followed.
	open bool
	// incomplete is set if a file does not parse.
	incomplete bool
}

// variable is a local variable, a parameter, or a global of one chart.
type variable struct {
	name   string
	file   string
	line   int
	global bool
	// values are all that is assigned to it, with its declaration.
	values []origin
	reads  []*identifier
}

// origin is where a value comes from. At most one of its fields is set; the zero value is not
// known.
type origin struct {
	expr expression
	// of is the function of which it is parameter number at.
	of *function
	// loop is the iterator of which it is variable number at.
	loop expression
	at   int
}

func (v *variable) assign(o origin) {
	v.values = append(v.values, o)
	if f, ok := o.expr.(*function); ok {
		f.v = v
	}
}

// single returns the only value that is ever assigned to v.
func (v *variable) single() (origin, bool) {
	if len(v.values) != 1 {
		return origin{}, false
	}
	return v.values[0], true
}

// expression is a *identifier, *index, *call, *function, *text, *number, *table or *other.
type expression any

type place struct {
	file string
	line int
	// in is the function around it.
	in *function
}

// use is what is done with the value of an expression.
type use struct {
	kind useKind
	call *call // of an argument, or of what is called
	arg  int
}

type useKind int

const (
	useOther    useKind = iota
	useCalled           // f()
	useIndexed          // x.y
	useArgument         // f(x)
	useAssigned         // v = x, where v is a variable
	useReturned         // return x
)

type identifier struct {
	place
	use   use
	v     *variable
	scope *scope
}

type index struct {
	place
	use  use
	of   expression
	key  expression
	name string // of a key that is a constant text
}

type call struct {
	place
	target expression
	method string
	args   []expression
	// dropped is set for a call that is a statement.
	dropped bool
	// certain is set if the function around it always makes the call.
	certain bool
}

type write struct {
	target  *index
	certain bool // as in call
}

type function struct {
	place
	use     use
	v       *variable // that it was assigned to
	params  []*variable
	returns [][]expression
	// guarded is set if errors in it are caught.
	guarded bool
}

type text struct {
	place
	value string
}

type table struct {
	place
	items []expression
	named map[string]expression
}

// number is a constant.
type number struct {
	place
	value float64
}

// comparison is a == b or a ~= b.
type comparison struct {
	place
	left, right expression
	unequal     bool
}

// other is any other expression. kind is that of its value if it is evident.
type other struct{ kind kind }

// kind is a type of Lua as far as comparisons go.
type kind int

const (
	anyKind kind = iota
	textKind
	numberKind
)

func (k kind) String() string {
	if k == textKind {
		return "a text"
	}
	return "a number"
}

// scope is the names that are declared in a block.
type scope struct {
	outer *scope
	names map[string]*variable
}

func (s *scope) find(name string) *variable {
	for ; s != nil; s = s.outer {
		if v := s.names[name]; v != nil {
			return v
		}
	}
	return nil
}

// visible returns the names that can be seen from s.
func (s *scope) visible() []string {
	var out []string
	for ; s != nil; s = s.outer {
		for name := range s.names {
			out = append(out, name)
		}
	}
	return out
}

// functionOf returns the function that an expression always gives.
func functionOf(e expression, depth int) *function {
	if depth > maxSteps {
		return nil
	}
	switch e := e.(type) {
	case *function:
		return e
	case *identifier:
		if o, ok := e.v.single(); ok {
			return functionOf(o.expr, depth+1)
		}
	case *call: // of a function that makes it
		f := functionOf(e.target, depth+1)
		if f == nil || e.method != "" || len(f.returns) != 1 || len(f.returns[0]) != 1 {
			return nil
		}
		made, _ := f.returns[0][0].(*function)
		return made
	}
	return nil
}

// maxSteps bounds how many variables are followed to find a value.
const maxSteps = 20

// textsOf returns the constants that an expression may be, nil if it may be anything else.
func textsOf(e expression, depth int) []string {
	if depth > maxSteps {
		return nil
	}
	switch e := e.(type) {
	case *text:
		return []string{e.value}
	case *identifier:
		o, ok := e.v.single()
		if !ok {
			return nil
		}
		if o.loop == nil {
			return textsOf(o.expr, depth+1)
		}
		return itemTexts(iterated(o), depth+1)
	}
	return nil
}

// itemTexts returns the constants that are the items of a list.
func itemTexts(e expression, depth int) []string {
	if n, ok := e.(*identifier); ok && depth < maxSteps {
		if o, ok := n.v.single(); ok {
			return itemTexts(o.expr, depth+1)
		}
	}
	t, ok := e.(*table)
	if !ok || len(t.named) > 0 {
		return nil
	}
	var out []string
	for _, item := range t.items {
		s, ok := item.(*text)
		if !ok {
			return nil
		}
		out = append(out, s.value)
	}
	return out
}

// iterated returns the table whose values a loop's variable has, nil if there is none.
func iterated(o origin) expression {
	c, ok := o.loop.(*call)
	if !ok || o.at != 1 || len(c.args) != 1 || c.method != "" {
		return nil
	}
	if f, ok := c.target.(*identifier); ok && f.v.global && (f.v.name == "ipairs" || f.v.name == "pairs") {
		return c.args[0]
	}
	return nil
}
