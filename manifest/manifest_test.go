// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/yamltest"
)

// The results of Helm 4.3.1 for these streams were observed with helm template.
func TestSplit(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                        {"", nil},
		"white space":                    {" \n\n---\n  \n---\n", nil},
		"one":                            {"a: 1", []string{"a: 1"}},
		"separators of all kinds":        {"---\na: 1\n--- \nb: 2\n---\t\nc: 3\n---# x\nd: 4\n--- # y\ne: 5\n---f: 6\n", []string{"a: 1\n", "b: 2\n", "c: 3\n", "# x\nd: 4\n", "# y\ne: 5\n", "f: 6\n"}},
		"content after the separator":    {"--- {a: 1}\n---\nb: 2", []string{"{a: 1}\n", "b: 2"}},
		"an indented one is none":        {"a: 1\n  ---\nb: 2", []string{"a: 1\n  ---\nb: 2"}},
		"nor is one in a block":          {"f: |\n  x\n  ---\n  y\n", []string{"f: |\n  x\n  ---\n  y\n"}},
		"space before stays, after goes": {"a: |\n  x\n\n\n---\n\n  b: 2\n   \n", []string{"a: |\n  x\n\n\n", "b: 2\n   \n"}},
		"comments are documents":         {"# x\n---\na: 1\n", []string{"# x\n", "a: 1\n"}},
		"carriage returns":               {"a: 1\r\n---\r\nb: 2\r\n", []string{"a: 1\r\n", "b: 2\r\n"}},
		"two in a row":                   {"---\n---\na: 1\n", []string{"a: 1\n"}},
		"an end is none":                 {"a: 1\n...\n---\nb: 1", []string{"a: 1\n...\n", "b: 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Split(test.text); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestHeads(t *testing.T) {
	text := `# a comment
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: prod
  labels: {app: web, tier: 1}
  annotations:
    helm.sh/hook: pre-install
    count: 5
    on: true
    none:
spec: {replicas: 3}
---
# nothing but words
---
apiVersion: 1
kind: 2
metadata: {name: 3}
`
	objs, err := Parse("web/templates/x.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	if len(objs) != 3 {
		t.Fatalf("got %d objects", len(objs))
	}
	o := objs[0]
	if o.Source != "web/templates/x.yaml" || o.APIVersion != "apps/v1" || o.Kind != "Deployment" || o.Name != "web" || o.Namespace != "prod" || o.Empty {
		t.Errorf("got %+v", o)
	}
	if want := map[string]string{"app": "web", "tier": "1"}; !reflect.DeepEqual(o.Labels, want) {
		t.Errorf("labels: got %v", o.Labels)
	}
	if want := map[string]string{"helm.sh/hook": "pre-install", "count": "5", "true": "true", "none": ""}; !reflect.DeepEqual(o.Annotations, want) {
		t.Errorf("annotations: got %v", o.Annotations)
	}
	m, err := o.Map()
	if err != nil || !reflect.DeepEqual(m["spec"], map[string]any{"replicas": int64(3)}) {
		t.Errorf("got %v, %v", m, err)
	}
	if !objs[1].Empty {
		t.Error("comments alone are not object")
	}
	if m, err := objs[1].Map(); m != nil || err != nil {
		t.Errorf("got %v, %v", m, err)
	}
	if o := objs[2]; o.APIVersion != "1" || o.Kind != "2" || o.Name != "3" {
		t.Errorf("got %+v", o)
	}
}

func TestHeadsFullDecoder(t *testing.T) {
	objs, err := Parse("x", "kind: &k Pod\nmetadata: {name: *k, annotations: {<<: {a: b}}}\n---\n---\n\"kind\": >\n  A\n  B\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(objs) != 2 || objs[0].Kind != "Pod" || objs[0].Name != "Pod" || objs[0].Annotations["a"] != "b" || objs[1].Kind != "A B\n" {
		t.Errorf("got %+v", objs)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"an open list": {
			"a: 1\n---\nb: [\nc: 2\nd: 3\n",
			`YAML parse error on web/templates/a.yaml: error converting YAML to JSON: yaml: line 4: did not find expected ',' or ']'
    2 | ---
    3 | b: [
  > 4 | c: 2
      | ^
    5 | d: 3`,
		},
		"a tab": {
			"a: 1\nb:\n\tc: 1\n",
			`YAML parse error on web/templates/a.yaml: error converting YAML to JSON: yaml: line 3: found character that cannot start any token (YAML is indented by spaces, there is a tab)
    1 | a: 1
    2 | b:
  > 3 | →c: 1
      |  ^`,
		},
		"text": {
			"hello",
			`YAML parse error on web/templates/a.yaml: line 1: a document must be a map with apiVersion and kind, this one is text
  > 1 | hello
      | ^`,
		},
		"a kind that is a list": {
			"kind: [a]",
			"YAML parse error on web/templates/a.yaml: line 1: kind must be a string, this one is a list\n  > 1 | kind: [a]\n      | ^",
		},
		"text in UTF-16": {
			"\xff\xfea\x00:\x00 \x001\x00\n\x00",
			"YAML parse error on web/templates/a.yaml: the text is UTF-16: save the template as UTF-8",
		},
		"an annotation that is a map": {
			"kind: A\nmetadata: {annotations: {a: {b: c}}}",
			"YAML parse error on web/templates/a.yaml: line 2: metadata.annotations: \"a\" must be a string, this one is a map\n    1 | kind: A\n" +
				"  > 2 | metadata: {annotations: {a: {b: c}}}\n      | ^",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("web/templates/a.yaml", test.text)
			var e *SyntaxError
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if got := err.Error(); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func kinds(objs []*Object) string {
	var names []string
	for _, o := range objs {
		names = append(names, o.String())
	}
	return strings.Join(names, " ")
}

func TestOrder(t *testing.T) {
	var objs []*Object
	for _, name := range []string{"Zoo/z", "Aaa/b", "Aaa/a", "Service/s", "Deployment/d", "Ingress/i", "CronJob/c", "ConfigMap/z", "ConfigMap/a", "Namespace/n", "CustomResourceDefinition/x", "ValidatingWebhookConfiguration/v", "PriorityClass/p"} {
		kind, name, _ := strings.Cut(name, "/")
		objs = append(objs, &Object{Kind: kind, Name: name})
	}
	SortInstall(objs)
	if got, want := kinds(objs), "PriorityClass/p Namespace/n ConfigMap/z ConfigMap/a CustomResourceDefinition/x Service/s Deployment/d CronJob/c Ingress/i ValidatingWebhookConfiguration/v Aaa/b Aaa/a Zoo/z"; got != want {
		t.Errorf("install: got\n%s, want\n%s", got, want)
	}
	SortUninstall(objs)
	if got, want := kinds(objs), "Aaa/a Aaa/b Zoo/z ValidatingWebhookConfiguration/v Ingress/i Service/s CronJob/c Deployment/d CustomResourceDefinition/x ConfigMap/a ConfigMap/z Namespace/n PriorityClass/p"; got != want {
		t.Errorf("uninstall: got\n%s, want\n%s", got, want)
	}
}

func TestFormatRoundTrip(t *testing.T) {
	objs, err := Parse("web/templates/x.yaml", "kind: A\nmetadata: {name: a}\n\n---\n# only words\n---\nkind: B\ndata: |\n  x\n  ---\n")
	if err != nil {
		t.Fatal(err)
	}
	text := Format(objs)
	want := "---\n# Source: web/templates/x.yaml\nkind: A\nmetadata: {name: a}\n\n\n---\n# Source: web/templates/x.yaml\n# only words\n\n---\n# Source: web/templates/x.yaml\nkind: B\ndata: |\n  x\n  ---\n\n"
	if text != want {
		t.Errorf("got\n%q\nwant\n%q", text, want)
	}
	back, err := ParseManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(back) != 3 || back[0].Source != "web/templates/x.yaml" || back[0].Kind != "A" || !back[1].Empty || back[2].Kind != "B" || strings.Contains(back[2].Raw, "Source") {
		t.Errorf("got %+v", back)
	}
	if again := Format(back); again != text {
		t.Errorf("read and written again, it is\n%q\nand was\n%q", again, text)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range yamltest.Samples() {
		f.Add(s)
	}
	f.Add("\xfe\xff")
	f.Fuzz(func(t *testing.T, text string) {
		objs, err := Parse("x", text)
		var e *SyntaxError
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%T is not a SyntaxError", err)
		}
		for _, o := range objs {
			if _, err := o.Map(); err != nil {
				t.Errorf("%q has a head but no body: %v", o.Raw, err)
			}
		}
	})
}
