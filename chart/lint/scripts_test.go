// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

func TestScripts(t *testing.T) {
	named := func(name string, fs ...string) *chart.Chart {
		return &chart.Chart{Metadata: &chart.Metadata{Name: name}, Files: files(fs...)}
	}
	const script = "ext/lua/chart.lua"
	known := []string{"pre-render", "post-render", "pre-install"}
	direct := func(c *chart.Chart) map[string]*chart.Chart {
		out := map[string]*chart.Chart{}
		for _, d := range c.Dependencies() {
			out[d.Name()] = d
		}
		return out
	}
	for _, tt := range []struct {
		name string
		in   ScriptInput
		want []string
	}{
		{"no chart, no findings", ScriptInput{}, []string{}},
		{
			"a script that does what it should",
			ScriptInput{
				Chart:    named("web", script, "", "ext/lua/lib/a.lua", "", "ext/permissions.yaml", "lua: [io]"),
				Events:   []Use{{"web", script, 1, "pre-render"}},
				Requires: []Use{{"web", script, 2, "lib.a"}, {"web", script, 3, "db/names"}, {"web/charts/db", script, 4, "names"}},
			},
			[]string{},
		},
		{
			"what does not compile, and what is asked for in vain",
			ScriptInput{
				Chart:    named("web", script, ""),
				Problems: []Problem{{Error, "web", script, 7, "'end' expected near 100%"}, {Error, "web/charts/db", "ext/permissions.yaml", 0, `unknown permission "gpu"`}},
			},
			[]string{
				`[ERROR] charts/db/ext/permissions.yaml: unknown permission "gpu"`,
				"[ERROR] ext/lua/chart.lua:7: 'end' expected near 100%",
			},
		},
		{
			"events that do not exist: the one that was meant, and all that do",
			ScriptInput{
				Chart:  named("web", script, ""),
				Events: []Use{{"web", script, 1, "preInstal"}, {"web", script, 2, "when-it-rains"}},
			},
			[]string{
				`[ERROR] ext/lua/chart.lua:1: unknown event "preInstal" (did you mean "pre-install"?); the events are pre-render, post-render, pre-install`,
				`[ERROR] ext/lua/chart.lua:2: unknown event "when-it-rains"; the events are pre-render, post-render, pre-install`,
			},
		},
		{
			"handlers in libraries are bad practice, and legal",
			ScriptInput{
				Chart:  named("web", script, ""),
				Events: []Use{{"web/library/common", script, 3, "pre-render"}},
			},
			[]string{"[WARNING] library/common/ext/lua/chart.lua:3: a library chart handles the event pre-render, which users of the library cannot see; let its users call events.on"},
		},
		{
			"requires that lead nowhere",
			ScriptInput{
				Chart:    named("web", script, ""),
				Requires: []Use{{"web", script, 1, "lib.b"}, {"web", script, 2, "mail/x"}, {"web", script, 3, "db/x.y"}, {"web/charts/db", "ext/lua/names.lua", 4, "web/x"}},
			},
			[]string{
				`[ERROR] charts/db/ext/lua/names.lua:4: require("web/x"): the chart db has no enabled dependency and no library "web"`,
				`[ERROR] ext/lua/chart.lua:1: require("lib.b"): the chart has no ext/lua/lib/b.lua`,
				`[ERROR] ext/lua/chart.lua:2: require("mail/x"): the chart web has no enabled dependency and no library "mail"`,
				`[ERROR] ext/lua/chart.lua:3: require("db/x.y"): db has no ext/lua/x/y.lua`,
			},
		},
		{
			"files of ext/ that mean nothing",
			ScriptInput{Chart: named("web", script, "", "ext/README.md", "", "ext/lua/data.json", "", "extra/x", "")},
			[]string{
				"[INFO] ext/README.md: the file has no effect: ext/ is for lua/ and permissions.yaml",
				"[INFO] ext/lua/data.json: the file is not a script: its name does not end in .lua",
			},
		},
		{
			"scripts that nothing loads",
			ScriptInput{Chart: named("web", "ext/lua/names.lua", "", "ext/permissions.yaml", "")},
			[]string{"[INFO] ext/lua: there is no chart.lua, which is loaded with the chart: these scripts run only if other charts require them"},
		},
		{
			"permissions for no one",
			ScriptInput{Chart: named("web", "ext/permissions.yaml", "")},
			[]string{"[INFO] ext/permissions.yaml: the chart requests permissions and has no ext/lua/chart.lua that would use them"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if c := tt.in.Chart; c != nil {
				lib := named("common", script, "", "ext/odd", "")
				lib.FromLibrary = true
				c.SetDependencies(lib, named("db", script, "", "ext/lua/names.lua", "", "ext/odd", ""))
			}
			tt.in.Named, tt.in.Known = direct, known
			same(t, findingLines(Scripts(tt.in)), tt.want)
		})
	}
	lib := named("common", "ext/lua/names.lua", "")
	lib.Metadata.Type = chart.TypeLibrary
	same(t, findingLines(Scripts(ScriptInput{Chart: lib})), []string{})
}
