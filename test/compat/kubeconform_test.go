// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/peertest"
	"github.com/moonhelm/moonhelm/openapi/builtin"
)

// kubernetesModule has the documents that the schemas for kubeconform are made of. It is the version
// of test/cluster.
const kubernetesModule = "k8s.io/kubernetes@v1.36.3"

const kubernetesMinor = 36

// decisions are the reasons why the verdicts of `helm lint --kube-version` and of kubeconform differ.
// In all of them the API server is on our side.
var decisions = []struct {
	name    string
	refused bool   // by us, and not by kubeconform
	by      string // the messages of the one who refuses, a regular expression
	why     string
}{
	{"null", false, `got null`,
		"the documents allow it nowhere, and the server takes it as if the field or item was not there"},
	{"enums", true, `Unsupported value`,
		"the documents in the module have no enums; API servers publish them"},
	{"quantities", true, `expected a quantity`,
		"the documents call a quantity a string or a number"},
	{"base64", true, `expected text in base64`,
		"kubeconform does not check the format byte"},
	{"numbers of 32 bits", true, `32-bit`,
		"kubeconform does not check the format int32"},
	{"selectors", true, `must contain matchLabels`,
		"lint has a rule for workloads without a selector"},
	{"APIs that are gone", true, `is deprecated in|no matches for kind`,
		"kubeconform has no schema of it, and is told to skip such objects"},
}

// TestKubeconform compares the verdicts about the objects of the corpus, and about random single
// mutations of them. Where they differ the reason is in the table above, and with a cluster the API
// server has the last word.
func TestKubeconform(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	bin, err := peertest.BuildKubeconform()
	if err != nil {
		t.Fatal(err)
	}
	c := conformance{bin: bin, schemas: t.TempDir()}
	c.writeSchemas(t)
	if c.known, err = lint.NewSchemas(lint.KubeVersion{Major: 1, Minor: kubernetesMinor}); err != nil {
		t.Fatal(err)
	}
	c.used = map[string]bool{}
	valid := c.compare(t, "corpus", corpusObjects(t))
	c.compare(t, "mutations", mutateObjects(t, valid, 3000))
	for _, d := range decisions {
		if !c.used[d.name] {
			t.Errorf("the verdicts do not differ because of %s: remove it from the table", d.name)
		}
	}
}

// conformance compares verdicts.
type conformance struct {
	bin, schemas string
	known        *lint.Schemas
	used         map[string]bool // names of decisions
}

// judged is an object with where it comes from.
type judged struct {
	name   string
	object map[string]any
}

// compare compares the verdicts about objects, and returns those that both take.
func (c conformance) compare(t *testing.T, what string, objects []judged) []judged {
	t.Helper()
	theirs := c.theirs(t, objects)
	var valid []judged
	count := map[string]int{}
	for i, o := range objects {
		ours := c.ours(t, o.object)
		switch {
		case ours == "" && theirs[i] == "":
			count["taken by both"]++
			valid = append(valid, o)
		case ours != "" && theirs[i] != "":
			count["refused by both"]++
		default:
			reason := decision(ours, theirs[i])
			if reason == "" {
				t.Errorf("%s: got %q, kubeconform says %q; the table has no reason\n%s", o.name, ours, theirs[i], jsonText(t, o.object))
			}
			c.used[reason] = true
			count[reason]++
			c.confirm(t, o, ours)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%s: %s: %d", what, name, count[name])
	}
	return valid
}

func decision(ours, theirs string) string {
	for _, d := range decisions {
		if by := ours + theirs; d.refused == (ours != "") && regexp.MustCompile(d.by).MatchString(by) {
			return d.name
		}
	}
	return ""
}

// ours returns the errors of lint about an object.
func (c conformance) ours(t *testing.T, object map[string]any) string {
	t.Helper()
	files := []lint.Rendered{{Name: "templates/object.yaml", Content: jsonText(t, object)}}
	var out []string
	for _, f := range lint.Objects(files, lint.KubeVersion{Major: 1, Minor: kubernetesMinor}, c.known) {
		if f.Severity == lint.Error {
			out = append(out, f.Message)
		}
	}
	return strings.Join(out, "\n")
}

// theirs returns kubeconform's errors about objects.
func (c conformance) theirs(t *testing.T, objects []judged) []string {
	t.Helper()
	dir := t.TempDir()
	for i, o := range objects {
		filetest.WriteFile(t, filepath.Join(dir, fmt.Sprintf("%05d.json", i)), jsonText(t, o.object))
	}
	at := filepath.Join(c.schemas, "{{.Group}}-{{.ResourceAPIVersion}}-{{.ResourceKind}}.json")
	answer, err := peertest.Command{
		Bin: c.bin, Reads: []string{dir, c.schemas},
		Args: []string{"-strict", "-verbose", "-output", "json", "-n", "2", "-ignore-missing-schemas", "-schema-location", at, dir},
	}.Run()
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Resources []struct{ Filename, Status, Msg string }
	}
	if err := json.Unmarshal([]byte(answer.Stdout), &result); err != nil {
		t.Fatalf("%v\n%s%s", err, answer.Stdout, answer.Stderr)
	}
	out := make([]string, len(objects))
	seen := 0
	for _, r := range result.Resources {
		var i int
		if _, err := fmt.Sscanf(filepath.Base(r.Filename), "%d.json", &i); err != nil {
			t.Fatal(err)
		}
		seen++
		switch r.Status {
		case "statusValid":
		case "statusSkipped":
			if errors := c.ours(t, objects[i].object); errors == "" && !isCustom(objects[i].object) {
				t.Errorf("kubeconform has no schema of %s", objects[i].name)
			}
		case "statusInvalid", "statusError":
			out[i] = r.Msg
		default:
			t.Fatalf("%s: unknown status %s: %s", r.Filename, r.Status, r.Msg)
		}
	}
	if seen != len(objects) {
		t.Fatalf("kubeconform has judged %d of %d objects", seen, len(objects))
	}
	return out
}

// isCustom reports whether an object is a custom resource, of which neither has a schema.
func isCustom(object map[string]any) bool {
	return strings.Contains(object["apiVersion"].(string), "pinniped.dev")
}

// confirm asks the API server about an object, if there is one.
func (c conformance) confirm(t *testing.T, o judged, ours string) {
	t.Helper()
	if os.Getenv(apiserver.Kubeconfig) == "" || strings.Contains(ours, "must contain matchLabels") {
		return
	}
	server := connect(t)
	release, err := builtin.Load(kubernetesMinor)
	if err != nil {
		t.Fatal(err)
	}
	apiVersion, _ := o.object["apiVersion"].(string)
	kind, _ := o.object["kind"].(string)
	k, ok := release.Kind(apiVersion, kind)
	if !ok {
		return // as the server says, too
	}
	path := "/apis/" + apiVersion + "/"
	if !strings.Contains(apiVersion, "/") {
		path = "/api/" + apiVersion + "/"
	}
	object := maps.Clone(o.object)
	if k.Namespaced {
		path += "namespaces/default/"
		meta := maps.Clone(object["metadata"].(map[string]any))
		meta["namespace"] = "default"
		object["metadata"] = meta
	}
	path += k.Resource + "?dryRun=All&fieldValidation=Strict"
	text, code, err := server.call(t.Context(), http.MethodPost, path, "application/json", jsonText(t, object))
	if err != nil {
		t.Fatal(err)
	}
	if refused := code == http.StatusBadRequest || code == http.StatusUnprocessableEntity; refused != (ours != "") {
		t.Errorf("%s: got %q, and the API server answers %d: %s", o.name, ours, code, text)
	}
}

// corpusObjects returns the objects that the corpus' charts render.
func corpusObjects(t *testing.T) []judged {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "..", "shared", "corpus", "expected", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the corpus is missing: it is in ../shared/corpus, beside the project, where it is developed")
	}
	var out []judged
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parse(t, file, string(text)) {
			if object, ok := d.data.(map[string]any); ok {
				out = append(out, judged{fmt.Sprintf("%s %v", d.source, object["kind"]), object})
			}
		}
	}
	return out
}

// mutateObjects returns n objects with one random change each: a field that is dropped, misspelled or of
// another type.
func mutateObjects(t *testing.T, objects []judged, n int) []judged {
	t.Helper()
	r := rand.New(rand.NewPCG(16, 36))
	out := make([]judged, n)
	for i := range out {
		from := objects[r.IntN(len(objects))]
		var copied map[string]any
		if err := json.Unmarshal([]byte(jsonText(t, from.object)), &copied); err != nil {
			t.Fatal(err)
		}
		all := places(copied, "")
		at := all[r.IntN(len(all))]
		change := ""
		switch r.IntN(3) {
		case 0:
			change = "without " + at.path
			delete(at.in, at.key)
		case 1:
			change = "misspelled " + at.path
			at.in[at.key+"x"] = at.in[at.key]
			delete(at.in, at.key)
		case 2:
			values := []any{"some text", 4.5, 7.0, true, []any{"a"}, map[string]any{"a": "b"}, nil, 1e12}
			at.in[at.key] = values[r.IntN(len(values))]
			change = fmt.Sprintf("%s: %v", at.path, at.in[at.key])
		}
		out[i] = judged{from.name + " " + change, copied}
	}
	return out
}

// place is a field of an object.
type place struct {
	in        map[string]any
	key, path string
}

// places returns the fields below v in a fixed order, but for those that say what the object is, and for labels of
// selectors, which the server compares with others.
func places(v any, path string) []place {
	var out []place
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if path == "" && (key == "apiVersion" || key == "kind" || key == "metadata") || key == "matchLabels" {
				continue
			}
			out = append(append(out, place{v, key, path + "." + key}), places(v[key], path+"."+key)...)
		}
	case []any:
		for i, item := range v {
			out = append(out, places(item, fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	if path == "" && len(out) == 0 {
		return []place{{v.(map[string]any), "data", ".data"}}
	}
	return out
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// writeSchemas writes the schemas of all kinds as kubeconform reads them: JSON Schemas of the OpenAPI
// documents, in which objects have no other fields and optional fields may be null.
func (c conformance) writeSchemas(t *testing.T) {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", kubernetesModule)
	cmd.Dir = os.TempDir() // outside of any module
	out, err := cmd.Output()
	var m struct{ Dir string }
	if jsonErr := json.Unmarshal(out, &m); err != nil || jsonErr != nil {
		t.Fatalf("download %s: %v, %v\n%s", kubernetesModule, err, jsonErr, out)
	}
	files, err := filepath.Glob(filepath.Join(m.Dir, "api", "openapi-spec", "v3", "api*__v*_openapi.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no documents: %v", m.Dir, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Components struct{ Schemas map[string]map[string]any }
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/definitions/")), &d); err != nil {
			t.Fatal(err)
		}
		all := d.Components.Schemas
		for _, s := range all {
			strictSchema(s)
		}
		for name, s := range all {
			kinds, _ := s["x-kubernetes-group-version-kind"].([]any)
			for _, k := range kinds {
				k := k.(map[string]any)
				if k["group"] == "" {
					k["group"] = k["version"] // kubeconform's name of the core group
				}
				base := fmt.Sprintf("%s-%s-%s.json", k["group"], k["version"], strings.ToLower(k["kind"].(string)))
				schema := map[string]any{"$ref": "#/definitions/" + name, "definitions": all}
				filetest.WriteFile(t, filepath.Join(c.schemas, base), jsonText(t, schema))
			}
		}
	}
}

// strictSchema changes a schema of an OpenAPI document to a strict JSON Schema.
func strictSchema(s map[string]any) {
	delete(s, "default")
	properties, _ := s["properties"].(map[string]any)
	if _, open := s["additionalProperties"]; len(properties) > 0 && !open {
		s["additionalProperties"] = false
	}
	required, _ := s["required"].([]any)
	for key, p := range properties {
		p := p.(map[string]any)
		strictSchema(p)
		if !slices.Contains(required, any(key)) {
			properties[key] = map[string]any{"anyOf": []any{p, map[string]any{"type": "null"}}}
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := s[key].(map[string]any); ok {
			strictSchema(below)
		}
	}
}
