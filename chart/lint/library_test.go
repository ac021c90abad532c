// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

// aboutLibrary is an error as package dependency makes them.
type aboutLibrary struct{ name, text string }

func (e aboutLibrary) Error() string       { return e.text }
func (e aboutLibrary) LibraryName() string { return e.name }

func loaded(t *testing.T, fs []*chart.File, subs ...*chart.Chart) *chart.Chart {
	t.Helper()
	c := &chart.Chart{Raw: fs}
	var err error
	if c.Metadata, err = chart.ParseMetadata("Chart.yaml", c.File("Chart.yaml").Data); err != nil {
		t.Fatal(err)
	}
	if f := c.File("requirements.yaml"); f != nil {
		r, err := chart.ParseRequirements(f.Name, f.Data)
		if err != nil {
			t.Fatal(err)
		}
		c.Metadata.Libraries = r.Libraries
	}
	c.SetDependencies(subs...)
	return c
}

func TestLibraries(t *testing.T) {
	lib := func(name, kind string, templates ...string) *chart.Chart {
		return &chart.Chart{Metadata: &chart.Metadata{Name: name, Version: "1.0.0", Type: kind}, FromLibrary: true, Templates: files(templates...)}
	}
	plain := files("Chart.yaml", good, "values.yaml", "", "templates/a.yaml", "")
	with := func(list string) []*chart.File {
		return files("Chart.yaml", good+list, "values.yaml", "", "templates/a.yaml", "")
	}
	v1 := files("Chart.yaml", "apiVersion: v1\nname: web\nversion: 1.2.3\nicon: https://example.com/web.png\n", "values.yaml", "", "templates/a.yaml", "",
		"requirements.yaml", "libraries:\n- name: common\n- name: base\n  version: two\n  condition: base.enabled\n")
	for _, tt := range []struct {
		name  string
		files []*chart.File
		subs  []*chart.Chart
		err   error // of resolving
		want  []string
	}{
		{"a listed library that only defines", with("libraries:\n- name: common\n  version: ^1.0.0\n"), []*chart.Chart{lib("common", "library", "templates/_a.tpl", "{{ define \"x\" }}y{{ end }}\n")}, nil, []string{}},
		{
			"a normal chart may be one, but hardly means to be",
			with("libraries:\n- name: mysql\n"),
			[]*chart.Chart{lib("mysql", "", "templates/NOTES.txt", "hello", "templates/pod.yaml", "\nkind: Pod\n")}, nil,
			[]string{
				"[WARNING] library/mysql/Chart.yaml: a normal chart is used as a library: only what its templates define has an effect; if it is meant to be a library only, give it type: library",
				"[INFO] library/mysql/templates/NOTES.txt: a library chart is not installed: its notes are never shown",
				"[INFO] library/mysql/templates/pod.yaml:2: only {{define}} has an effect in a library chart; text outside of it is ignored",
			},
		},
		{
			"what no one lists is used all the same",
			plain, []*chart.Chart{lib("common", "library"), lib("common", "library")}, nil,
			[]string{"[INFO] library/common: the library is not listed under libraries: in Chart.yaml; any version of it will do"},
		},
		{
			"a library does not replace a dependency",
			with("dependencies:\n- name: common\n  version: 1.0.0\nlibraries:\n- name: common\n"), []*chart.Chart{lib("common", "library")}, nil,
			[]string{"[WARNING] Chart.yaml:6: chart directory is missing these dependencies: common"},
		},
		{
			"the list is checked word by word",
			with("libraries:\n- version: 1.0.0\n- name: common\n  version: ^one\n  tags: [x]\n  import-values: [data]\n"), nil, nil,
			[]string{
				"[ERROR] Chart.yaml:6: each library requires a name",
				`[ERROR] Chart.yaml:8: library "common": '^one' is neither a version nor a version range, such as '^1.2.0'`,
				"[INFO] Chart.yaml:9: tags has no meaning for a library: it has no values, and is always used",
				"[INFO] Chart.yaml:10: import-values has no meaning for a library: it has no values, and is always used",
			},
		},
		{
			"charts of apiVersion v1 list them in requirements.yaml",
			v1, nil,
			errors.Join(aboutLibrary{"common", "the library common is missing"}, aboutLibrary{"other", "the library other is missing"}),
			[]string{
				"[ERROR] Chart.yaml: the library other is missing",
				"[ERROR] requirements.yaml:2: the library common is missing",
				`[ERROR] requirements.yaml:4: library "base": 'two' is neither a version nor a version range, such as '^1.2.0'`,
				"[INFO] requirements.yaml:5: condition has no meaning for a library: it has no values, and is always used",
			},
		},
		{
			"a conflict is reported at the chart's own entry",
			with("libraries:\n- name: base\n- name: common\n  version: ^2.0.0\n"), []*chart.Chart{lib("base", "library"), lib("common", "library")},
			aboutLibrary{"common", "no version of the library common suits all:\n  web wants ^2.0.0"},
			[]string{"[ERROR] Chart.yaml:7: no version of the library common suits all:\n\t  web wants ^2.0.0"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := loaded(t, tt.files, tt.subs...)
			got := append(Chart(Input{Files: tt.files, Chart: c, Kube: KubeVersion{1, 37}}), Libraries(c, tt.err)...)
			same(t, findingLines(got), tt.want)
		})
	}
}
