// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"errors"
	"fmt"
	"strings"
)

// isField is the assertions isKind and isAPIVersion.
type isField struct{ field, title, of string }

func (c *isField) check(v *view) []string {
	want := expected(v.negated, "to be "+c.title, c.of)
	return v.eachDocument(join(want, section("Actual:", noManifest)), func(d document) []string {
		object, _ := d.value.(map[string]any)
		got, ok := object[c.field]
		if (ok && got == c.of) != v.negated {
			return nil
		}
		if v.negated {
			return join(at(d, -1), want)
		}
		return join(at(d, -1), want, section("Actual:", encode(got)))
	})
}

// hasDocuments is the assertion hasDocuments.
type hasDocuments struct {
	count    *int
	filtered bool
}

func parseHasDocuments(p *params) checker {
	return &hasDocuments{count: p.number("count"), filtered: p.flag("filterAware")}
}

func (c *hasDocuments) check(v *view) []string {
	want, got := 0, v.all
	if c.count != nil {
		want = *c.count
	}
	if c.filtered {
		got = len(v.docs)
	}
	if (got == want) != v.negated {
		return nil
	}
	lines := expected(v.negated, "documents count to be", fmt.Sprint(want))
	if !v.negated {
		lines = join(lines, section("Actual:", fmt.Sprint(got)))
	}
	return lines
}

// containsDocument is the assertion containsDocument.
type containsDocument struct {
	kind, apiVersion, name, namespace string
	any                               bool
}

func parseContainsDocument(p *params) checker {
	return &containsDocument{kind: p.text("kind"), apiVersion: p.text("apiVersion"), name: p.text("name"),
		namespace: p.text("namespace"), any: p.flag("any")}
}

func (c *containsDocument) check(v *view) []string {
	var other []document // those that are not the document
	for _, d := range v.docs {
		if !c.is(d) {
			other = append(other, d)
		}
	}
	matches := len(v.docs) > 0 && len(other) == 0
	if c.any {
		matches = len(other) < len(v.docs)
	}
	if matches != v.negated {
		return nil
	}
	want := expected(v.negated, "to contain document", c.String())
	if v.negated || len(v.docs) == 0 {
		return want
	}
	var out []string
	for _, d := range other {
		out = append(out, join(at(d, -1), want)...)
	}
	return out
}

func (c *containsDocument) is(d document) bool {
	object, _ := d.value.(map[string]any)
	return text(object["kind"]) == c.kind && text(object["apiVersion"]) == c.apiVersion &&
		(c.name == "" || field(object, "name") == c.name) &&
		(c.namespace == "" || field(object, "namespace") == c.namespace)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func (c *containsDocument) String() string {
	s := fmt.Sprintf("Kind = %s, apiVersion = %s", c.kind, c.apiVersion)
	if c.name != "" {
		s += ", Name = " + c.name
	}
	if c.namespace != "" {
		s += ", Namespace = " + c.namespace
	}
	return s
}

// failedTemplate is the assertions failedTemplate and notFailedTemplate.
type failedTemplate struct {
	// required is set if the template must fail, whatever the message. That is so for failedTemplate
	// with not: true, which is about the message.
	required bool
	message  string
	pattern  regex
	err      error
}

func parseFailedTemplate(p *params) checker {
	c := &failedTemplate{required: p.name == "failedTemplate", message: p.text("errorMessage")}
	if re := p.text("errorPattern"); re != "" {
		c.pattern = compile(re)
		if c.message != "" {
			c.err = errors.New("single attribute 'errorMessage' or 'errorPattern' supported at the same time")
		}
	}
	return c
}

func (c *failedTemplate) check(v *view) []string {
	switch {
	case c.err != nil:
		return errorLines("%s", c.err)
	case c.pattern.err != nil:
		return errorLines("%s", c.pattern.err)
	case v.failed == nil && !c.required && (v.negated || v.all > 0):
		return nil
	case v.failed == nil && v.missing:
		return join(c.expected(v), section("Actual:", "No failed document"))
	case v.failed == nil && v.all == 0:
		return []string{"Error: rendered manifest is empty"}
	case v.failed == nil:
		return []string{"Error: the template has not failed"}
	case c.required && v.negated && c.message == "" && !c.contains(v.failed):
		return nil
	case c.matches(v.failed) != v.negated:
		return nil
	case v.negated:
		return c.expected(v)
	}
	return join(c.expected(v), section("Actual:", v.failed.texts()[0]))
}

func (c *failedTemplate) expected(v *view) []string {
	if c.pattern.text != "" {
		return expected(v.negated, "to match", c.pattern.text)
	}
	return expected(v.negated, "to equal", c.message)
}

// matches reports whether a failure is the expected one. Without a message it is.
func (c *failedTemplate) matches(f *failure) bool {
	for _, text := range f.texts() {
		switch {
		case c.pattern.re != nil && c.pattern.re.MatchString(text),
			c.pattern.re == nil && c.message != "" && text == c.message,
			c.pattern.re == nil && c.message == "":
			return true
		}
	}
	return false
}

// contains reports whether the message has the text of the pattern. As in helm-unittest, failedTemplate with
// not: true is about that text, and without a pattern it never fails.
func (c *failedTemplate) contains(f *failure) bool {
	return c.pattern.text != "" && strings.Contains(f.texts()[0], c.pattern.text)
}

// matchSnapshot is the assertions matchSnapshot and matchSnapshotRaw.
type matchSnapshot struct {
	path       valuePath
	isRaw      bool
	with       regex
	without    regex
	hasPattern [2]bool
}

func parseSnapshot(p *params) checker {
	c := &matchSnapshot{path: p.path()}
	for i, name := range []string{"matchRegex", "notMatchRegex"} {
		n := p.find(name)
		if n == nil {
			continue
		}
		inner := &params{name: p.name + "." + name, node: n}
		c.hasPattern[i] = true
		*[]*regex{&c.with, &c.without}[i] = compile(inner.text("pattern"))
		if inner.err != nil {
			p.err = inner.err
		}
	}
	return c
}

func (c *matchSnapshot) check(v *view) []string {
	var out []string
	if len(v.docs) == 0 && v.negated {
		return expected(true, "to match snapshot", noManifest)
	}
	for _, d := range v.docs {
		if c.isRaw {
			text, _ := d.raw()
			out = append(out, c.compare(v, d, -1, text)...)
			continue
		}
		found, err := c.path.find(d)
		switch {
		case err != nil:
			out = append(out, join(at(d, -1), errorLines("%s", err))...)
		case len(found) == 0 && !v.negated:
			out = append(out, join(at(d, -1), errorLines("unknown path %s", c.path.text))...)
		}
		for i, value := range found {
			out = append(out, c.compare(v, d, i, value)...)
		}
	}
	return out
}

func (c *matchSnapshot) compare(v *view, d document, i int, value any) []string {
	content := encode(trimmed(value))
	number, stored, same := v.snapshot(content, !c.hasPattern[0] && !c.hasPattern[1])
	for j, p := range []regex{c.with, c.without} {
		switch {
		case !c.hasPattern[j]:
		case p.err != nil:
			return join(at(d, i), errorLines("%s", p.err))
		case p.re.MatchString(content) != (j == 0):
			words := []string{"should be", "should not be"}
			return join(at(d, i), []string{fmt.Sprintf("Expected pattern '%s' %s in snapshot:", p.text, words[j])},
				section("Actual:", content))
		}
	}
	if same != v.negated {
		return nil
	}
	shown := content
	if !v.negated {
		shown = diff(stored, content)
	}
	lines := section(fmt.Sprintf("%s %d:", strings.TrimSuffix(expectedTitle(v.negated, "to match snapshot"), ":"), number),
		shown)
	if !c.isRaw {
		lines = join([]string{"Path:\t" + c.path.text}, lines)
	}
	return join(at(d, i), lines)
}
