// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// equal compares values as decoded from YAML: 5 differs from 5.0 and from "5".
func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// isEqual is the assertion equal.
type isEqual struct {
	path    valuePath
	value   any
	decoded bool
}

func parseEqual(p *params) checker {
	return &isEqual{path: p.path(), value: p.any("value"), decoded: p.flag("decodeBase64")}
}

func (c *isEqual) check(v *view) []string {
	want := encode(c.value)
	none := join(expected(v.negated, "to equal", want), section("Actual:", noManifest),
		section("Diff:", diff(want, noManifest+"\n")))
	return v.eachValue(c.path, none, func(found any) (bool, []string, error) {
		found, err := decodeBase64(found, c.decoded)
		if err != nil {
			return false, nil, err
		}
		found = trimmed(found)
		lines := expected(v.negated, "to equal", want)
		if !v.negated {
			got := encode(found)
			lines = join(lines, section("Actual:", got), section("Diff:", diff(want, got)))
		}
		return equal(found, c.value), lines, nil
	})
}

// trimmed returns v without the line feeds at the beginning of texts, which helm-unittest ignores in
// equal and in snapshots.
func trimmed(v any) any {
	switch v := v.(type) {
	case string:
		return strings.TrimLeft(v, "\n")
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = trimmed(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = trimmed(item)
		}
		return out
	}
	return v
}

// decodeBase64 decodes a text if asked to.
func decodeBase64(v any, decode bool) (any, error) {
	if !decode {
		return v, nil
	}
	text := fmt.Sprint(v)
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("unable to decode base64 expected content %s", text)
	}
	return string(raw), nil
}

// isEqualRaw is the assertion equalRaw.
type isEqualRaw struct{ value string }

func parseEqualRaw(p *params) checker { return &isEqualRaw{value: p.text("value")} }

func (c *isEqualRaw) check(v *view) []string {
	want := encode(c.value)
	none := join(expected(v.negated, "to equal", want), section("Actual:", noManifest),
		section("Diff:", diff(want, noManifest+"\n")))
	return v.eachDocument(none, func(d document) []string {
		text, isRaw := d.raw()
		if (isRaw && text == c.value) != v.negated {
			return nil
		}
		lines := expected(v.negated, "to equal", want)
		if !v.negated {
			got := "<nil>\n"
			if isRaw {
				got = encode(text)
			}
			lines = join(lines, section("Actual:", got), section("Diff:", diff(want, got)))
		}
		return lines
	})
}

// exists is the assertion exists.
type exists struct{ path valuePath }

func parseExists(p *params) checker { return &exists{path: p.path()} }

func (c *exists) check(v *view) []string {
	line := "Path:\t" + c.path.text + " expected to exists"
	if v.negated {
		line = "Path:\t" + c.path.text + " expected to NOT exists"
	}
	return v.eachDocument([]string{line}, func(d document) []string {
		found, err := c.path.find(d)
		switch {
		case err != nil:
			return join(at(d, -1), errorLines("%s", err))
		case len(found) > 0 == v.negated:
			return join(at(d, -1), []string{line})
		}
		return nil
	})
}

// isEmpty is the assertion isNullOrEmpty.
type isEmpty struct{ path valuePath }

func parseIsEmpty(p *params) checker { return &isEmpty{path: p.path()} }

func (c *isEmpty) check(v *view) []string {
	title := "to be null or empty, got"
	return v.eachValue(c.path, expected(v.negated, title, noManifest), func(found any) (bool, []string, error) {
		return isEmptyValue(found), expected(v.negated, title, encode(found)), nil
	})
}

func isEmptyValue(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return reflect.ValueOf(v).IsZero()
}

// isType is the assertion isType, about the name of a Go type.
type isType struct {
	path valuePath
	kind string
}

func parseIsType(p *params) checker { return &isType{path: p.path(), kind: p.text("type")} }

func (c *isType) check(v *view) []string {
	none := join(expected(v.negated, "to be of type", c.kind), section("Actual:", noManifest))
	return v.eachValue(c.path, none, func(found any) (bool, []string, error) {
		got := ""
		if found != nil {
			got = fmt.Sprintf("%T", found)
		}
		return got == c.kind, join(expected(v.negated, "to be of type", c.kind), section("Actual:", got)), nil
	})
}

// matchRegex is the assertion matchRegex.
type matchRegex struct {
	path    valuePath
	pattern regex
	decoded bool
}

// regex is a regular expression, or the error of it.
type regex struct {
	text string
	re   *regexp.Regexp
	err  error
}

func compile(text string) regex {
	if text == "" {
		return regex{err: errors.New("expected field 'pattern' to be filled")}
	}
	re, err := regexp.Compile(text)
	if err != nil {
		err = fmt.Errorf("pattern %q: %w", text, err)
	}
	return regex{text: text, re: re, err: err}
}

func parseMatchRegex(p *params) checker {
	return &matchRegex{path: p.path(), pattern: compile(p.text("pattern")), decoded: p.flag("decodeBase64")}
}

func (c *matchRegex) check(v *view) []string {
	none := join(expected(v.negated, "to match", c.pattern.text), section("Actual:", noManifest))
	return v.eachValue(c.path, none, func(found any) (bool, []string, error) {
		if c.pattern.err != nil {
			return false, nil, c.pattern.err
		}
		found, err := decodeBase64(found, c.decoded)
		if err != nil {
			return false, nil, err
		}
		text, ok := found.(string)
		if !ok {
			return false, nil, fmt.Errorf("expect '%s' to be a string, got:\n%s", c.path.text, encode(found))
		}
		return c.pattern.re.MatchString(text),
			join(expected(v.negated, "to match", c.pattern.text), section("Actual:", text)), nil
	})
}

// matchRegexRaw is the assertion matchRegexRaw.
type matchRegexRaw struct{ pattern regex }

func parseMatchRegexRaw(p *params) checker {
	return &matchRegexRaw{pattern: compile(p.text("pattern"))}
}

func (c *matchRegexRaw) check(v *view) []string {
	none := join(expected(v.negated, "to match", c.pattern.text), section("Actual:", noManifest))
	return v.eachDocument(none, func(d document) []string {
		if c.pattern.err != nil {
			return errorLines("%s", c.pattern.err)
		}
		text, _ := d.raw()
		if c.pattern.re.MatchString(text) != v.negated {
			return nil
		}
		return join(expected(v.negated, "to match", c.pattern.text), section("Actual:", text))
	})
}

// order is the assertions greaterOrEqual and lessOrEqual.
type order struct {
	path    valuePath
	value   any
	greater bool
}

func parseOrder(p *params, greater bool) checker {
	return &order{path: p.path(), value: p.any("value"), greater: greater}
}

func (c *order) check(v *view) []string {
	word, title := "less", "to be less then or equal to, got"
	if c.greater {
		word, title = "greater", "to be greater then or equal to, got"
	}
	return v.eachValue(c.path, expected(v.negated, title, "no manifests found"), func(found any) (bool, []string, error) {
		if got, want := fmt.Sprintf("%T", found), fmt.Sprintf("%T", c.value); got != want {
			return false, nil, fmt.Errorf("actual '%s' and expected '%s' types do not match", got, want)
		}
		sign, ok := compare(found, c.value)
		if !ok {
			return v.negated, expected(v.negated, title, fmt.Sprintf("unsupported type '%T'", found)), nil
		}
		holds := sign >= 0
		if !c.greater {
			holds = sign <= 0
		} else if v.negated {
			// helm-unittest's notGreaterOrEqual fails for no value, and suites rely on it.
			holds = false
		}
		return holds, expected(v.negated, title,
			fmt.Sprintf("the actual '%v' is not %s or equal to the expected '%v'", found, word, c.value)), nil
	})
}

// compare compares two values of one type. ok is false if the type has no order.
func compare(a, b any) (sign int, ok bool) {
	switch a := a.(type) {
	case int:
		return cmp.Compare(a, b.(int)), true
	case uint64:
		return cmp.Compare(a, b.(uint64)), true
	case float64:
		return cmp.Compare(a, b.(float64)), true
	case string:
		return strings.Compare(a, b.(string)), true
	}
	return 0, false
}
