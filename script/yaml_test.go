// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"fmt"
	"testing"

	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/event"
)

// Scripts read YAML by the rules by which values files are read. The two readers
// are two, because the scripts' process starts quicker without package values.
func TestScriptsReadYAMLAsValuesAreRead(t *testing.T) {
	for _, text := range []string{
		"{1: a, -7: b, 1.5: c, 1e21: d, true: e, .inf: f, -.inf: g, .nan: h, 0x10: i, 0777: j}",
		"{1: a, '1': b}", "{yes: a, 'yes': b, on: c}", "{~: a}", "{2001-01-01: a, 12:30:45: b}",
		"a: !!timestamp 2001-01-01", "a: 2001-01-01T01:02:03Z", "a: !!binary aGk=", "a: !!str 1", "a: !!float 1",
		"a: 9223372036854775807", "a: 18446744073709551615", "a: 1_000", "a: .inf", "a: [yes, No, ~, Null, 0o7, 1e3]",
		"a: &x {b: 1}\nc: {<<: *x, d: 2}", "a: 1\na: 2", `{"a": "\/"}`,
	} {
		want, err := values.Parse("values.yaml", []byte(text))
		c := lchart("web", fmt.Sprintf(`events.on("pre-render", function(ctx) ctx.values.out = yaml.decode(%q) end)`, text))
		e := &event.PreRender{}
		e.Chart, e.Values = c, map[string]any{}
		got := emit(t, e)
		if (got == nil) != (err == nil) {
			t.Errorf("%s: %v, in values %v", text, got, err)
		}
		if got == nil && fmt.Sprint(e.Values["out"]) != fmt.Sprint(want) {
			t.Errorf("%s: %v, in values %v", text, e.Values["out"], want)
		}
	}
}
