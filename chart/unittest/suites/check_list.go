// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"errors"
	"fmt"
)

// contains is the assertion contains, about an item of a list.
type contains struct {
	path    valuePath
	content any
	count   *int
	any     bool
}

func parseContains(p *params) checker {
	return &contains{path: p.path(), content: p.any("content"), count: p.number("count"), any: p.flag("any")}
}

func (c *contains) check(v *view) []string {
	want := expected(v.negated, "to contain", encode([]any{c.content}))
	none := join(want, section("Actual:", noManifest))
	return v.eachValue(c.path, none, func(found any) (bool, []string, error) {
		list, ok := found.([]any)
		if !ok {
			return false, nil, fmt.Errorf("expect '%s' to be an array, got:\n%s", c.path.text, encode(found))
		}
		n := 0
		for _, item := range list {
			if c.isItem(item) {
				n++
			}
		}
		if c.count == nil || n == 0 {
			return n > 0, join(want, section("Actual:", encode(found))), nil
		}
		if same := n == *c.count; same == v.negated {
			return false, nil, fmt.Errorf("expect count %d in '%s' to be in array, got %d:\n%s", *c.count, c.path.text, n,
				encode(found))
		}
		return !v.negated, nil, nil
	})
}

// isItem reports whether an item of the list is the content. With any, a map need only have the
// content's entries.
func (c *contains) isItem(item any) bool {
	want, isMap := c.content.(map[string]any)
	have, ok := item.(map[string]any)
	if !c.any || !isMap || !ok {
		return equal(item, c.content)
	}
	return hasEntries(have, want)
}

func hasEntries(have, want map[string]any) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || !equal(got, v) {
			return false
		}
	}
	return true
}

// isSubset is the assertion isSubset, about entries of a map.
type isSubset struct {
	path    valuePath
	content any
}

func parseIsSubset(p *params) checker {
	return &isSubset{path: p.path(), content: p.any("content")}
}

func (c *isSubset) check(v *view) []string {
	want := expected(v.negated, "to contain", encode(c.content))
	none := join(want, section("Actual:", noManifest))
	return v.eachValue(c.path, none, func(found any) (bool, []string, error) {
		have, ok := found.(map[string]any)
		if !ok {
			return false, nil, fmt.Errorf("expect '%s' to be an object, got:\n%s", c.path.text, encode(found))
		}
		content, ok := c.content.(map[string]any)
		return ok && hasEntries(have, content), join(want, section("Actual:", encode(found))), nil
	})
}

// length is the assertion lengthEqual, about the lengths of lists. Other values have the length 0.
type length struct {
	path  valuePath
	paths []valuePath
	count *int
}

func parseLength(p *params) checker {
	c := &length{count: p.number("count")}
	if p.find("path") != nil {
		c.path = p.path()
	}
	for _, text := range p.texts("paths") {
		c.paths = append(c.paths, newPath(text))
	}
	return c
}

func (c *length) check(v *view) []string {
	none := join([]string{"Path:\t" + c.path.text}, expected(v.negated, "to match count", ""),
		section("Actual:", noManifest))
	return v.eachDocument(none, func(d document) []string {
		paths := c.paths
		if c.path != (valuePath{}) {
			if c.count == nil {
				return errorLines("'count' field must be set if 'path' is used")
			}
			paths = []valuePath{c.path}
		}
		if len(paths) == 0 {
			return c.absent(v, errors.New("want a path or paths"))
		}
		want := c.count
		if want == nil && len(paths) > 0 {
			return c.same(v, d, paths)
		}
		var out []string
		for _, p := range paths {
			found, err := p.find(d)
			if err != nil {
				return join(at(d, -1), errorLines("%s", err))
			}
			if len(found) == 0 {
				out = append(out, c.absent(v, fmt.Errorf("unknown path %s", p.text))...)
			}
			for _, value := range found {
				if got := lengthOf(value); got == *want == v.negated {
					out = append(out, c.wrong(v, d, p, fmt.Sprint(*want), got)...)
				}
			}
		}
		return out
	})
}

// same checks that the lists of all paths have the same length. As in helm-unittest, its negation never
// fails.
func (c *length) same(v *view, d document, paths []valuePath) []string {
	if v.negated {
		return nil
	}
	first, differs := -1, false
	var wrong valuePath
	last := 0
	for _, p := range paths {
		found, err := p.find(d)
		if err != nil {
			return join(at(d, -1), errorLines("%s", err))
		}
		if len(found) == 0 {
			return c.absent(v, fmt.Errorf("unknown path %s", p.text))
		}
		for _, value := range found {
			n := lengthOf(value)
			if first < 0 {
				first = n
			} else if n != first {
				differs, wrong, last = true, p, n
			}
		}
	}
	if differs {
		return c.wrong(v, d, wrong, fmt.Sprint(first), last)
	}
	return nil
}

func (c *length) absent(v *view, err error) []string {
	if v.negated {
		return nil
	}
	return errorLines("%s", err)
}

func (c *length) wrong(v *view, d document, p valuePath, want string, got int) []string {
	return join(at(d, -1), []string{"Path:\t" + p.text}, expected(v.negated, "to match count", want),
		section("Actual:", fmt.Sprint(got)))
}

func lengthOf(v any) int {
	list, _ := v.([]any)
	return len(list)
}
