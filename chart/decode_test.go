// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

const head = "apiVersion: v2\nname: web\nversion: 1.2.3\n"

// TestParseMetadataMatchesHelm has the metadata that Helm 4.3.1 reads from unusual charts ({{
// toJson .Chart }} in a template).
func TestParseMetadataMatchesHelm(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a number's last zero is lost", head + "appVersion: 1.10", `{"appVersion":"1.1"}`},
		{"a whole number is a string", head + "appVersion: 1.0", `{"appVersion":"1"}`},
		{"a hexadecimal number is its value", head + "appVersion: 0x10", `{"appVersion":"16"}`},
		{"a date stays as written", head + "appVersion: 2020-01-01", `{"appVersion":"2020-01-01"}`},
		{"a boolean is a word", head + "description: yes", `{"description":"true"}`},
		{"scalars in a list of strings", head + "keywords: [1, yes]", `{"keywords":["1","true"]}`},
		{"annotations of other types", head + "annotations: {x: 1, z: 1.50, q: null}", `{"annotations":{"q":"","x":"1","z":"1.5"}}`},
		{"null is nothing", head + "appVersion: null\nkeywords: null", `{}`},
		{"unknown fields are dropped", head + "colour: red", `{}`},
		{"of two equal keys the last counts", head + "home: a\nhome: b", `{"home":"b"}`},
		{"what follows the first document is ignored", head + "---\nhome: b", `{}`},
		{"white space is a blank, control characters go", head + `description: "x\ny\tz\e[1m\u200b\u3000."`, `{"description":"x y z[1m ."}`},
		{"maintainers are cleaned too", head + `maintainers: [{name: "a\tb", email: 5}]`, `{"maintainers":[{"name":"a b","email":"5"}]}`},
		{"annotations are not", head + `annotations: {k: "a\tb"}`, `{"annotations":{"k":"a\tb"}}`},
		{"a path of numbers", head + "dependencies: [{name: x, import-values: [{child: 1, parent: 2}]}]", `{"dependencies":[{"name":"x","repository":"","import-values":[{"child":"1","parent":"2"}]}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := chart.ParseMetadata("Chart.yaml", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Validate(); err != nil {
				t.Fatal(err)
			}
			m.APIVersion, m.Name, m.Version = "", "", ""
			got, err := json.Marshal(m)
			if err != nil || string(got) != c.want {
				t.Errorf("got  %s %v\nwant %s", got, err, c.want)
			}
		})
	}
}

func TestParseMetadataDefaultAPIVersion(t *testing.T) {
	m, err := chart.ParseMetadata("Chart.yaml", []byte("name: a\nversion: 1.0.0\n"))
	if err != nil || m.APIVersion != chart.APIVersionV1 {
		t.Errorf("got %+v, %v", m, err)
	}
}

// TestParseMetadataInvalidFields checks that errors have the line of the field.
func TestParseMetadataInvalidFields(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a list for a string", "name: a\nversion: [1]\n", "Chart.yaml:2: version: must be a string, is a list"},
		{"a string for a list", head + "keywords: x\n", `Chart.yaml:4: keywords: must be a list, is "x"`},
		{"a word for a boolean", head + "deprecated: \"true\"\n", `Chart.yaml:4: deprecated: must be true or false, is "true"`},
		{"both of two", head + "icon: {}\nsources: {}\n", "Chart.yaml:4: icon: must be a string, is a map\nChart.yaml:5: sources: must be a list, is a map"},
		{"deep inside", head + "dependencies:\n- name: x\n- name: y\n  tags: z\n", `Chart.yaml:7: dependencies[1].tags: must be a list, is "z"`},
		{"import-values of a wrong type", head + "dependencies:\n- name: x\n  import-values: 5\n", `Chart.yaml:6: dependencies[0].import-values: must be a list, is "5"`},
		{"import-values of wrong items", head + "dependencies:\n- name: x\n  import-values:\n  - [a]\n", `Chart.yaml:7: dependencies[0].import-values[0]: must be a string, or a map with child and parent`},
		{"an annotation", head + "annotations:\n  x: [1]\n", "Chart.yaml:5: annotations.x: must be a string, is a list"},
		{"a null maintainer", head + "maintainers:\n- name: a\n-\n", "Chart.yaml:6: maintainers[1]: is empty, must have a name"},
		{"a null dependency", head + "dependencies: [null]\n", "Chart.yaml:4: dependencies[0]: is empty, must have a name and a version"},
		{"an alias that is a path", head + "dependencies:\n- name: x\n  alias: ../y\n", `Chart.yaml:6: validation: dependency "x" has disallowed characters in the alias: dependencies[0].alias is "../y", may contain only letters, digits, '-' and '_'`},
		{"one name twice", head + "dependencies:\n- name: x\n- {name: y, alias: x}\n", `Chart.yaml:6: dependencies[1]: uses the name "x" again (first in dependencies[0]); give one of them an alias`},
		{"export-values without a child", head + "dependencies:\n- name: x\n  export-values: [{parent: a}]\n", `Chart.yaml:6: dependencies[0].export-values[0]: must be a string, or a map with parent and child; parent is the path of a key`},
		{"export-values of all values", head + "dependencies:\n- name: x\n  export-values: [{parent: ., child: a}]\n", `Chart.yaml:6: dependencies[0].export-values[0]: must be a string, or a map with parent and child; parent is the path of a key`},
		{"depends-on of a wrong type", head + "dependencies:\n- name: x\n  depends-on: y\n", `Chart.yaml:6: dependencies[0].depends-on: must be a list, is "y"`},
		{"depends-on without a name", head + "dependencies:\n- name: x\n  depends-on: ['']\n", `Chart.yaml:6: dependencies[0].depends-on[0]: is empty, must name another dependency`},
		{"a dependency that waits for itself", head + "dependencies:\n- name: x\n  alias: z\n  depends-on: [x, z]\n", `Chart.yaml:7: dependencies[0].depends-on[1]: is the dependency itself, must name another one`},
		{"a name that leads out", "apiVersion: v2\nname: ../x\nversion: 1.0.0", `Chart.yaml:2: validation: chart.metadata.name "../x" is invalid: name is "../x", must be a plain name without slashes or dots alone`},
		{"a name of dots", "apiVersion: v2\nname: ..\nversion: 1.0.0", `Chart.yaml:2: validation: chart.metadata.name ".." is invalid: name is "..", must be a plain name without slashes or dots alone`},
		{"no name, no version", "apiVersion: v2", "Chart.yaml: validation: chart.metadata.name is required\nChart.yaml: validation: chart.metadata.version is required"},
		{"an unknown API version", "apiVersion: v4\nname: a\nversion: 1.0.0", `Chart.yaml:1: apiVersion: is "v4", must be v1 or v2`},
		{"no version at all", "apiVersion: v2\nname: a\nversion: x", `Chart.yaml:3: validation: chart.metadata.version "x" is invalid: version is "x", must be a semantic version such as 1.2.3`},
		{"an unknown type", head + "type: service", `Chart.yaml:4: validation: chart.metadata.type must be application or library: type is "service", must be application or library`},
		{"no YAML", "apiVersion: v2\nname: [", "cannot load Chart.yaml: error converting YAML to JSON: yaml: line 2: did not find expected node content"},
		{"no map", "- 1", "Chart.yaml:1: must be a map, is a list"},
		{"nothing", "", "Chart.yaml: validation: chart.metadata.name is required\nChart.yaml: validation: chart.metadata.version is required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := chart.ParseMetadata("Chart.yaml", []byte(c.text))
			if err == nil {
				err = chart.Locate("Chart.yaml", []byte(c.text), m.Validate())
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestLock(t *testing.T) {
	l, err := chart.ParseLock("Chart.lock", []byte("digest: sha256:1\ngenerated: \"2026-01-02T03:04:05.6Z\"\ndependencies: [{name: a, version: 1.0.0, repository: ''}]"))
	if err != nil || l.Digest != "sha256:1" || len(l.Dependencies) != 1 || l.Generated.Year() != 2026 {
		t.Errorf("got %+v, %v", l, err)
	}
	for text, want := range map[string]string{
		"generated: yesterday":           "Chart.lock:1: generated: must be a time such as 2026-01-31T12:00:00Z",
		"digest: x\ndependencies:\n- \n": "Chart.lock:3: dependencies[0]: is empty, must have a name and a version",
		"[1]":                            "Chart.lock:1: must be a map, is a list",
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := chart.ParseLock("Chart.lock", []byte(text)); err == nil || err.Error() != want {
				t.Errorf("%q: got %v, want %s", text, err, want)
			}
		})
	}
}

// TestEditVersionsKeepsTheText checks that two values change, as in a release pipeline, and
// that comments are kept.
func TestEditVersionsKeepsTheText(t *testing.T) {
	const text = "# ours\nname: web # the name\nversion: 1.2.3 # keep\nappVersion: \"1.0\"\ndescription: >-\n  version: 1.2.3\n"
	for _, c := range []struct{ name, text, version, app, want string }{
		{"nothing asked", text, "", "", text},
		{"both", text, "2.0.0", "7", strings.NewReplacer("version: 1.2.3 #", "version: 2.0.0 #", `"1.0"`, `"7"`).Replace(text)},
		{"appVersion is added", "name: a\nversion: 1.0.0", "", "7", "name: a\nversion: 1.0.0\nappVersion: \"7\"\n"},
		{"single quotes", "version: '1.0.0'\n", "2.0.0", "", "version: \"2.0.0\"\n"},
		{"a flow map", "{version: 1.0.0, appVersion: x}\n", "2.0.0", "y", "{version: 2.0.0, appVersion: y}\n"},
		{"escapes in quotes", "version: \"1\\x2e0\" # é\n", "2.0.0", "", "version: \"2.0.0\" # é\n"},
		{"after other letters", "{description: é, version: 1.0.0}\n", "2.0.0", "", "{description: é, version: 2.0.0}\n"},
		{"of equal keys the last", "version: 1.0.0\nVersion: 1.1.0\n", "2.0.0", "", "version: 1.0.0\nVersion: 2.0.0\n"},
		{"Windows line ends", "version: 1.0.0\r\nname: a\r\n", "2.0.0", "", "version: 2.0.0\r\nname: a\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := chart.EditVersions([]byte(c.text), c.version, c.app, false)
			if err != nil || string(got) != c.want {
				t.Errorf("got %q, %v\nwant %q", got, err, c.want)
			}
		})
	}
	for _, text := range []string{"version: &v 1.0.0\n", "version: >-\n  1.0.0\n", "version: [1]\n", "[]"} {
		if got, err := chart.EditVersions([]byte(text), "2.0.0", "", false); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestParseMetadataAliasBomb checks that a text of a few hundred bytes does not allocate
// gigabytes.
func TestParseMetadataAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		prev := "*a" + string(rune('0'+i%10))
		if i >= 10 {
			prev = "*b" + string(rune('0'+i-10))
		}
		next := "a" + string(rune('1'+i))
		if i >= 9 {
			next = "b" + string(rune('0'+i-9))
		}
		b.WriteString(next + ": &" + next + " [" + strings.Repeat(prev+", ", 9) + prev + "]\n")
	}
	if _, err := chart.ParseMetadata("Chart.yaml", []byte(b.String()+head)); err == nil {
		t.Error("a bomb was read")
	}
}

func FuzzParseMetadata(f *testing.F) {
	f.Add([]byte(head + "keywords: [a]\nmaintainers: [{name: x}, null]\ndependencies: [{name: x, import-values: [a, {child: b, parent: c}]}]"))
	f.Add([]byte("a: &x [1]\nname: *x\n<<: {version: [*x]}"))
	f.Add([]byte("? [a]\n: b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := chart.ParseMetadata("Chart.yaml", data)
		if err != nil {
			return
		}
		if chart.Locate("Chart.yaml", data, m.Validate()) == nil && strings.ContainsAny(m.Name, "/\\\x00\n") {
			t.Errorf("name %q", m.Name)
		}
		if out, err := chart.EditVersions(data, "9.8.7", "x", true); err == nil {
			_, _ = chart.ParseMetadata("Chart.yaml", out)
		}
	})
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte("dependencies:\n- name: a\n  version: 1.0.0\ndigest: sha256:0\ngenerated: \"2026-01-02T03:04:05Z\"\n"))
	f.Add([]byte("dependencies: [null]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := chart.ParseLock("Chart.lock", data)
		if err != nil {
			return
		}
		for _, d := range l.Dependencies {
			if d == nil {
				t.Error("an empty dependency")
			}
		}
	})
}

func TestParseRequirementsKeys(t *testing.T) {
	for text, want := range map[string]string{
		"requirements: [{name: apache, version: 1.2.3}]\nlibraries: [{name: common}]\n": "apache common",
		"dependencies: [{name: mysql}]\nrequirements: [{name: apache}]\n":               "mysql",
		"dependencies: [{name: [x]}]\n":                                                 "requirements.yaml:1: dependencies[0].name: must be a string, is a list",
		"requirements: [{name: [x]}]\n":                                                 "requirements.yaml:1: requirements[0].name: must be a string, is a list",
	} {
		t.Run(text, func(t *testing.T) {
			r, err := chart.ParseRequirements("requirements.yaml", []byte(text))
			var got []string
			if err != nil {
				got = append(got, err.Error())
			} else {
				for _, d := range append(r.Dependencies, r.Libraries...) {
					got = append(got, d.Name)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: got %q, want %q", text, got, want)
			}
		})
	}
}
