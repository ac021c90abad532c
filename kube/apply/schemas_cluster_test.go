// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/openapi"
	"github.com/moonhelm/moonhelm/openapi/builtin"
)

// TestBuiltinSchemasAreTheServers compares the embedded schemas with those that the server publishes.
func TestBuiltinSchemasAreTheServers(t *testing.T) {
	c, _ := client(t)
	version, err := c.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	minor, err := strconv.Atoi(version.Minor)
	if err != nil {
		t.Fatal(err)
	}
	release, err := builtin.Load(minor)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string][]string{}
	for _, k := range release.Kinds() {
		kinds[k.APIVersion] = append(kinds[k.APIVersion], k.Kind)
	}
	var versions []string
	for v := range kinds {
		versions = append(versions, v)
	}
	compared := 0
	for apiVersion, d := range c.documents(t.Context(), versions) {
		for _, kind := range kinds[apiVersion] {
			if d.Kinds[kind] == "" {
				continue // a kind behind a feature gate
			}
			compared++
			for name, pair := range reachable(d, release.Document(apiVersion), d.Kinds[kind]) {
				if pair[0] != pair[1] {
					t.Errorf("%s %s: the schema %s is\n%s\nand the server publishes\n%s", apiVersion, kind, name, pair[1], pair[0])
				}
			}
		}
	}
	if compared < 60 {
		t.Errorf("compared %d kinds, want at least 60", compared)
	}
}

// reachable returns the schemas of both documents that the schema name refers to, as JSON.
func reachable(published, embedded *openapi.Document, name string) map[string][2]string {
	out := map[string][2]string{}
	var add func(s *openapi.Schema)
	add = func(s *openapi.Schema) {
		if s == nil {
			return
		}
		if _, known := out[s.Ref]; s.Ref != "" && !known {
			out[s.Ref] = [2]string{text(published.Schemas[s.Ref]), text(embedded.Schemas[s.Ref])}
			add(published.Schemas[s.Ref])
		}
		add(s.Items)
		add(s.Additional)
		for _, p := range s.Properties {
			add(p)
		}
	}
	add(&openapi.Schema{Ref: name})
	return out
}

func text(s *openapi.Schema) string {
	out, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// TestRulesAgreeWithTheServer checks custom resources against the rules of their definition, which
// is not asked for at the server, and by dry runs.
func TestRulesAgreeWithTheServer(t *testing.T) {
	c, _ := client(t)
	ns := namespace(t, c)
	text, err := os.ReadFile(filepath.Join("..", "..", "openapi", "testdata", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	definition := apitest.Parse(t, string(text))
	if err := c.InstallCRDs(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Delete(context.Background(), definition, kube.Owner{}, Background) })
	object, err := definition[0].Map()
	if err != nil {
		t.Fatal(err)
	}
	docs, err := openapi.ParseCRD(object, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The API server serves a new kind some time after it has established it.
	for why := "not found"; why == "not found"; {
		if why = refuseRule(t, c, ns, "{low: 1}"); why != "" {
			why = "not found"
		}
		if err := linger.Sleep(t.Context(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	for _, spec := range []string{
		"{low: 1}", "{low: 3, over: 0.5, even: 4, name: abc}", "{}", "{low: 1, over: 0.5, even: 2, name: ab, list: [a]}",
		"{low: 0}", "{low: 4}", "{low: 1.0}", "{low: 1.5}", "{over: 0}", "{over: 1}", "{over: 0.001}", "{even: 3}", "{even: -2}",
		"{name: a}", "{name: abcde}", "{name: AB}", "{name: äöüß}", "{name: 'ab\\n'}",
		"{list: []}", "{list: [a]}", "{list: [a, b, c]}", "{set: [a, b]}", "{set: [a, b, a]}",
		"{map: [{port: 1}, {port: 1, protocol: UDP}]}", "{map: [{port: 1, protocol: UDP}, {port: 1, protocol: UDP}]}", "{map: [{protocol: UDP}]}",
		"{ip: 10.0.0.1}", "{ip: '::1'}", "{ip: 10.0.0}", "{six: '::1'}", "{six: 10.0.0.1}",
		"{net: 10.0.0.0/8}", "{net: 10.0.0.0}", "{net: 'fd00::/8'}", "{day: '2026-11-25'}", "{day: '2026-13-25'}",
		"{port: 5}", "{port: 5%}", "{port: x}", "{one: {a: 1}}", "{one: {a: 1, b: 1}}", "{one: {}}",
		"{any: {a: 1}}", "{any: {b: 5}}", "{any: {b: 4}}", "{any: {a: 9}}", "{any: {a: 9, b: 5}}", "{all: 1}", "{all: 3}", "{all: 5}",
		"{nested: [{map: {x: ab}}]}", "{nested: [{map: {x: abc}}]}", "{nested: [{mop: {}}]}",
	} {
		t.Run(spec, func(t *testing.T) {
			why := refuseRule(t, c, ns, spec)
			problems := docs["kinds.example.com/v2"].Check(ruleObject(t, spec))
			if (why == "") != (len(problems) == 0) {
				t.Errorf("got the problems %v; the server says %q", problems, why)
			}
		})
	}
}

func ruleObject(t *testing.T, spec string) map[string]any {
	t.Helper()
	text := fmt.Sprintf("apiVersion: kinds.example.com/v2\nkind: Rule\nmetadata: {name: a}\nspec: %s\n", spec)
	object, err := apitest.Parse(t, text)[0].Map()
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func refuseRule(t *testing.T, c *Client, ns, spec string) string {
	t.Helper()
	object := ruleObject(t, spec)
	targets, err := c.targets(t.Context(), apitest.Parse(t, objectText(t, object)), ns)
	if err != nil {
		return err.Error()
	}
	return refused(t, c, mutation{target: targets[0], object: object})
}

func objectText(t *testing.T, object map[string]any) string {
	t.Helper()
	out, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
