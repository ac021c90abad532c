// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// definition has rules in CEL. GROUP is its group.
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: comets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Comet, plural: comets, singular: comet}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-validations:
        - {rule: "self.metadata.name.startsWith('c')", message: the name must begin with c}
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "self.low <= self.high", messageExpression: "self.high > 4 ? 'low is more than high' : 'both are low'"}
            - {rule: "!has(self.tails) || self.tails.all(t, t.length <= self.high)", message: a tail is too long, fieldPath: .tails}
            properties:
              low: {type: integer, default: 1}
              high: {type: integer, default: 5, x-kubernetes-validations: [{rule: self % 2 == 1, message: must be odd}]}
              fixed: {type: string, maxLength: 10, x-kubernetes-validations: [{rule: self == oldSelf, message: must not change}]}
              tails: {type: array, maxItems: 5, items: {type: object, required: [length], properties: {length: {type: integer}}}}
              port: {x-kubernetes-int-or-string: true, maxLength: 10, x-kubernetes-validations: [{rule: "type(self) == int || self.endsWith('%')"}]}
`

// comets are specs and what their rules say.
var comets = []struct{ name, spec, want string }{
	{"c-as-it-should-be", "{}", ""},
	{"c-all", "{low: 2, high: 3, fixed: a, tails: [{length: 3}], port: 5%}", ""},
	{"c-number", "{port: 5}", ""},
	{"other-name", "{}", "[]Invalid value: the name must begin with c"},
	{"c-low", "{low: 7}", "[].spec: Invalid value: low is more than high"},
	{"c-even", "{high: 4}", "[].spec.high: Invalid value: must be odd"},
	{"c-both", "{low: 7, high: 4}", "[].spec.high: Invalid value: must be odd [].spec: Invalid value: both are low"},
	{"c-tails", "{high: 3, tails: [{length: 3}, {length: 4}]}", "[].spec.tails: Invalid value: a tail is too long"},
	{"c-text", "{port: x}", "[].spec.port: Invalid value: failed rule: type(self) == int || self.endsWith('%')"},
	{"c-another-type", "{low: x}", ""}, // which the schema says
}

func comet(t *testing.T, group, name, spec string) map[string]any {
	t.Helper()
	return parse(t, "apiVersion: "+group+"/v1\nkind: Comet\nmetadata: {name: "+name+"}\nspec: "+spec)[0]
}

func TestCustomRules(t *testing.T) {
	for _, c := range comets {
		t.Run(c.name, func(t *testing.T) {
			got := rulesOf(t, "example.com", c.name, c.spec)
			for _, want := range strings.Split(c.want, "[]") {
				if want = strings.TrimSpace(want); !strings.Contains(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			if strings.Count(got, "\n") != strings.Count(c.want, "[]") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// rulesOf returns what the rules say, a line each.
func rulesOf(t *testing.T, group, name, spec string) string {
	t.Helper()
	resp, err := evaluate(t.Context(), lint.PolicyRequest{
		Namespace: "ns", Definitions: parse(t, strings.ReplaceAll(definition, "GROUP", group)),
		Objects: []map[string]any{comet(t, group, name, spec)},
	})
	if err != nil || len(resp.Problems)+len(resp.Verdicts) > 0 {
		t.Fatalf("got %+v, %v", resp, err)
	}
	var b strings.Builder
	for _, f := range resp.Fields {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

func TestCustomRulesAgreeWithTheServer(t *testing.T) {
	server := apiserver.Connect(t)
	ns := server.Namespace(t, "policy")
	group := strings.ReplaceAll(ns, "-", "") + ".example.com"
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	body := jsonOf(t, parse(t, strings.ReplaceAll(definition, "GROUP", group))[0])
	text, code, err := server.Call(t.Context(), http.MethodPost, definitions, "application/json", body)
	if err != nil || code != http.StatusCreated {
		t.Fatalf("create the definition: %d %s, %v", code, text, err)
	}
	t.Cleanup(func() {
		_, _, _ = server.Call(context.Background(), http.MethodDelete, definitions+"/comets."+group, "", "")
	})
	create := func(name, spec string) (text string, code int) {
		path := "/apis/" + group + "/v1/namespaces/" + ns + "/comets?dryRun=All"
		answer, code, err := server.Call(t.Context(), http.MethodPost, path, "application/json", jsonOf(t, comet(t, group, name, spec)))
		if err != nil {
			t.Fatal(err)
		}
		return string(answer), code
	}
	if !apiserver.Eventually(func() bool { _, code := create("c", "{}"); return code == http.StatusCreated }) {
		t.Fatal("the server does not serve the kind")
	}
	time.Sleep(time.Second)
	for _, c := range comets {
		t.Run(c.name, func(t *testing.T) {
			got := rulesOf(t, group, c.name, c.spec)
			text, code := create(c.name, c.spec)
			if c.name == "c-another-type" {
				return
			}
			if (code == http.StatusCreated) != (got == "") {
				t.Fatalf("got %q, the server says %d %s", got, code, text)
			}
			var status struct {
				Details struct {
					Causes []struct{ Field, Message string }
				}
			}
			if err := json.Unmarshal([]byte(text), &status); err != nil {
				t.Fatal(err)
			}
			for _, cause := range status.Details.Causes {
				message := cause.Message[strings.LastIndex(cause.Message, ": ")+2:]
				if !strings.Contains(got, message+"\n") || cause.Field != "<nil>" && !strings.Contains(got, "."+cause.Field+": ") {
					t.Errorf("got %q, the server says %+v", got, cause)
				}
			}
			if len(status.Details.Causes) != strings.Count(got, "\n") {
				t.Errorf("got %q, the server says %+v", got, status.Details.Causes)
			}
		})
	}
}
