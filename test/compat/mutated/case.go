// SPDX-License-Identifier: Apache-2.0

// Package mutated renders public charts with mutated values with Moonhelm and with Helm 4, and
// reduces differences to a case that can be run by hand:
//
//	MOONHELM_MUTATIONS=100000 go test ./mutated -run Mutated -timeout 6h
//	MOONHELM_MUTATION=7/4711 go test ./mutated -run Mutated -v   # one case again
//
// It starts no process for each case: Moonhelm renders in the test, and Helm's SDK in a program
// that renders many (../helm4). TestInProcessIsWhatTheBinariesDo compares both with the
// binaries.
package mutated

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Case is a call of `helm template`.
type Case struct {
	Chart       *Source
	Edits       []Edit
	Name        string
	Namespace   string
	KubeVersion string
	APIVersions []string
	IsUpgrade   bool
	IncludeCRDs bool
	SkipSchema  bool
}

// Form is the way in which an edit is passed.
type Form int

// The forms of edits.
const (
	InFile     Form = iota // the first -f
	InSecond               // the second -f
	InDefaults             // the chart's own values.yaml
	BySet
	BySetString
	BySetJSON
	BySetLiteral
	forms
)

// Edit sets one value. Path contains only keys of maps.
type Edit struct {
	Path  []string
	Value any
	Form  Form
}

// call is a case in the form for both sides: JSON for Helm's SDK, and flags for the binaries.
type call struct {
	Chart       string  // directory
	Defaults    *string `json:",omitempty"` // replaces the chart's values.yaml
	Files       []string
	Set         []string
	SetString   []string
	SetJSON     []string
	SetLiteral  []string
	Name        string
	Namespace   string
	KubeVersion string
	APIVersions []string
	IsUpgrade   bool
	IncludeCRDs bool
	SkipSchema  bool

	texts []string // of Files
}

// call returns the call of a case. The style of the values files depends only on seed.
func (c *Case) call(seed uint64) (*call, error) {
	out := &call{
		Chart: c.Chart.Dir, Name: c.Name, Namespace: c.Namespace, KubeVersion: c.KubeVersion, APIVersions: c.APIVersions,
		IsUpgrade: c.IsUpgrade, IncludeCRDs: c.IncludeCRDs, SkipSchema: c.SkipSchema,
	}
	var file, second map[string]any
	var edits []Edit
	for _, e := range c.Edits {
		switch e.Form {
		case InFile:
			file = set(file, e.Path, e.Value)
		case InSecond:
			second = set(second, e.Path, e.Value)
		case InDefaults:
			edits = append(edits, e)
		default:
			out.flag(e)
		}
	}
	w := &writer{seed: seed}
	for _, layer := range []map[string]any{file, second} {
		if layer == nil {
			continue
		}
		text, err := w.text(layer)
		if err != nil {
			return nil, err
		}
		out.texts = append(out.texts, text)
	}
	if edits != nil {
		text, err := c.Chart.defaults(edits, w)
		if err != nil {
			return nil, err
		}
		out.Defaults = &text
	}
	return out, nil
}

// flag adds an edit by the flag of its form, or by --set-json if that cannot express it.
func (c *call) flag(e Edit) {
	key := setKey(e.Path)
	switch v := plain(e.Value).(type) {
	case string:
		switch e.Form {
		case BySet:
			c.Set = append(c.Set, key+"="+setValue.Replace(v))
			return
		case BySetString:
			c.SetString = append(c.SetString, key+"="+setValue.Replace(v))
			return
		case BySetLiteral:
			c.SetLiteral = append(c.SetLiteral, key+"="+v)
			return
		}
	case map[string]any, []any:
	default:
		if e.Form == BySet || e.Form == BySetString {
			text := fmt.Sprint(v)
			if v == nil {
				text = "null"
			}
			if e.Form == BySet {
				c.Set = append(c.Set, key+"="+text)
			} else {
				c.SetString = append(c.SetString, key+"="+text)
			}
			return
		}
	}
	text, err := json.Marshal(plain(e.Value))
	if err != nil {
		panic(err) // values are decoded from JSON
	}
	c.SetJSON = append(c.SetJSON, key+"="+string(text))
}

var (
	setEscapes = strings.NewReplacer(`\`, `\\`, `.`, `\.`, `,`, `\,`, `=`, `\=`, `[`, `\[`)
	setValue   = strings.NewReplacer(`\`, `\\`, `,`, `\,`)
)

func setKey(path []string) string {
	keys := make([]string, len(path))
	for i, k := range path {
		keys[i] = setEscapes.Replace(k)
	}
	return strings.Join(keys, ".")
}

// args returns the flags for a binary with the given files and chart directory.
func (c *call) args(dir string, files []string) []string {
	out := []string{"template", c.Name, dir, "--namespace", c.Namespace}
	for _, l := range []struct {
		flag   string
		values []string
	}{
		{"-f", files}, {"--set", c.Set}, {"--set-string", c.SetString}, {"--set-json", c.SetJSON},
		{"--set-literal", c.SetLiteral}, {"--api-versions", c.APIVersions},
	} {
		for _, v := range l.values {
			out = append(out, l.flag, v)
		}
	}
	if c.KubeVersion != "" {
		out = append(out, "--kube-version", c.KubeVersion)
	}
	for _, l := range []struct {
		flag string
		on   bool
	}{{"--is-upgrade", c.IsUpgrade}, {"--include-crds", c.IncludeCRDs}, {"--skip-schema-validation", c.SkipSchema}} {
		if l.on {
			out = append(out, l.flag)
		}
	}
	return out
}

// set sets the value at path in m and replaces other values on the way.
func set(m map[string]any, path []string, value any) map[string]any {
	if m == nil {
		m = map[string]any{}
	}
	if len(path) == 1 {
		m[path[0]] = value
		return m
	}
	sub, _ := m[path[0]].(map[string]any)
	m[path[0]] = set(clone(sub).(map[string]any), path[1:], value)
	return m
}
