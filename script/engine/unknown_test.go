// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"
)

func TestUnknownNamesAreErrors(t *testing.T) {
	for line, want := range map[string]string{
		`print(ctx.vales)`:                          `ctx has no field "vales"; did you mean ctx.values?`,
		`print(ctx.x)`:                              `ctx has no field "x"; it has capabilities, chart, charts`,
		`print(ctx[1])`:                             `ctx has no field 1`,
		`print(ctx.chart.nme)`:                      `ctx.chart has no field "nme"; did you mean ctx.chart.name?`,
		`print(ctx.chart.Name)`:                     `ctx.chart has no field "Name"; did you mean ctx.chart.name?`,
		`print(ctx.chart.foo)`:                      `ctx.chart has no field "foo"; it has annotations, apiVersion`,
		`print(ctx.release.isInstal)`:               `ctx.release has no field "isInstal"; did you mean ctx.release.isInstall?`,
		`print(ctx.capabilities.hasApi)`:            `ctx.capabilities has no field "hasApi"`,
		`print(ctx.chart.maintainers[1].mail)`:      `ctx.chart.maintainers[1] has no field "mail"; did you mean ctx.chart.maintainers[1].email?`,
		`ctx.values.x = helm.nul`:                   `helm has no field "nul"; did you mean helm.null?`,
		`print(helm.nothing)`:                       `helm has no field "nothing"; it has fail, has, list, map, null`,
		`print(yaml.parse("a"))`:                    `yaml has no field "parse"; it has decode, decodeAll, encode`,
		`print(json.Encode({}))`:                    `json has no field "Encode"; did you mean json.encode?`,
		`print(sha256.summ("x"))`:                   `sha256 has no field "summ"; did you mean sha256.sum?`,
		`events.On("pre-render", print)`:            `events has no field "On"; did you mean events.on?`,
		`event.once("pre-render", print)`:           `events has no field "once"; did you mean events.on?`,
		`subcharts.all()`:                           `subcharts has no field "all"; it has get, init`,
		`template.fn("x", print)`:                   `template has no field "fn"; it has func`,
		`kube.get("v1")`:                            `kube has no field "get"; it has lookup`,
		`ctx.values.x = unheard_of`:                 `unheard_of is not defined: no script of the chart assigns it`,
		`local replicas = 1 ctx.values.x = replcas`: `replcas is not defined; did you mean replicas?`,
		`if True then end`:                          `True is not defined`,
		`print(prnt)`:                               `prnt is not defined; did you mean print?`,
	} {
		h := newHost(t, alone(on("pre-render", line)))
		err := h.start()
		if err == nil {
			err = h.emit("pre-render", map[int]m{0: baseContext()}, "values")
		}
		f, ok := err.(*failure)
		if !ok || !strings.Contains(f.Error(), want) || f.m["line"] != int64(2) {
			t.Errorf("%s\n  says %v\n  not  %s", line, err, want)
		}
	}
}

// What is known but not there, what users name, and what is asked for with rawget is nil.
func TestKnownAndFreeNamesAreNil(t *testing.T) {
	h := started(t, []any{chartOf("web", "web", -1, map[string]string{
		"chart.lua": on("pre-render", `
assert(ctx.results == nil and ctx.lint == nil and ctx.values.nothing_at_all == nil and ctx.charts.mysql2 == nil)
assert(ctx.chart.annotations == nil and ctx.chart.icon == nil) -- this host sends none
assert(rawget(ctx, "vales") == nil and rawget(ctx.chart, "nme") == nil and rawget(helm, "nul") == nil)
assert(rawget(_G, "undefined") == nil and os == nil and coroutine == nil and unpack == nil and bit32 == nil)
assert(string.nothing == nil and table.unpack and math.pow == nil)
assert(count == nil) count = (count or 0) + 1
assert(later == nil)
assert(helm.has("helm.has") and helm.has("yaml.encode") and helm.has("print") and helm.has("ctx.chart.name"))
assert(not helm.has("http.get") and not helm.has("helm.nul") and not helm.has("ctx.chart.nme") and not helm.has("x.y.z"))
`), "other.lua": `later = 1`,
	})})
	if err := h.emit("pre-render", map[int]m{0: baseContext()}, "values"); err != nil {
		t.Fatal(err)
	}
}
