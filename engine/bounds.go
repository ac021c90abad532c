// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"math"
	"reflect"
	"regexp"
	"strings"
)

// This file has the cost of calls of template functions and the limits of their results. The
// limits of a rendering are in budget.go, and those of encoded or copied values in weight.go.
// The result of every function is limited to maxText bytes. For functions whose result may be
// much larger than their arguments, the size is computed before the call.

// maxItems limits the lists that functions create from a number.
const maxItems = 1_000_000

// limits has the cost of a call and the limits of its result.
type limits struct {
	// surface is set if the function looks only at the top level of its arguments, and copies
	// if it copies that level of a list.
	surface, copies bool
	// unweighed is the number of arguments, from the first on, that the function does not walk
	// although surface is not set.
	unweighed int
	// cost is the number of steps. makes is the number of bytes for each argument.
	cost, makes int
	bounds      []bound
}

// bound computes the size of a call's result from its arguments. A larger one than max is an
// error.
type bound struct {
	max  int
	size func(a []any) (int, error)
}

// functionLimits has the functions whose cost is not the weight of their arguments, or whose
// result may be much larger than these, each with the reason. Without a row, a function walks
// its arguments.
var functionLimits = []struct {
	names string // separated by spaces
	limits
}{
	// A string repeated a number of times.
	{"repeat", limits{bounds: []bound{{maxText, func(a []any) (int, error) {
		return times(intArg(a, 0), len(textArg(a, 1))), nil
	}}}}},
	// Spaces before each line.
	{"indent nindent", limits{bounds: []bound{{maxText, func(a []any) (int, error) {
		return times(intArg(a, 0), strings.Count(textArg(a, 1), "\n")+1), nil
	}}}}},
	// A list with a number of numbers.
	{"until", limits{bounds: []bound{{maxItems, func(a []any) (int, error) { return abs(intArg(a, 0)), nil }}}}},
	{"untilStep", limits{bounds: []bound{{maxItems, func(a []any) (int, error) {
		return steps(intArg(a, 0), intArg(a, 1), intArg(a, 2)), nil
	}}}}},
	{"seq", limits{bounds: []bound{{maxItems, func(a []any) (n int, err error) {
		for i := range a {
			n = max(n, abs(intArg(a, i)))
		}
		return n, nil
	}}}}},
	// Random characters, which are slow to generate.
	{"randAlpha randAlphaNum randAscii randNumeric randBytes",
		limits{bounds: []bound{{maxItems, func(a []any) (int, error) { return intArg(a, 0), nil }}}}},
	// Concatenated lists, which may be the same list many times.
	{"concat", limits{surface: true, copies: true, bounds: []bound{{maxItems, func(a []any) (n int, err error) {
		for _, list := range a {
			n += listLen(list)
		}
		return n, nil
	}}}}},
	// A string between all elements, or in place of all matches.
	{"join", limits{bounds: []bound{{maxText, func(a []any) (int, error) {
		return times(listLen(a[1]), len(textArg(a, 0))), nil
	}}}}},
	{"replace", limits{bounds: []bound{{maxText, func(a []any) (int, error) {
		return times(strings.Count(textArg(a, 2), textArg(a, 0)), len(textArg(a, 1))), nil
	}}}}},
	{"regexReplaceAll mustRegexReplaceAll",
		limits{bounds: []bound{{maxText, func(a []any) (int, error) { return replaced(a, true) }}}}},
	{"regexReplaceAllLiteral mustRegexReplaceAllLiteral",
		limits{bounds: []bound{{maxText, func(a []any) (int, error) { return replaced(a, false) }}}}},
	// An element of about 16 bytes for each match.
	{"split splitList", limits{bounds: []bound{{maxItems, func(a []any) (int, error) {
		return strings.Count(textArg(a, 1), textArg(a, 0)), nil
	}}}}},
	{"regexFindAll mustRegexFindAll regexSplit mustRegexSplit",
		limits{bounds: []bound{{maxItems, func(a []any) (int, error) {
			re, err := regexp.Compile(textArg(a, 0))
			if err != nil {
				return 0, err
			}
			return len(re.FindAllStringIndex(textArg(a, 1), maxItems+1)), nil
		}}}}},
	// The library scans the text once for each line of the result.
	{"wrap", limits{bounds: []bound{{maxItems, func(a []any) (int, error) { return len(textArg(a, 1)), nil }}}}},
	{"wrapWith", limits{bounds: []bound{
		{maxItems, func(a []any) (int, error) { return len(textArg(a, 2)), nil }},
		{maxText, func(a []any) (int, error) {
			s := textArg(a, 2)
			return times(strings.Count(s, " ")+len(s)/max(intArg(a, 0), 1)+1, len(textArg(a, 1))), nil
		}},
	}}},
	// Maps and lists that are created. Keys of dict may have any type; they are printed.
	{"dict", limits{surface: true, makes: 200, bounds: []bound{{0, func(a []any) (int, error) {
		for i := 0; i < len(a); i += 2 {
			if _, isText := a[i].(string); !isText {
				if err := checkSize(a[i]); err != nil {
					return 0, err
				}
			}
		}
		return 0, nil
	}}}}},
	{"set pick omit", limits{surface: true, makes: 50}},
	{"list tuple", limits{surface: true, makes: 16}},
	{"pluck", limits{surface: true, copies: true, makes: 16}},
	// These do not walk their arguments, whose size does not matter.
	{"default empty coalesce get hasKey first mustFirst last mustLast chunk mustChunk index len not and " +
		"or ternary all any dig " +
		"typeOf typeIs typeIsLike kindOf kindIs required fail call", limits{surface: true}},
	// These count steps while they walk their arguments: most replace a function of sprig, whose
	// time or stack has no limit (copy.go, encode.go, equal.go, format.go and merge.go).
	{"eq ne lt le gt ge printf deepEqual has mustHas merge mustMerge mergeOverwrite " +
		"mustMergeOverwrite deepCopy mustDeepCopy " +
		"toYaml mustToYaml toJson mustToJson toPrettyJson mustToPrettyJson toRawJson mustToRawJson unset",
		limits{surface: true}},
	// These make a shallow copy of a list.
	{"keys values rest mustRest initial mustInitial append mustAppend push mustPush prepend mustPrepend " +
		"reverse mustReverse compact mustCompact without mustWithout uniq mustUniq",
		limits{surface: true, copies: true}},
	// Only the position to cut matters, not the string.
	{"slice mustSlice", limits{unweighed: 1}},
	// A template of its own.
	{"include tpl", limits{surface: true, cost: 10}},
	// Slow functions, such as cryptography. A step is about ten nanoseconds.
	{"genPrivateKey", limits{cost: 1_000_000}},
	{"derivePassword", limits{cost: 500_000}},
	{"genCA genSelfSignedCert genSignedCert", limits{cost: 200_000}},
	{"bcrypt htpasswd", limits{cost: 100_000}},
	{"genCAWithKey genSelfSignedCertWithKey genSignedCertWithKey", limits{cost: 10_000}},
}

// setLimits sets the limits of functions.
func setLimits(m map[string]*function) {
	for _, row := range functionLimits {
		for name := range strings.FieldsSeq(row.names) {
			if fn := m[name]; fn != nil {
				fn.limits = row.limits
			}
		}
	}
	for name, fn := range m {
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
