// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n"

func TestObjects(t *testing.T) {
	tests := []struct {
		name, content string
		want          []string
	}{
		{"an object in order", configMap, []string{}},
		{"nothing, comments, and empty documents", "# hello\n---\n---\n" + configMap + "---\n", []string{}},
		{"every broken document of a file", "a: [\n---\n" + configMap + "---\nkind: [x]\n", []string{
			"[ERROR] templates/x.yaml:1: unable to parse YAML: did not find expected node content (line 1 of the output: a: [)\n\t> 1 | a: [\n\t    | ^\n\t  2 | ---\n\t  3 | apiVersion: v1",
			"[ERROR] templates/x.yaml:8: unable to parse YAML: kind must be a string, not a list (line 8 of the output: kind: [x])\n\t  6 |   name: cm\n\t  7 | ---\n\t> 8 | kind: [x]\n\t    | ^",
		}},
		{"a separator with something after it", configMap + "---apiVersion: v1\n", []string{
			"[ERROR] templates/x.yaml:5: unable to parse YAML: only a comment may follow the document separator ---, not: apiVersion: v1 (line 5 of the output: ---apiVersion: v1)\n\t  3 | metadata:\n\t  4 |   name: cm\n\t> 5 | ---apiVersion: v1\n\t    | ^",
		}},
		{"a name that Kubernetes refuses", strings.Replace(configMap, "cm", "My_Map", 1), []string{
			`[WARNING] templates/x.yaml:4: object name does not conform to Kubernetes naming requirements: "My_Map": must consist of lower case letters, digits, '-' or '.', and start and end with a letter or digit (such as my-name or example.com)`,
		}},
		{"an API that has gone", "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata:\n  name: x\n", []string{
			"[WARNING] templates/x.yaml:1: extensions/v1beta1 Ingress is deprecated in v1.14+, unavailable in v1.22+; use networking.k8s.io/v1 Ingress",
		}},
		{"a list of them", "apiVersion: batch/v1beta1\nkind: CronJobList\nmetadata:\n  name: x\n", []string{
			"[WARNING] templates/x.yaml:1: batch/v1beta1 CronJobList is deprecated in v1.21+, unavailable in v1.25+; use batch/v1 CronJobList",
		}},
		{"one that Helm does not know is a hint", "apiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: x\n", []string{
			"[INFO] templates/x.yaml:1: autoscaling/v2beta2 HorizontalPodAutoscaler is deprecated in v1.23+, unavailable in v1.26+; use autoscaling/v2 HorizontalPodAutoscaler",
		}},
		{"a Deployment without a selector", "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: x\nspec:\n  replicas: 1\n", []string{
			`[ERROR] templates/x.yaml:5: a Deployment must contain matchLabels or matchExpressions, and "x" does not`,
		}},
		{"groups of objects that cannot be waited for", configMap + "  annotations:\n    helm.sh/resource-group: app\n    helm.sh/depends-on/resource-groups: '[\"db\", 1]'\n---\n" + configMap + "  annotations:\n    helm.sh/resource-group: ' '\n---\n" + configMap + "  annotations:\n    helm.sh/resource-group: app\n    helm.sh/depends-on/resource-groups: db, app\n", []string{
			`[ERROR] templates/x.yaml:7: the resource groups to wait for must be a list of names, such as ["a", "b"]: json: cannot unmarshal number into Go value of type string`,
			`[WARNING] templates/x.yaml:14: the resource group has no name: the object is in no group`,
			`[ERROR] templates/x.yaml:22: resource group "app" waits for itself`,
		}},
		{"groups of objects as they should be", configMap + "  annotations:\n    helm.sh/resource-group: app\n    helm.sh/depends-on/resource-groups: '[\"db\"]'\n", nil},
		{"a hook that will never run", configMap + "  annotations:\n    helm.sh/hook: pre-install,pre-instal\n    helm.sh/hook-delete-policy: hook-sucess\n    helm.sh/hook-weight: high\n", []string{
			`[WARNING] templates/x.yaml:6: unknown hook event "pre-instal", the object will not be installed at all (known: pre-install, post-install, pre-delete, post-delete, pre-upgrade, post-upgrade, pre-rollback, post-rollback, test, test-success)`,
			`[WARNING] templates/x.yaml:7: unknown hook delete policy "hook-sucess", it has no effect (known: before-hook-creation, hook-succeeded, hook-failed)`,
			`[INFO] templates/x.yaml:8: hook weight "high" is not an integer and counts as 0`,
		}},
		{"annotations inside a List", "apiVersion: v1\nkind: List\nmetadata:\n  name: x\nitems:\n- metadata:\n    annotations:\n      helm.sh/resource-policy: keep\n", []string{
			"[ERROR] templates/x.yaml:8: annotation 'helm.sh/resource-policy' within List objects are ignored",
		}},
		{"an indent where a document begins", "\n  a: 1\n  metadata: {name: x}\n", []string{
			`[WARNING] templates/x.yaml:2: document starts with an illegal indent: "  a: 1", which may cause parsing problems`,
			"[INFO] templates/x.yaml:2: apiVersion is not set: a cluster refuses such an object",
			"[INFO] templates/x.yaml:2: kind is not set: a cluster refuses such an object",
		}},
		{"a duplicate key", configMap + "data:\n  a: x\n  a: y\n", []string{
			"[ERROR] templates/x.yaml:7: .data.a: expected a string, got boolean; put it in quotes",
			`[INFO] templates/x.yaml:7: key "a" is set twice in the same map; the last one counts`,
		}},
		{"JSON objects, one after the other", `{"kind":"A","metadata":{"name":"x"}}` + "\n" + `{"kind":"A","metadata":{"name":"y_"}}`, []string{
			"[INFO] templates/x.yaml:1: apiVersion is not set: a cluster refuses such an object",
			`[WARNING] templates/x.yaml:2: object name does not conform to Kubernetes naming requirements: "y_": must consist of lower case letters, digits, '-' or '.', and start and end with a letter or digit (such as my-name or example.com)`,
			"[INFO] templates/x.yaml:2: apiVersion is not set: a cluster refuses such an object",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := []Rendered{{Name: "templates/x.yaml", Source: tt.content, Content: tt.content}}
			same(t, findingLines(Objects(in, KubeVersion{1, 37}, nil)), tt.want)
			in[0].Name = "templates/NOTES.txt"
			same(t, findingLines(Objects(in, KubeVersion{1, 37}, nil)), []string{})
		})
	}
}

// An API is in order as long as its Kubernetes version does not deprecate it.
func TestDeprecatedByKubeVersion(t *testing.T) {
	in := []Rendered{{Name: "templates/x.yaml", Content: "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata:\n  name: x\n"}}
	for kube, want := range map[KubeVersion]int{{1, 20}: 0, {1, 21}: 1, {1, 37}: 1, {2, 0}: 1} {
		if got := len(Objects(in, kube, nil)); got != want {
			t.Errorf("Kubernetes %v: %d findings, want %d", kube, got, want)
		}
	}
}

func TestNameProblem(t *testing.T) {
	long := strings.Repeat("a", 64)
	tests := []struct {
		kind string
		good []string
		bad  []string
	}{
		{"ConfigMap", []string{"a", "a.b", "1", "a-b", long}, []string{"", "A", "a_b", "-a", "a-", "a..b", strings.Repeat("a", 254)}},
		{"Service", []string{"a", "a-1"}, []string{"", "1a", "a.b", "A", long}},
		{"Namespace", []string{"a", "1"}, []string{"", "a.b", long}},
		{"ClusterRole", []string{"system:A_b", "a:b"}, []string{"a/b", "a%b", "..", "."}},
		{"CertificateSigningRequest", []string{"a:B", "a/b"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			for _, n := range tt.good {
				if p := nameProblem(tt.kind, n); p != "" {
					t.Errorf("%s %q: %s, want no problem", tt.kind, n, p)
				}
			}
			for _, n := range tt.bad {
				if nameProblem(tt.kind, n) == "" {
					t.Errorf("%s %q has no problem, want one", tt.kind, n)
				}
			}
		})
	}
}

func FuzzObjects(f *testing.F) {
	for _, text := range []string{configMap, "a: b: c", "--- x", "{}{}", "{{ x }}\na", "kind: List\nitems: [&a {metadata: *a}]", "\t\n ", "a: &a [*a]"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, source, content string) {
		if len(source)+len(content) > 4096 {
			return
		}
		for _, x := range Objects([]Rendered{{Name: "templates/x.yaml", Source: source, Content: content}}, KubeVersion{1, 37}, nil) {
			if x.Line < 0 || x.Line > strings.Count(source, "\n")+1 {
				t.Errorf("%s: the template has no such line", x)
			}
		}
	})
}
