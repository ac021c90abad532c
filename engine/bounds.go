// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"math"
	"reflect"
	"regexp"
	"strings"
)

// This file has the cost and the limits of calls of template functions. The limits of a
// rendering are in budget.go, and those of encoded or copied values in weight.go. The result of
// every function is limited to maxText bytes. For functions whose result may be much larger
// than their arguments, the size is computed before the call.

// maxItems limits the lists that functions create from a number.
const maxItems = 1_000_000

// bound computes the size of a call's result from its arguments.
type bound struct {
	most int
	asks func(a []any) (int, error)
}

// bounds has the functions whose result may be much larger than their arguments, each with the
// reason.
var bounds = []struct {
	names string // separated by spaces
	bound
}{
	// A string repeated a number of times.
	{"repeat", bound{maxText, func(a []any) (int, error) { return times(intArg(a, 0), len(textArg(a, 1))), nil }}},
	// Spaces before each line.
	{"indent nindent", bound{maxText, func(a []any) (int, error) {
		return times(intArg(a, 0), strings.Count(textArg(a, 1), "\n")+1), nil
	}}},
	// A list with a number of numbers.
	{"until", bound{maxItems, func(a []any) (int, error) { return abs(intArg(a, 0)), nil }}},
	{"untilStep",
		bound{maxItems, func(a []any) (int, error) { return steps(intArg(a, 0), intArg(a, 1), intArg(a, 2)), nil }}},
	{"seq", bound{maxItems, func(a []any) (most int, err error) {
		for i := range a {
			most = max(most, abs(intArg(a, i)))
		}
		return most, nil
	}}},
	// Random characters, which are slow to generate.
	{"randAlpha randAlphaNum randAscii randNumeric randBytes",
		bound{maxItems, func(a []any) (int, error) { return intArg(a, 0), nil }}},
	// Concatenated lists, which may be the same list many times.
	{"concat", bound{maxItems, func(a []any) (n int, err error) {
		for _, list := range a {
			n += listLen(list)
		}
		return n, nil
	}}},
	// A string between all elements, or in place of all matches.
	{"join", bound{maxText, func(a []any) (int, error) { return times(listLen(a[1]), len(textArg(a, 0))), nil }}},
	{"replace", bound{maxText, func(a []any) (int, error) {
		return times(strings.Count(textArg(a, 2), textArg(a, 0)), len(textArg(a, 1))), nil
	}}},
	{"regexReplaceAll mustRegexReplaceAll", bound{maxText, func(a []any) (int, error) { return replaced(a, true) }}},
	{"regexReplaceAllLiteral mustRegexReplaceAllLiteral",
		bound{maxText, func(a []any) (int, error) { return replaced(a, false) }}},
	// An element of about 16 bytes for each match.
	{"split splitList",
		bound{maxItems, func(a []any) (int, error) { return strings.Count(textArg(a, 1), textArg(a, 0)), nil }}},
	{"regexFindAll mustRegexFindAll regexSplit mustRegexSplit", bound{maxItems, func(a []any) (int, error) {
		re, err := regexp.Compile(textArg(a, 0))
		if err != nil {
			return 0, err
		}
		return len(re.FindAllStringIndex(textArg(a, 1), maxItems+1)), nil
	}}},
	// The library scans the text once for each line of the result.
	{"wrap", bound{maxItems, func(a []any) (int, error) { return len(textArg(a, 1)), nil }}},
	{"wrapWith", bound{maxItems, func(a []any) (int, error) { return len(textArg(a, 2)), nil }}},
	{"wrapWith", bound{maxText, func(a []any) (int, error) {
		s := textArg(a, 2)
		return times(strings.Count(s, " ")+len(s)/max(intArg(a, 0), 1)+1, len(textArg(a, 1))), nil
	}}},
	// Keys of dict may have any type; they are printed.
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

// rates has the cost of functions for which it is not the weight of the arguments.
var rates = []struct {
	names string
	rate
}{
	// These do not walk their arguments, whose size does not matter.
	{"default empty coalesce get hasKey first mustFirst last mustLast chunk mustChunk index len not and " +
		"or ternary all any dig " +
		"typeOf typeIs typeIsLike kindOf kindIs required fail call", rate{surface: true}},
	// These count steps while they walk their arguments.
	{"eq ne lt le gt ge printf deepEqual has mustHas merge mustMerge mergeOverwrite " +
		"mustMergeOverwrite deepCopy mustDeepCopy " +
		"toYaml mustToYaml toJson mustToJson toPrettyJson mustToPrettyJson toRawJson mustToRawJson unset",
		rate{surface: true}},
	// These make a shallow copy of a list.
	{"keys values rest mustRest initial mustInitial append mustAppend push mustPush prepend mustPrepend concat " +
		"reverse mustReverse compact mustCompact without mustWithout uniq mustUniq", rate{surface: true, copies: true}},
	// These create maps and lists: bytes for each argument.
	{"dict", rate{surface: true, makes: 200}},
	{"set pick omit", rate{surface: true, makes: 50}},
	{"list tuple", rate{surface: true, makes: 16}},
	{"pluck", rate{surface: true, copies: true, makes: 16}},
	// Only the position to cut matters, not the string.
	{"slice mustSlice", rate{unweighed: 1}},
	// A template of its own.
	{"include tpl", rate{surface: true, cost: 10}},
	// Slow functions, such as cryptography. A step is about ten nanoseconds.
	{"genPrivateKey", rate{cost: 1_000_000}},
	{"derivePassword", rate{cost: 500_000}},
	{"genCA genSelfSignedCert genSignedCert", rate{cost: 200_000}},
	{"bcrypt htpasswd", rate{cost: 100_000}},
	{"genCAWithKey genSelfSignedCertWithKey genSignedCertWithKey", rate{cost: 10_000}},
}

// price sets the cost and the limits of functions.
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

// listLen returns the length of a list, or 0 for other values.
func listLen(list any) int {
	if r := reflect.ValueOf(list); r.Kind() == reflect.Slice || r.Kind() == reflect.Array {
		return r.Len()
	}
	return 0
}

// times returns n*size, or math.MaxInt on overflow. A negative n is treated as 0.
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

// steps returns the length of untilStep's result, or math.MaxInt on overflow.
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

// replaced returns an upper bound for the length of the text after replacing all matches of a
// pattern. If expand is set, the replacement may refer to submatches.
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

// shallowTOML returns an error for text whose arrays, tables or keys are nested so deeply that
// parsing takes too long. It also counts brackets in quotes, which are usually balanced.
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
