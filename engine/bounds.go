// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"math"
	"reflect"
	"regexp"
	"strings"
)

// What one call may make and cost, of every function that templates may call. The bounds of
// a whole rendering are in budget.go; those of values that are written or copied, in
// weight.go. Every text that comes out of a function has at most maxText bytes, which is
// seen too late where a function makes much out of little: these are asked before.

// maxItems bounds the lists that functions make from nothing but a number.
const maxItems = 1_000_000

// bound is how much a call may ask for, reckoned from its arguments.
type bound struct {
	most int
	asks func(a []any) (int, error)
}

// bounds are the functions that make much out of little, each with why it does.
var bounds = []struct {
	names string // separated by spaces
	bound
}{
	// A text as often as a number says.
	{"repeat", bound{maxText, func(a []any) (int, error) { return times(intArg(a, 0), len(textArg(a, 1))), nil }}},
	// Spaces in front of each line.
	{"indent nindent", bound{maxText, func(a []any) (int, error) {
		return times(intArg(a, 0), strings.Count(textArg(a, 1), "\n")+1), nil
	}}},
	// A list of as many numbers as a number says.
	{"until", bound{maxItems, func(a []any) (int, error) { return abs(intArg(a, 0)), nil }}},
	{"untilStep",
		bound{maxItems, func(a []any) (int, error) { return steps(intArg(a, 0), intArg(a, 1), intArg(a, 2)), nil }}},
	{"seq", bound{maxItems, func(a []any) (most int, err error) {
		for i := range a {
			most = max(most, abs(intArg(a, i)))
		}
		return most, nil
	}}},
	// Random characters, which the system makes slowly.
	{"randAlpha randAlphaNum randAscii randNumeric randBytes",
		bound{maxItems, func(a []any) (int, error) { return intArg(a, 0), nil }}},
	// Lists behind each other, of which one may be given many times.
	{"concat", bound{maxItems, func(a []any) (n int, err error) {
		for _, list := range a {
			n += listLen(list)
		}
		return n, nil
	}}},
	// A text between all elements, or in the place of all that is found.
	{"join", bound{maxText, func(a []any) (int, error) { return times(listLen(a[1]), len(textArg(a, 0))), nil }}},
	{"replace", bound{maxText, func(a []any) (int, error) {
		return times(strings.Count(textArg(a, 2), textArg(a, 0)), len(textArg(a, 1))), nil
	}}},
	{"regexReplaceAll mustRegexReplaceAll", bound{maxText, func(a []any) (int, error) { return replaced(a, true) }}},
	{"regexReplaceAllLiteral mustRegexReplaceAllLiteral",
		bound{maxText, func(a []any) (int, error) { return replaced(a, false) }}},
	// An element of some 16 bytes for each byte that is found.
	{"split splitList",
		bound{maxItems, func(a []any) (int, error) { return strings.Count(textArg(a, 1), textArg(a, 0)), nil }}},
	{"regexFindAll mustRegexFindAll regexSplit mustRegexSplit", bound{maxItems, func(a []any) (int, error) {
		re, err := regexp.Compile(textArg(a, 0))
		if err != nil {
			return 0, err
		}
		return len(re.FindAllStringIndex(textArg(a, 1), maxItems+1)), nil
	}}},
	// The library goes through the text once for each line that it makes.
	{"wrap", bound{maxItems, func(a []any) (int, error) { return len(textArg(a, 1)), nil }}},
	{"wrapWith", bound{maxItems, func(a []any) (int, error) { return len(textArg(a, 2)), nil }}},
	{"wrapWith", bound{maxText, func(a []any) (int, error) {
		s := textArg(a, 2)
		return times(strings.Count(s, " ")+len(s)/max(intArg(a, 0), 1)+1, len(textArg(a, 1))), nil
	}}},
	// Keys of dict may be of any type: they are printed.
	{"dict", bound{0, func(a []any) (int, error) {
		for i := 0; i < len(a); i += 2 {
			if _, isText := a[i].(string); !isText {
				if err := checkSize(a[i]); err != nil {
					return 0, err
				}
			}
		}
		return 0, nil
	}}},
}

// rates are what calls cost where it is not what their arguments weigh.
var rates = []struct {
	names string
	rate
}{
	// These look at the surface of their arguments: how large those are does not matter.
	{"default empty coalesce get hasKey first mustFirst last mustLast chunk mustChunk index len not and " +
		"or ternary all any dig " +
		"typeOf typeIs typeIsLike kindOf kindIs required fail call", rate{surface: true}},
	// These weigh or count while they go through them.
	{"eq ne lt le gt ge printf deepEqual has mustHas merge mustMerge mergeOverwrite " +
		"mustMergeOverwrite deepCopy mustDeepCopy " +
		"toYaml mustToYaml toJson mustToJson toPrettyJson mustToPrettyJson toRawJson mustToRawJson unset",
		rate{surface: true}},
	// These copy a list, at its surface.
	{"keys values rest mustRest initial mustInitial append mustAppend push mustPush prepend mustPrepend concat " +
		"reverse mustReverse compact mustCompact without mustWithout uniq mustUniq", rate{surface: true, copies: true}},
	// These make maps and lists: bytes for each argument.
	{"dict", rate{surface: true, makes: 200}},
	{"set pick omit", rate{surface: true, makes: 50}},
	{"list tuple", rate{surface: true, makes: 16}},
	{"pluck", rate{surface: true, copies: true, makes: 16}},
	// Only where it is to be cut is looked at, not what is cut.
	{"slice mustSlice", rate{unweighed: 1}},
	// A template of its own.
	{"include tpl", rate{surface: true, cost: 10}},
	// What takes long on purpose, or because of the arithmetic: a step is some ten nanoseconds.
	{"genPrivateKey", rate{cost: 1_000_000}},
	{"derivePassword", rate{cost: 500_000}},
	{"genCA genSelfSignedCert genSignedCert", rate{cost: 200_000}},
	{"bcrypt htpasswd", rate{cost: 100_000}},
	{"genCAWithKey genSelfSignedCertWithKey genSignedCertWithKey", rate{cost: 10_000}},
}

// price sets what the functions may make and cost.
func price(m map[string]*function) {
	for _, r := range rates {
		for name := range strings.FieldsSeq(r.names) {
			if fn := m[name]; fn != nil {
				fn.rate = r.rate
			}
		}
	}
	for _, b := range bounds {
		for name := range strings.FieldsSeq(b.names) {
			if fn := m[name]; fn != nil {
				fn.bounds = append(fn.bounds, b.bound)
			}
		}
	}
	for name, fn := range m {
		fn.weighs = !fn.surface
		fn.parses = strings.HasPrefix(name, "from") || strings.HasPrefix(name, "mustFrom")
		fn.pattern = strings.HasPrefix(strings.ToLower(strings.TrimPrefix(name, "must")), "regex")
	}
}

// The arguments have the types of the parameters.
func textArg(a []any, i int) string { return a[i].(string) }
func intArg(a []any, i int) int     { return a[i].(int) }

// listLen is the number of elements of a list, 0 for what is none.
func listLen(list any) int {
	if r := reflect.ValueOf(list); r.Kind() == reflect.Slice || r.Kind() == reflect.Array {
		return r.Len()
	}
	return 0
}

// times is n*size, math.MaxInt where that is not a number; a negative n counts as none.
func times(n, size int) int {
	if n <= 0 || size == 0 {
		return 0
	}
	if n > math.MaxInt/size {
		return math.MaxInt
	}
	return n * size
}

func abs(n int) int {
	if n < 0 {
		n = -n
	}
	if n < 0 {
		return math.MaxInt
	}
	return n
}

// steps is how many numbers untilStep makes, and too many where it would go around.
func steps(from, to, step int) int {
	if max(math.Abs(float64(to)), math.Abs(float64(step))) > 1<<61 {
		return math.MaxInt
	}
	if step == 0 {
		return 0
	}
	n := math.Abs((float64(to) - float64(from)) / float64(step))
	if n >= math.MaxInt {
		return math.MaxInt
	}
	return int(n)
}

// replaced is how long the text becomes when what a pattern matches is replaced, or more.
// Where expand is set, the text that takes its place may name parts of the match.
func replaced(a []any, expand bool) (int, error) {
	s, by := textArg(a, 1), textArg(a, 2)
	refs := 0
	if expand {
		refs = strings.Count(by, "$")
	}
	if rough := max(times(len(s)+1, len(by)), times(len(s), refs)); rough <= maxText {
		return 0, nil
	}
	re, err := regexp.Compile(textArg(a, 0))
	if err != nil {
		return 0, err
	}
	size := len(s)
	re.ReplaceAllStringFunc(s, func(match string) string {
		if size <= maxText {
			size += len(by) + refs*len(match)
		}
		return ""
	})
	return size, nil
}

// shallowTOML refuses text whose arrays, tables or keys nest so deep that
// reading it would never end. Brackets within quotes count too, as they rarely
// come without their other half.
func shallowTOML(text string) error {
	depth, dots := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '[', '{':
			depth++
			dots = 0
		case ']', '}':
			depth = max(depth-1, 0)
		case '.':
			dots++
		case '=', '\n', ',':
			dots = 0
		}
		if depth > 5000 || dots > 1000 {
			return errors.New("the TOML nests too deep")
		}
	}
	return nil
}
