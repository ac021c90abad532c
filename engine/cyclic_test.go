// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"
	"testing"
)

// selfHolding defines $c, which contains itself, $two, which contains such a map twice, and
// $deep, whose expanded size is a million million leaves.
const selfHolding = `{{ $c := dict "n" (dict "x" 1) }}{{ $_ := set $c "self" $c }}{{ $two := dict "a" $c "b" (list $c 1) }}` +
	`{{ $deep := dict "leaf" "x" }}{{ range until 40 }}{{ $deep = dict "l" $deep "r" $deep }}{{ end }}`

// Functions that do not encode their arguments accept values that contain themselves, as in
// Helm.
func TestFunctionsOfValuesThatHoldThemselves(t *testing.T) {
	for expr, want := range map[string]string{
		`{{ $m := mergeOverwrite (dict "a" 1) $c }}{{ keys $m | sortAlpha | join "," }} {{ $m.self.self.n.x }}`:  "a,n,self 1",
		`{{ $m := mustMerge (dict "a" 1) $deep }}{{ len $m }}`:                                                   "3",
		`{{ $m := merge (dict "l" (dict "l" 7)) $deep }}{{ $m.l.l }}`:                                            "7",
		`{{ has 1 (list $c) }} {{ has $c (list 1 $c) }} {{ has $deep (list $c $deep) }}`:                         "false true true",
		`{{ len (without (list 1 $c $deep) $c) }} {{ len (uniq (list $c 1 $c $deep $deep)) }}`:                   "2 3",
		`{{ deepEqual $c $c }} {{ deepEqual $c $two }} {{ deepEqual $deep $deep.l }}`:                            "true false false",
		`{{ len (slice (list 1 $c $deep) 1) }}`:                                                                  "2",
		`{{ eq $c nil }} {{ ne $deep nil }} {{ eq nil $two }}`:                                                   "false true false",
		`{{ printf "%T %-5T|%s" $c $deep "x" }} {{ kindOf $c }} {{ typeOf $deep }}`:                              "map[string]interface {} map[string]interface {}|x map map[string]interface {}",
		`[{{ toYaml $c }}{{ toJson $c }}{{ toPrettyJson $two }}{{ .Values.a }}]`:                                 "[1]",
		`{{ $_ := set .Values "all" .Values }}[{{ toYaml .Values }}]{{ .Values.all.all.a }}`:                     "[]1",
		`{{ len (omit $c "n") }} {{ len (pick $two "a") }} {{ hasKey $c "self" }} {{ dig "self" "n" "x" 0 $c }}`: "1 1 true 1",
		`{{ len (concat (list $c) (list $deep)) }} {{ empty $c }} {{ len (compact (list $c "")) }}`:              "2 false 1",
	} {
		t.Run(expr, func(t *testing.T) {
			in := input(t, tree(t, "p", map[string]string{"values.yaml": "a: 1", "templates/a.yaml": selfHolding + expr}))
			if got := content(t, in); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// Endless loops and stack overflows are errors with a clear message.
func TestValuesThatHoldThemselvesEnd(t *testing.T) {
	for text, want := range map[string]string{
		// The first source makes the destination contain itself, and the second is
		// merged into it.
		`{{ $x := mergeOverwrite .Values . .Values }}`:                                                                          "merging them would not end",
		`{{ $x := merge .Values . .Values }}`:                                                                                   "merging them would not end",
		`{{ $a := dict "k" (dict) }}{{ $x := mustMergeOverwrite $a (dict "k" $a) (dict "k" $a) }}`:                              "merging them would not end",
		`{{ $a := dict "k" (dict) }}{{ $x := mergeOverwrite $a (dict "k" $a) (dict "k" $a) }}`:                                  "merging them would not end",
		`{{ $c := dict "a" 1 }}{{ $_ := set $c "s" $c }}{{ $d := dict "a" 1 }}{{ $_ := set $d "s" $d }}{{ $x := merge $c $d }}`: "merging them would not end",
		`{{ toRawJson $c }}`: "holds itself", `{{ mustToJson $c }}`: "holds itself", `{{ mustToYaml $two }}`: "holds itself",
		`{{ mustToPrettyJson $c }}`: "holds itself", `{{ toToml $c }}`: "holds itself", `{{ toYamlPretty $c }}`: "holds itself",
		`{{ toYaml $deep }}`: "too large", `{{ toJson $deep }}`: "too large", `{{ toPrettyJson $deep }}`: "too large", `{{ toToml $deep }}`: "too large",
		`{{ deepCopy $c }}`: "copying it would not end", `{{ mustDeepCopy $two }}`: "copying it would not end", `{{ deepCopy $deep }}`: "too large",
		`{{ eq $c $c }}`: "non-comparable", `{{ ne $deep $deep }}`: "non-comparable", `{{ eq $c (list $c) }}`: "non-comparable",
		`{{ $c }}`: "holds itself", `{{ $deep }}`: "too large", `{{ print $c }}`: "holds itself", `{{ quote $c }}`: "holds itself",
		`{{ toString $two }}`: "holds itself", `{{ printf "%v" $c }}`: "holds itself", `{{ printf "%[1]T %[1]v" $c }}`: "holds itself",
		`{{ printf "%T" 1 $c }}`: "holds itself", `{{ printf "%T%*d" $c $c 1 }}`: "holds itself", `{{ printf "%d" $deep }}`: "too large",
		`{{ int $c }}`: "holds itself", `{{ join "," (list $c) }}`: "holds itself", `{{ cat $two }}`: "holds itself", `{{ .Values.YAML }}`: "",
		`{{ $_ := set .Values "all" .Values }}{{ .Values.YAML }}`: "holds itself", `{{ sortAlpha (list $c) }}`: "holds itself",
		`{{ html $c }}`: "holds itself", `{{ dict $c 1 }}`: "holds itself", `{{ slice (list 1) $c }}`: "holds itself", `{{ fail (toString $c) }}`: "holds itself",
		`{{ $d := dict "x" 1 }}{{ range until 5000 }}{{ $d = dict "d" $d }}{{ end }}{{ $d }}`:                                                            "too large",
		`{{ $d := dict "x" 1 }}{{ range until 50000 }}{{ $d = dict "d" $d }}{{ end }}{{ deepEqual $d (deepCopy $d) }}`:                                   "too large",
		`{{ $d := dict "x" 1 }}{{ $e := dict "x" 1 }}{{ range until 50000 }}{{ $d = dict "d" $d }}{{ $e = dict "d" $e }}{{ end }}{{ merge $d $e }}`:      "nested too deep",
		`{{ $d := dict "x" 1 }}{{ $e := dict "x" 1 }}{{ range until 50000 }}{{ $d = dict "d" $d }}{{ $e = dict "d" $e }}{{ end }}{{ has $d (list $e) }}`: "nested too deep",
	} {
		t.Run(text, func(t *testing.T) {
			in := input(t, tree(t, "p", map[string]string{"values.yaml": "a: {b: 1}", "templates/a.yaml": selfHolding + text}))
			_, err := Render(context.Background(), in)
			if want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			if err != nil && len(err.Error()) > 10_000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}
