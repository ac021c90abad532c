// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/internal/yamlpath"
)

// assertion is an assertion of a test.
type assertion struct {
	// beside is the first unknown field next to the name, such as a parameter with too small an indent. It
	// has no effect, as in helm-unittest.
	beside string
	name   string // as written: "notEqual"
	line   int
	// not is the field of that name, and negated whether what is checked must not be so.
	not, negated bool
	// onFailure is set if the assertion is about a rendering that fails.
	onFailure bool
	template  string
	index     *int
	selector  *selector
	check     checker
	// keys are the first steps of the assertion's path, for the place of what it is about.
	keys []string
}

// checker checks the documents of a template. It returns lines about what is wrong.
type checker interface {
	check(v *view) []string
}

// view is what a checker sees: the documents of a template.
type view struct {
	docs []document // those that the test selects
	all  int        // the number of documents of the template
	// negated is set if what is checked must not be so.
	negated bool
	// missing is set if the template was not rendered.
	missing bool
	// failed is set if the template has failed.
	failed   *failure
	snapshot snapshotFunc
}

// selector selects documents by a value.
type selector struct {
	Path      string    `yaml:"path"`
	Value     yaml.Node `yaml:"value"`
	MatchMany bool      `yaml:"matchMany"`
	SkipEmpty bool      `yaml:"skipEmptyTemplates"`
}

// matches reports whether a document has what is selected.
func (s *selector) matches(d document) (bool, error) {
	path, err := yamlpath.Parse(s.Path)
	if err != nil {
		return false, err
	}
	found, err := path.Find(d.value)
	if err != nil || s.Value.Kind == 0 {
		return len(found) > 0, err
	}
	var want any
	if err := s.Value.Decode(&want); err != nil {
		return false, err
	}
	want = plain(want)
	return slices.ContainsFunc(found, func(v any) bool { return equal(v, want) }), nil
}

// parseAssertion parses a map that has an assertion's parameters below its name.
func parseAssertion(n *yaml.Node) (*assertion, error) {
	n = yaml.Target(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, &assertionError{describeNode(n)}
	}
	var head struct {
		Not      bool      `yaml:"not"`
		Template string    `yaml:"template"`
		Index    *int      `yaml:"documentIndex"`
		Selector *selector `yaml:"documentSelector"`
	}
	if err := n.Decode(&head); err != nil {
		if wrong := checkType(n, reflect.TypeOf(head), "", 0); wrong != nil {
			return nil, wrong
		}
		return nil, err
	}
	a := &assertion{line: n.Line, not: head.Not, template: head.Template, index: head.Index, selector: head.Selector}
	unknown := ""
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		parse, negated, ok := parserOf(name)
		switch {
		case !ok && !isHeadField(name) && unknown == "":
			unknown = name
		case !ok:
		case a.check != nil:
			return nil, fmt.Errorf("assertion type `%s` and `%s` is declared duplicately", a.name, name)
		default:
			a.name, a.negated = name, negated != head.Not
			p := &params{name: name, node: yaml.Target(n.Content[i+1])}
			a.check = parse(p)
			if p.err != nil {
				return nil, p.err
			}
			a.keys = p.keys
			a.onFailure = name == "failedTemplate"
		}
	}
	switch {
	case a.check != nil:
		a.beside = unknown
		return a, nil
	case unknown != "":
		return nil, &unknownAssertionError{name: unknown}
	}
	return nil, errors.New("no assertion type defined")
}

// assertionError is returned for an assertion that is not a map.
type assertionError struct{ got string }

func (e *assertionError) Error() string { return "an assertion must be a map, got " + e.got }

// Hint shows an assertion.
func (e *assertionError) Hint() string {
	return "write the assertion with its parameters: \"- equal: {path: spec.replicas, value: 3}\""
}

func isHeadField(name string) bool {
	return name == "not" || name == "template" || name == "documentIndex" || name == "documentSelector"
}

// unknownAssertionError is returned for an assertion of an unknown type.
type unknownAssertionError struct{ name string }

func (e *unknownAssertionError) Error() string {
	return fmt.Sprintf("Assertion type `%s` is invalid", e.name)
}

// Hint suggests the assertion that was probably meant.
func (e *unknownAssertionError) Hint() string {
	if near := suggest.Similar(assertionNames(), e.name, 4, strings.ToLower); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "docs/unittest.md lists the assertions"
}

// assertionNames returns the names of all assertions, sorted.
func assertionNames() []string {
	return strings.Fields("contains containsDocument equal equalRaw exists failedTemplate greaterOrEqual hasDocuments " +
		"isAPIVersion isEmpty isKind isNotEmpty isNotNull isNotNullOrEmpty isNotSubset isNotType isNull isNullOrEmpty " +
		"isSubset isType lengthEqual lessOrEqual matchRegex matchRegexRaw matchSnapshot matchSnapshotRaw notContains " +
		"notEqual notEqualRaw notExists notFailedTemplate notGreaterOrEqual notLengthEqual notLessOrEqual notMatchRegex " +
		"notMatchRegexRaw")
}

// parserOf returns the parser of an assertion's parameters. negated is set for the names of negations.
func parserOf(name string) (parse func(*params) checker, negated, ok bool) {
	base, negated := strings.CutPrefix(name, "not")
	if negated {
		base = strings.ToLower(base[:min(1, len(base))]) + base[min(1, len(base)):]
	} else if rest, is := strings.CutPrefix(name, "isNot"); is {
		base, negated = "is"+rest, true
	}
	switch base {
	case "isNull": // of old suites
		return parseExists, !negated, true
	case "exists":
		parse = parseExists
	case "contains":
		parse = parseContains
	case "equal":
		parse = parseEqual
	case "equalRaw":
		parse = parseEqualRaw
	case "failedTemplate":
		parse = parseFailedTemplate
	case "greaterOrEqual", "lessOrEqual":
		parse = func(p *params) checker { return parseOrder(p, base == "greaterOrEqual") }
	case "isNullOrEmpty", "isEmpty":
		parse = parseIsEmpty
	case "isSubset":
		parse = parseIsSubset
	case "isType":
		parse = parseIsType
	case "lengthEqual":
		parse = parseLength
	case "matchRegex":
		parse = parseMatchRegex
	case "matchRegexRaw":
		parse = parseMatchRegexRaw
	default:
		return parserOfPositive(name)
	}
	return parse, negated, true
}

// parserOfPositive is parserOf for assertions that have no name for their negation.
func parserOfPositive(name string) (parse func(*params) checker, negated, ok bool) {
	switch name {
	case "containsDocument":
		parse = parseContainsDocument
	case "hasDocuments":
		parse = parseHasDocuments
	case "isAPIVersion":
		parse = func(p *params) checker { return &isField{field: "apiVersion", title: "apiVersion", of: p.text("of")} }
	case "isKind":
		parse = func(p *params) checker { return &isField{field: "kind", title: "kind", of: p.text("of")} }
	case "matchSnapshot":
		parse = parseSnapshot
	case "matchSnapshotRaw":
		parse = func(*params) checker { return &matchSnapshot{isRaw: true} }
	default:
		return nil, false, false
	}
	return parse, false, true
}

// params are the parameters of an assertion. The first error stays in err.
type params struct {
	name string
	node *yaml.Node
	err  error
	keys []string // of the last path
}

// find returns the node of a parameter, or nil. The case of its name does not matter.
func (p *params) find(name string) *yaml.Node {
	if p.node == nil || p.node.Kind != yaml.MappingNode {
		if p.node != nil && p.node.Tag != "!!null" && p.err == nil {
			p.err = fmt.Errorf("%s: want a map of parameters, got %s", p.name, describeNode(p.node))
		}
		return nil
	}
	i := yaml.Find(p.node, name, strings.EqualFold)
	if i < 0 {
		return nil
	}
	return p.node.Content[i+1]
}

// paramError is returned for a parameter of a wrong type.
type paramError struct {
	name, param, want, got string
	scalar                 bool
}

func (e *paramError) Error() string {
	return fmt.Sprintf("%s: '%s' expected type '%s', got %s", e.name, e.param, e.want, e.got)
}

// Hint says how to write texts that look like numbers.
func (e *paramError) Hint() string {
	if e.want == "string" && e.scalar {
		return "put the value in quotes"
	}
	return "docs/unittest.md has the parameters of " + e.name
}

func (p *params) wrong(n *yaml.Node, name, want string) {
	if p.err == nil {
		n = yaml.Target(n)
		p.err = &paramError{p.name, name, want, describeNode(n), n.Kind == yaml.ScalarNode}
	}
}

// text returns a parameter that must be a string, or "".
func (p *params) text(name string) string {
	n := yaml.Target(p.find(name))
	if n == nil || n.ShortTag() == "!!null" {
		return ""
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		p.wrong(n, name, "string")
		return ""
	}
	return n.Value
}

func (p *params) flag(name string) (set bool) {
	p.decode(name, "bool", &set)
	return set
}

// number returns a parameter that must be an integer, or nil.
func (p *params) number(name string) *int {
	var n *int
	p.decode(name, "int", &n)
	return n
}

func (p *params) texts(name string) (list []string) {
	p.decode(name, "[]string", &list)
	return list
}

func (p *params) decode(name, want string, v any) {
	n := p.find(name)
	if n != nil && n.Decode(v) != nil {
		p.wrong(n, name, want)
	}
}

// any returns a parameter of any type, or nil.
func (p *params) any(name string) any {
	var v any
	p.decode(name, "any", &v)
	return plain(v)
}

// path returns the path that is a parameter. An error of its syntax is one of the checking, as in
// helm-unittest, so that not: true does not hide it.
func (p *params) path() valuePath {
	out := newPath(p.text("path"))
	if out.err == nil {
		p.keys = out.parsed.Keys()
	}
	return out
}

func newPath(text string) valuePath {
	parsed, err := yamlpath.Parse(text)
	return valuePath{text: text, parsed: parsed, err: err}
}

// valuePath is a parsed path, or the error of parsing it.
type valuePath struct {
	text   string
	parsed *yamlpath.Path
	err    error
}

func (p valuePath) find(d document) ([]any, error) {
	if p.err != nil {
		return nil, p.err
	}
	return p.parsed.Find(d.value)
}
