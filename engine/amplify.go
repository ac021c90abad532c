// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"reflect"
	"regexp"
	"strings"

	"github.com/Masterminds/sprig/v3"
)

// amplifiers are sprig's functions that make much out of little given: what
// they will make is reckoned before they run.
func amplifiers() map[string]any {
	all := sprig.GenericFuncMap()
	concat := all["concat"].(func(...any) any)
	dict := all["dict"].(func(...any) map[string]any)
	join := all["join"].(func(string, any) string)
	wrap := all["wrap"].(func(int, string) string)
	wrapWith := all["wrapWith"].(func(int, string, string) string)
	randBytes := all["randBytes"].(func(int) (string, error))
	split := all["split"].(func(string, string) map[string]string)
	m := map[string]any{
		"concat": func(lists ...any) (any, error) {
			n := 0
			for _, l := range lists {
				if r := reflect.ValueOf(l); r.Kind() == reflect.Slice || r.Kind() == reflect.Array {
					n += r.Len()
				}
			}
			if n > maxItems {
				return nil, tooLarge(n)
			}
			return concat(lists...), nil
		},
		// The keys of dict may be of any type: they are printed.
		"dict": func(pairs ...any) (map[string]any, error) {
			for i := 0; i < len(pairs); i += 2 {
				if _, text := pairs[i].(string); !text {
					if err := checkSize(pairs[i]); err != nil {
						return nil, err
					}
				}
			}
			return dict(pairs...), nil
		},
		"join": func(sep string, list any) (string, error) {
			if n := reflect.ValueOf(list); n.Kind() == reflect.Slice && len(sep) > 0 && n.Len() > maxText/len(sep) {
				return "", tooLarge(n.Len())
			}
			return join(sep, list), nil
		},
		"replace": func(old, text, s string) (string, error) {
			if n := strings.Count(s, old); n > 0 && len(text) > maxText/n {
				return "", tooLarge(n)
			}
			return strings.ReplaceAll(s, old, text), nil
		},
		"splitList": func(sep, s string) ([]string, error) {
			if n := strings.Count(s, sep); n > maxItems {
				return nil, tooLarge(n)
			}
			return strings.Split(s, sep), nil
		},
		"split": func(sep, s string) (map[string]string, error) {
			if n := strings.Count(s, sep); n > maxItems {
				return nil, tooLarge(n)
			}
			return split(sep, s), nil
		},
		"wrap": func(width int, s string) (string, error) { return wrap(width, s), tooLong(s) },
		"wrapWith": func(width int, sep, s string) (string, error) {
			breaks := strings.Count(s, " ") + len(s)/max(width, 1) + 1
			if err := tooLong(s); err != nil || len(sep) > maxText/breaks {
				return "", tooLarge(breaks)
			}
			return wrapWith(width, sep, s), nil
		},
		"randBytes": func(n int) (string, error) {
			if n > maxItems {
				return "", tooLarge(n)
			}
			return randBytes(n)
		},
	}
	boundRegexes(m)
	return m
}

// tooLong refuses texts for functions that go through them slowly.
func tooLong(s string) error {
	if len(s) > maxItems {
		return tooLarge(len(s))
	}
	return nil
}

func boundRegexes(m map[string]any) {
	replace := func(expand bool) func(pattern, s, text string) (string, error) {
		return func(pattern, s, text string) (string, error) {
			re, err := regexp.Compile(pattern)
			if err != nil {
				return "", err
			}
			if err := replacedSize(re, s, text, expand); err != nil {
				return "", err
			}
			if expand {
				return re.ReplaceAllString(s, text), nil
			}
			return re.ReplaceAllLiteralString(s, text), nil
		}
	}
	find := func(pattern, s string, n int) ([]string, error) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		if n < 0 || n > maxItems {
			n = maxItems + 1
		}
		found := re.FindAllString(s, n)
		if len(found) > maxItems {
			return nil, tooLarge(len(found))
		}
		return found, nil
	}
	split := func(pattern, s string, n int) ([]string, error) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		if len(re.FindAllStringIndex(s, maxItems+1)) > maxItems {
			return nil, tooLarge(maxItems + 1)
		}
		return re.Split(s, n), nil
	}
	for _, name := range []string{"regexReplaceAll", "mustRegexReplaceAll"} {
		m[name] = replace(true)
	}
	for _, name := range []string{"regexReplaceAllLiteral", "mustRegexReplaceAllLiteral"} {
		m[name] = replace(false)
	}
	for _, name := range []string{"regexFindAll", "mustRegexFindAll"} {
		m[name] = find
	}
	for _, name := range []string{"regexSplit", "mustRegexSplit"} {
		m[name] = split
	}
}

var errGrowsTooLong = errors.New("the text that comes out is too long")

// replacedSize fails where replacing what re matches in s makes too long a text.
func replacedSize(re *regexp.Regexp, s, text string, expand bool) error {
	refs := 0
	if expand {
		refs = strings.Count(text, "$")
	}
	if (len(s)+1)*len(text) <= maxText && len(s)*refs <= maxText {
		return nil
	}
	size, left := len(s), 0
	re.ReplaceAllStringFunc(s, func(match string) string {
		if size <= maxText {
			size += len(text) + refs*len(match)
		} else {
			left++
		}
		return ""
	})
	if size > maxText {
		return errGrowsTooLong
	}
	return nil
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
