// SPDX-License-Identifier: Apache-2.0

package engine

import "testing"

// The names of types in templates are the same as in Helm.
func TestTypeNames(t *testing.T) {
	for expr, want := range map[string]string{
		`{{ printf "%T|%T|%T|%T|%T|%T|%T|%T" . .Values .Chart .Files .Capabilities .Release .Template .Subcharts }}`: "common.Values|common.Values|map[string]interface {}|engine.files|*common.Capabilities|map[string]interface {}|common.Values|map[string]interface {}",
		`{{ printf "%T|%T|%T" .Capabilities.KubeVersion .Capabilities.APIVersions .Capabilities.HelmVersion }}`:      "common.KubeVersion|common.VersionSet|version.BuildInfo",
		`{{ printf "%T|%T|%T|%T" (.Values.Table "b") (.Files.Glob "*") (.Files.GetBytes "x") (.Files.Lines "x") }}`:  "common.Values|engine.files|[]uint8|[]string",
		`{{ printf "%#v" .Values }}`:                            `common.Values{"a":1, "b":map[string]interface {}{"c":"d"}}`,
		`{{ printf "%#v" (list .Template) }}`:                   `[]interface {}{common.Values{"BasePath":"p/templates", "Name":"p/templates/a.yaml"}}`,
		`{{ printf "%#v" .Capabilities.KubeVersion }}`:          `common.KubeVersion{Version:"v1.36.0", normalizedVersion:"v1.36.0", Major:"1", Minor:"36"}`,
		`{{ printf "%+v" .Capabilities.KubeVersion }}`:          "{Version:v1.36.0 normalizedVersion:v1.36.0 Major:1 Minor:36}",
		`{{ printf "%d" .Capabilities.KubeVersion }}`:           "{%!d(string=v1.36.0) %!d(string=v1.36.0) %!d(string=1) %!d(string=36)}",
		`{{ printf "%d" .Values.a }} {{ printf "%z" .Values }}`: "%!d(float64=1) map[%!z(string=a):%!z(float64=1) %!z(string=b):map[%!z(string=c):%!z(string=d)]]",
		`{{ typeOf .Values }} {{ typeOf .Capabilities }} {{ typeOf .Capabilities.KubeVersion }} {{ typeOf .Files }}`:                                                          "common.Values *common.Capabilities common.KubeVersion engine.files",
		`{{ kindOf .Values }} {{ kindOf .Capabilities }} {{ kindOf .Capabilities.KubeVersion }} {{ kindOf .Files }}`:                                                          "map ptr struct map",
		`{{ typeIs "common.Values" .Values }} {{ typeIsLike "common.Capabilities" .Capabilities }} {{ typeIs "map[string]interface {}" .Values }} {{ kindIs "map" .Values }}`: "true true false true",
	} {
		t.Run(expr, func(t *testing.T) {
			in := input(t, tree(t, "p", map[string]string{"values.yaml": "a: 1\nb: {c: d}", "templates/a.yaml": expr}))
			if got := content(t, in); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// Days and weeks are rounded exactly as in Helm.
func TestDurationDaysAndWeeks(t *testing.T) {
	for expr, want := range map[string]string{
		`{{ durationDays 7920 }} {{ durationDays 166300 }} {{ durationDays 253409 }}`:                          "0.09166666666666667 1.9247685185185184 2.932974537037037",
		`{{ durationWeeks 1 }} {{ durationWeeks 190057 }} {{ durationWeeks 205895 }} {{ durationWeeks "3h" }}`: "1.6534391534391533e-06 0.31424768518518514 0.34043485449735444 0.017857142857142856",
	} {
		t.Run(expr, func(t *testing.T) {
			in := input(t, tree(t, "p", map[string]string{"templates/a.yaml": expr}))
			if got := content(t, in); got != want {
				t.Errorf("%s: got %s, want %s", expr, got, want)
			}
		})
	}
}
