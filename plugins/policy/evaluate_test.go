// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/openapi/builtin"
)

var update = flag.Bool("update", false, "write the verdicts of now to testdata/verdicts.txt")

// kubeVersion is the version of test/cluster.
const kubeVersion = "1.36"

// testdata returns a file of testdata for a namespace.
func testdata(t *testing.T, name, namespace string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "NAMESPACE", namespace)
}

func parse(t *testing.T, text string) []map[string]any {
	t.Helper()
	objects, err := manifest.Parse("objects.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, o := range objects {
		m, err := o.Map()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

func name(object map[string]any) string {
	return fmt.Sprintf("%s %s", object["kind"], object["metadata"].(map[string]any)["name"])
}

// TestVerdicts lists the verdicts about testdata/objects.yaml; TestVerdictsAgreeWithTheServer holds them
// against an API server.
func TestVerdicts(t *testing.T) {
	objects := parse(t, testdata(t, "objects.yaml", "ns"))
	resp, err := evaluate(t.Context(), lint.PolicyRequest{
		KubeVersion: kubeVersion, Namespace: "ns", Objects: objects,
		Policies: []lint.PolicyFile{{Name: "policies.yaml", Text: testdata(t, "policies.yaml", "ns")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Problems) > 0 {
		t.Errorf("got the problems %v", resp.Problems)
	}
	var b bytes.Buffer
	for _, v := range resp.Verdicts {
		fmt.Fprintf(&b, "%s: %s\n", name(objects[v.Object]), v)
	}
	if *update {
		if err := os.WriteFile("testdata/verdicts.txt", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := testdata(t, "verdicts.txt", "ns")
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestVerdictsAgreeWithTheServer creates the policies on an API server and the objects by dry runs, and
// compares the verdicts and their messages.
func TestVerdictsAgreeWithTheServer(t *testing.T) {
	server := apiserver.Connect(t)
	ns := server.Namespace(t, "policy")
	release, err := builtin.Load(36)
	if err != nil {
		t.Fatal(err)
	}
	policies := testdata(t, "policies.yaml", ns)
	defineLimits(t, server, ns)
	for i, o := range parse(t, policies) {
		confine(o, ns)
		path := collection(t, release, o, ns)
		text, code, err := server.Call(t.Context(), http.MethodPost, path, "application/json", jsonOf(t, o))
		if err != nil || code != http.StatusCreated {
			t.Fatalf("create policy object %d: %d %s, %v", i, code, text, err)
		}
		at := path + "/" + o["metadata"].(map[string]any)["name"].(string)
		t.Cleanup(func() { _, _, _ = server.Call(context.Background(), http.MethodDelete, at, "", "") })
	}
	objects := parse(t, testdata(t, "objects.yaml", ns))
	resp, err := evaluate(t.Context(), lint.PolicyRequest{
		KubeVersion: kubeVersion, Namespace: ns, Objects: objects,
		Policies: []lint.PolicyFile{{Name: "policies.yaml", Text: policies}},
	})
	if err != nil {
		t.Fatal(err)
	}
	create := func(o map[string]any) (string, int) {
		path := collection(t, release, o, ns) + "?dryRun=All"
		text, code, err := server.Call(t.Context(), http.MethodPost, path, "application/json", jsonOf(t, o))
		if err != nil {
			t.Fatal(err)
		}
		return string(text), code
	}
	// The server needs some time until it evaluates new policies.
	deadline := time.Now().Add(30 * time.Second)
	for {
		text, _ := create(parse(t, "apiVersion: v1\nkind: Service\nmetadata: {name: no-params}\nspec: {ports: [{port: 80}]}")[0])
		pod, code := create(parse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: tagged}\nspec: {containers: [{name: a, image: 'a:1', "+
			"resources: {limits: {memory: 1Gi}}}]}")[0])
		if strings.Contains(text, "no params found") && code == http.StatusCreated {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not evaluate the policies; it answers %s and %s", text, pod)
		}
		time.Sleep(200 * time.Millisecond)
	}
	time.Sleep(time.Second)
	for i, o := range objects {
		t.Run(name(o), func(t *testing.T) {
			var denials []string
			for _, v := range resp.Verdicts {
				if v.Object == i && v.Severity() == lint.Error {
					denials = append(denials, v.Message)
				}
			}
			text, code := create(o)
			if (code == http.StatusCreated) != (len(denials) == 0) {
				t.Fatalf("got the denials %q; the server answers %d %s", denials, code, text)
			}
			// The order of the server's policies is not defined, and it names one denial.
			if m := serverDenial(text); len(denials) > 0 && !slices.Contains(denials, m) {
				t.Errorf("got %q, the server says %q", denials, m)
			}
		})
	}
}

// limitDefinition defines the kind of the policies' parameters. It is a kind of its own for each run: a
// server may stop to watch a kind when the last policy that has it for its parameters is deleted.
const limitDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: limits.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  scope: Namespaced
  names: {kind: Limit, plural: limits, singular: limit}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {data: {type: object, additionalProperties: {type: string}}}}}
`

// defineLimits creates the definition and waits until the kind is served.
func defineLimits(t *testing.T, server *apiserver.Client, ns string) {
	t.Helper()
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	body := jsonOf(t, parse(t, strings.ReplaceAll(limitDefinition, "NAMESPACE", ns))[0])
	text, code, err := server.Call(t.Context(), http.MethodPost, path, "application/json", body)
	if err != nil || code != http.StatusCreated {
		t.Fatalf("create the definition: %d %s, %v", code, text, err)
	}
	t.Cleanup(func() {
		_, _, _ = server.Call(context.Background(), http.MethodDelete, path+"/limits."+ns+".example.com", "", "")
	})
	if !apiserver.Eventually(func() bool {
		_, code, err := server.Call(t.Context(), http.MethodGet, "/apis/"+ns+".example.com/v1/namespaces/"+ns+"/limits", "", "")
		return err == nil && code == http.StatusOK
	}) {
		t.Fatal("the server does not serve the kind")
	}
}

var denied = regexp.MustCompile(`(?s)ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request: (.*)`)

// serverDenial returns the message of the denial in a server's answer.
func serverDenial(text string) string {
	var status struct{ Message string }
	if json.Unmarshal([]byte(text), &status) != nil {
		return ""
	}
	if m := denied.FindStringSubmatch(status.Message); m != nil {
		return m[1]
	}
	return status.Message
}

// confine has the server apply a binding only to objects in a namespace.
func confine(object map[string]any, ns string) {
	if object["kind"] == "ValidatingAdmissionPolicyBinding" {
		object["spec"].(map[string]any)["matchResources"] = map[string]any{
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{nameLabel: ns}},
		}
	}
}

func collection(t *testing.T, release *builtin.Release, object map[string]any, ns string) string {
	t.Helper()
	apiVersion, kind := object["apiVersion"].(string), object["kind"].(string)
	k, ok := release.Kind(apiVersion, kind)
	if kind == "Limit" {
		k, ok = builtin.Kind{Resource: "limits", Namespaced: true}, true
	}
	if !ok {
		t.Fatalf("%s %s is not known", apiVersion, kind)
	}
	path := "/apis/" + apiVersion + "/"
	if !strings.Contains(apiVersion, "/") {
		path = "/api/" + apiVersion + "/"
	}
	if k.Namespaced {
		path += "namespaces/" + ns + "/"
	}
	return path + k.Resource
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// configMap is a ConfigMap for policies of TestProblems.
const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"

func policyText(spec string) string {
	return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec: {" +
		"matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}]}, " + spec + "}\n" +
		"---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\n" +
		"spec: {policyName: p, validationActions: [Warn]}\n"
}

func TestProblems(t *testing.T) {
	for _, test := range []struct {
		name, text string
		isError    bool
		want       string
	}{
		{"not YAML", "a: b: c", true, "unable to parse YAML"},
		{"an unknown field", policyText("validation: []"), true, `.spec.validation: unknown field; did you mean "validations"?`},
		{"a syntax error", policyText("validations: [{expression: 'object.'}]"), true, "spec.validations[0].expression: compilation failed"},
		{"another type", policyText("validations: [{expression: '1 + 1'}]"), true, "must evaluate to bool"},
		{"a message of another type", policyText("validations: [{expression: 'true', messageExpression: '1'}]"), true,
			"spec.validations[0].messageExpression: compilation failed: must evaluate to string"},
		{"an unknown function", policyText("matchConditions: [{name: a, expression: 'nothing()'}]"), true, "spec.matchConditions[0].expression"},
		{"the authorizer", policyText(`validations: [{expression: "authorizer.group('').resource('pods').check('get').allowed()"}]`), false,
			"asks the authorizer"},
		{"without a binding", strings.Split(policyText("validations: [{expression: 'true'}]"), "---")[0], false, "has no binding"},
		{"without a policy", strings.Split(policyText(""), "---")[1], false, `is of the policy "p", which is not there`},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp, err := evaluate(t.Context(), lint.PolicyRequest{
				Policies: []lint.PolicyFile{{Name: "a.yaml", Text: test.text}}, Objects: parse(t, configMap),
			})
			if err != nil || len(resp.Verdicts) > 0 || len(resp.Problems) == 0 {
				t.Fatalf("got %+v, %v", resp, err)
			}
			if p := resp.Problems[0]; p.Error != test.isError || p.File != "a.yaml" || !strings.Contains(p.Message, test.want) {
				t.Errorf("got %+v, want %q, an error: %v", p, test.want, test.isError)
			}
		})
	}
}

// A policy that is given twice counts once.
func TestTwice(t *testing.T) {
	text := policyText("validations: [{expression: 'false', message: never}]")
	other := strings.Split(policyText("validations: [{expression: 'true'}]"), "---")[0]
	for _, test := range []struct {
		name     string
		texts    []string
		problems int
	}{
		{"the same", []string{text, text}, 0},
		{"another", []string{text, other}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := lint.PolicyRequest{Objects: parse(t, configMap)}
			for i, text := range test.texts {
				req.Policies = append(req.Policies, lint.PolicyFile{Name: fmt.Sprintf("%d.yaml", i), Text: text})
			}
			resp, err := evaluate(t.Context(), req)
			if err != nil || len(resp.Verdicts) != 1 || len(resp.Problems) != test.problems {
				t.Fatalf("got %+v, %v, want a verdict and %d problems", resp, err, test.problems)
			}
			for _, p := range resp.Problems {
				if !p.Error || p.File != "1.yaml" || !strings.HasSuffix(p.Message, "is defined twice") {
					t.Errorf("got the problem %+v", p)
				}
			}
		})
	}
}

// Expressions are bounded.
func TestCosts(t *testing.T) {
	list := strings.Repeat("1,", 2000)
	text := policyText(fmt.Sprintf("validations: [{expression: '[%s].all(a, [%s].all(b, [%s].all(c, a + b + c > 0)))'}]",
		strings.TrimSuffix(list, ","), strings.TrimSuffix(list, ","), strings.TrimSuffix(list, ",")))
	start := time.Now()
	resp, err := evaluate(t.Context(), lint.PolicyRequest{
		Policies: []lint.PolicyFile{{Name: "a.yaml", Text: text}}, Objects: parse(t, configMap),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Verdicts) != 1 || !strings.Contains(resp.Verdicts[0].Message, "cost limit exceeded") {
		t.Errorf("after %s: got %+v", time.Since(start), resp)
	}
}

func TestAnswer(t *testing.T) {
	req := lint.PolicyRequest{
		Policies: []lint.PolicyFile{{Name: "a.yaml", Text: policyText("validations: [{expression: \"object.data.a == 'c'\", message: want c}]")}},
		Objects:  parse(t, configMap),
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"evaluate"}, strings.NewReader(jsonOf(t, req)), &out); err != nil {
		t.Fatal(err)
	}
	want := `{"verdicts":[{"object":0,"policy":"p","binding":"b","actions":["Warn"],"message":"want c"}],"problems":[]}` + "\n"
	if out.String() != want {
		t.Errorf("got %s, want %s", &out, want)
	}
	for _, text := range []string{"", "[]", `{"kubeVersion": "2"}`, `{"kubeVersion": "1.99"}`} {
		if err := run(t.Context(), []string{"evaluate"}, strings.NewReader(text), &out); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	deny := strings.ReplaceAll(policyText("validations: [{expression: \"object.data.a == 'c'\", message: want c}]"), "[Warn]", "[Deny]")
	if err := os.WriteFile(dir+"/p.yaml", []byte(deny), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, in string
		args     []string
		want     string
		err      string
	}{
		{"denied", configMap, []string{"--policy", dir},
			"[ERROR] ConfigMap/a: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: want c\n1 object(s) checked, 1 error(s)\n",
			"objects are denied"},
		{"taken", strings.ReplaceAll(configMap, "a: b", "a: c"), []string{"--policy", dir}, "1 object(s) checked, 0 error(s)\n", ""},
		{"without policies", configMap, nil, "", "--policy is required"},
		{"no such directory", configMap, []string{"--policy", dir + "/none"}, "", "no such file"},
		{"not YAML", "a: b: c", []string{"--policy", dir}, "", "mapping values"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(t.Context(), test.args, strings.NewReader(test.in), &out)
			if out.String() != test.want {
				t.Errorf("got %q, want %q", &out, test.want)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got the error %v, want %q", err, test.err)
			}
		})
	}
}
