// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/internal/yaml"
)

// definition is a suite as its file has it.
type definition struct {
	settings         `yaml:",inline"`
	Suite            string   `yaml:"suite"`
	SnapshotID       string   `yaml:"snapshotId"`
	ExcludeTemplates []string `yaml:"excludeTemplates"`
	IncludeCRDs      bool     `yaml:"includeCrds"`
	Skip             skip     `yaml:"skip"`
	Tests            []test   `yaml:"tests"`
}

// settings are what a suite and each of its tests can set.
type settings struct {
	Values       []string     `yaml:"values"`
	Set          yaml.Node    `yaml:"set"`
	Templates    []string     `yaml:"templates"`
	Release      release      `yaml:"release"`
	Capabilities capabilities `yaml:"capabilities"`
	Chart        versions     `yaml:"chart"`
	Cluster      cluster      `yaml:"kubernetesProvider"`
	PostRenderer *command     `yaml:"postRenderer"`
}

// test is a test as its file has it.
type test struct {
	settings      `yaml:",inline"`
	It            string      `yaml:"it"`
	Template      string      `yaml:"template"`
	DocumentIndex *int        `yaml:"documentIndex"`
	Selector      *selector   `yaml:"documentSelector"`
	Asserts       []yaml.Node `yaml:"asserts"`
	// Skip has no minimumVersion, as in helm-unittest.
	Skip reason `yaml:"skip"`

	line       int
	assertions []*assertion
}

type release struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace"`
	Revision  *int   `yaml:"revision"`
	Upgrade   *bool  `yaml:"upgrade"`
}

type capabilities struct {
	Major *string `yaml:"majorVersion"`
	Minor *string `yaml:"minorVersion"`
	// APIVersions is a node, because null, which stands for no versions, differs from no key.
	APIVersions yaml.Node `yaml:"apiVersions"`
}

type versions struct {
	Version    string `yaml:"version"`
	AppVersion string `yaml:"appVersion"`
}

type cluster struct {
	Scheme  map[string]kind  `yaml:"scheme"`
	Objects []map[string]any `yaml:"objects"`
}

type kind struct {
	GVR struct {
		Group    string `yaml:"group"`
		Version  string `yaml:"version"`
		Resource string `yaml:"resource"`
	} `yaml:"gvr"`
	Namespaced bool `yaml:"namespaced"`
}

type reason struct {
	Reason string `yaml:"reason"`
}

type skip struct {
	Reason         string `yaml:"reason"`
	MinimumVersion string `yaml:"minimumVersion"`
}

// minimum returns the version that s requires, or nil.
func (s skip) minimum() (*semver.Version, error) {
	if s.MinimumVersion == "" {
		return nil, nil
	}
	v, err := semver.NewVersion(s.MinimumVersion)
	if err != nil {
		return nil, fmt.Errorf("minimumVersion %q: want a version such as %s", s.MinimumVersion, compatible)
	}
	return v, nil
}

type command struct {
	Cmd  string   `yaml:"cmd"`
	Args []string `yaml:"args"`
}

// An Error is returned for a suite that cannot be read.
type Error struct {
	// File is the path of the suite, and Line the 1-based line of the error, or 0.
	File string
	Line int
	Err  error
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.File, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Hint says where the format is described.
func (e *Error) Hint() string {
	if inner := (interface{ Hint() string })(nil); errors.As(e.Err, &inner) {
		return inner.Hint()
	}
	return "docs/unittest.md describes the format of suites"
}

// maxSuites limits the number of documents in a file.
const maxSuites = 10_000

// parseDefinitions parses the documents of a file. Those without content are left out.
func parseDefinitions(file string, text []byte, strict bool) ([]*definition, error) {
	dec := yaml.NewDecoderV3(bytes.NewReader(text))
	var out []*definition
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, readError(file, err)
		}
		if len(out) == maxSuites {
			return nil, &Error{File: file, Err: fmt.Errorf("the file has more than %d suites", maxSuites)}
		}
		if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
			continue
		}
		d, err := parseDefinition(file, &doc, strict)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
}

// missing returns an error with what, and with the field of n that a suite or test does not have, if there is
// one: its name may have a mistake.
func missing(what string, n *yaml.Node, t reflect.Type, where string) error {
	if wrong := checkMap(yaml.Target(n), t, where); wrong != nil {
		return fmt.Errorf("%s: %w", what, wrong)
	}
	return errors.New(what)
}

func parseDefinition(file string, doc *yaml.Node, strict bool) (*definition, error) {
	d := &definition{}
	if strict {
		if err := checkFields(doc); err != nil {
			return nil, &Error{File: file, Line: err.line, Err: err}
		}
	}
	if err := doc.Decode(d); err != nil {
		if wrong := checkShape(doc); wrong != nil {
			return nil, &Error{File: file, Line: wrong.line, Err: wrong}
		}
		return nil, readError(file, err)
	}
	root := doc.Content[0]
	if _, err := d.Skip.minimum(); err != nil {
		return nil, &Error{File: file, Line: yaml.Line(root, "skip", "minimumVersion"), Err: err}
	}
	if len(d.Tests) == 0 {
		return nil, &Error{File: file, Line: root.Line,
			Err: missing("no tests found", root, reflect.TypeFor[definition](), "a suite")}
	}
	nodes := yaml.Target(yaml.Value(yaml.Target(root), "tests"))
	for i := range d.Tests {
		var n *yaml.Node
		if nodes != nil && i < len(nodes.Content) {
			n = nodes.Content[i]
		}
		if err := parseTest(file, d, &d.Tests[i], n); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// parseTest parses the assertions of a test of d, whose node is n.
func parseTest(file string, d *definition, t *test, n *yaml.Node) error {
	if n != nil {
		t.line = n.Line
	}
	if len(t.Asserts) == 0 && t.Skip == (reason{}) && d.Skip == (skip{}) {
		return &Error{File: file, Line: t.line, Err: missing("no asserts found", n, reflect.TypeFor[test](), "a test")}
	}
	for j := range t.Asserts {
		a, err := parseAssertion(&t.Asserts[j])
		if err != nil {
			return &Error{File: file, Line: t.Asserts[j].Line, Err: err}
		}
		t.assertions = append(t.assertions, a)
	}
	return nil
}
