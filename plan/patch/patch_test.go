// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan/patch"
)

const objects = `# the web
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 1 # one is enough
  template:
    spec:
      # the program
      containers:
      - name: web
        image: nginx
---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: other
---
# only a comment
---
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations:
    helm.sh/hook: pre-install
spec: {}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: one}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: two}
`

func parse(t testing.TB, source, text string) []*manifest.Object {
	t.Helper()
	objs, err := manifest.Parse(source, text)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

func read(t testing.TB, text string) []*patch.Patch {
	t.Helper()
	f, err := patch.Read("fix.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := f.Patches()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// apply applies patches to objects, and returns them with what has changed.
func apply(t testing.TB, text string) ([]*manifest.Object, []string, error) {
	t.Helper()
	objs := parse(t, "app/templates/all.yaml", objects)
	var done []string
	for _, p := range read(t, text) {
		changed, changes, err := p.Apply(objs, "shop")
		if err != nil {
			return nil, nil, err
		}
		objs = changed
		for _, c := range changes {
			done = append(done, p.String()+" "+c.String())
		}
	}
	return objs, done, nil
}

// What a patch does not change keeps its text, order and comments.
func TestTextStays(t *testing.T) {
	got, done, err := apply(t, `
patches:
- target: {kind: Deployment}
  patch: |-
    - {op: replace, path: /spec/replicas, value: 3}
    - {op: add, path: /metadata/annotations, value: {a: b}}
- target: {name: web, labelSelector: app}
  patch: |-
    spec:
      template:
        spec:
          containers:
          - name: web
            image: caddy
`)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("replicas: 1 ", "replicas: 3 ", "nginx", "caddy", "labels: {app: web}\n",
		"labels: {app: web}\n  annotations:\n    a: b\n").Replace(objects[:strings.Index(objects, "---")])
	if got[0].Raw != want {
		t.Errorf("got\n%s\nwant\n%s", got[0].Raw, want)
	}
	for i, o := range parse(t, "", objects)[1:] {
		if got[i+1].Raw != o.Raw {
			t.Errorf("object %d has changed:\n%s", i+1, got[i+1].Raw)
		}
	}
	if want := []string{"fix.yaml:3 Deployment/web: metadata.annotations, spec.replicas",
		"fix.yaml:7 Deployment/web: spec.template.spec.containers[web].image"}; !slices.Equal(done, want) {
		t.Errorf("got %q, want %q", done, want)
	}
}

func TestTargets(t *testing.T) {
	const label = "\n  patch: '[{\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {\"patched\": \"yes\"}}]'"
	for target, want := range map[string][]string{
		"{kind: Deployment}":                    {"Deployment/web"},
		"{kind: Deploy.*|Job}":                  {"Deployment/web", "Job/migrate"},
		"{kind: Deploy}":                        nil,
		"{name: we}":                            nil,
		"{name: .*}":                            {"Deployment/web", "Service/web", "Job/migrate", "ConfigMap/one", "ConfigMap/two"},
		"{}":                                    {"Deployment/web", "Service/web", "Job/migrate", "ConfigMap/one", "ConfigMap/two"},
		"{group: apps}":                         {"Deployment/web"},
		"{version: v1, group: apps|batch}":      {"Deployment/web", "Job/migrate"},
		"{namespace: other}":                    {"Service/web"},
		"{namespace: shop, name: web}":          {"Deployment/web"},
		"{labelSelector: app=web}":              {"Deployment/web"},
		"{labelSelector: \"app in (web, db)\"}": {"Deployment/web"},
		"{annotationSelector: helm.sh/hook}":    {"Job/migrate"},
		"{kind: ConfigMap, name: two}":          {"ConfigMap/two"},
	} {
		t.Run(target, func(t *testing.T) {
			got, _, err := apply(t, "- target: "+target+label)
			var none *patch.NoTargetError
			if errors.As(err, &none) != (want == nil) || err != nil && none == nil {
				t.Fatal(err)
			}
			var names []string
			for _, o := range got {
				if o.Labels["patched"] == "yes" {
					names = append(names, o.String())
				}
			}
			if !slices.Equal(names, want) {
				t.Errorf("got %q, want %q", names, want)
			}
		})
	}
}

func TestNoTarget(t *testing.T) {
	const op = "\n  patch: '[{\"op\": \"remove\", \"path\": \"/spec\"}]'"
	const skip = "--patch-allow-missing skips patches whose target matches nothing"
	for text, want := range map[string]string{
		"- target: {kind: Deployment, name: wbe}" + op:                        "did you mean Deployment/web?",
		"- target: {kind: deployment, name: web}" + op:                        "did you mean Deployment/web?",
		"- target: {kind: Deploymnt}" + op:                                    "did you mean Deployment/web?",
		"- target: {name: migrat}" + op:                                       "did you mean Job/migrate?",
		"- target: {kind: Deployment, labelSelector: app=db}" + op:            "did you mean Deployment/web, which labelSelector app=db does not select?",
		"- target: {kind: Service, namespace: shop}" + op:                     "did you mean Service/web, whose namespace is other?",
		"{apiVersion: v1, kind: Service, metadata: {name: web}}":              "did you mean Service/web, whose namespace is other?",
		"{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: web}}": "did you mean Deployment/web, whose apiVersion is apps/v1?",
		"- target: {kind: Gateway, name: quite-different}" + op:               "",
	} {
		t.Run(text, func(t *testing.T) {
			_, _, err := apply(t, text)
			var none *patch.NoTargetError
			if !errors.As(err, &none) {
				t.Fatalf("got %v", err)
			}
			hints := hint.Of(err)
			if hints[len(hints)-1] != skip || (len(hints) > 1) != (want != "") || want != "" && hints[0] != want {
				t.Errorf("got %q, want %q", hints, want)
			}
		})
	}
}

func TestAllowMissing(t *testing.T) {
	f, err := patch.Read("a", []byte("- target: {name: x}\n  patch: '[]'"), nil)
	f.AllowMissing = true
	all, perr := f.Patches()
	if err != nil || perr != nil {
		t.Fatal(err, perr)
	}
	if _, changes, err := all[0].Apply(parse(t, "", objects), "shop"); err != nil || changes != nil {
		t.Errorf("got %v, %v", changes, err)
	}
}

func TestSyntax(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "fix.yaml: has no patches",
		"# nothing":                              "fix.yaml: has no patches",
		"a: [":                                   "fix.yaml:1: did not find expected node content",
		"text":                                   "fix.yaml:1: is text, and must be a patch or a list of patches",
		"a: b":                                   "fix.yaml:1: is a patch without a target: it needs apiVersion, kind and metadata.name, or a target beside it",
		"- {op: add, path: /a, value: 1}":        "fix.yaml:1: is a JSON 6902 patch without a target: put it into the field patch of a list of patches, with a target beside it",
		"{op: add, path: /a, value: 1}":          "fix.yaml:1: is one operation of a JSON 6902 patch, which must be a list of them",
		"patches: {a: b}":                        "fix.yaml:1: patches must be a list",
		"patches: [a]":                           "fix.yaml:1: patches must have maps with patch or path",
		"patches:\n- {target: {kind: A}}":        "fix.yaml:2: has neither patch nor path",
		"patches:\n- {patch: a, path: b}":        "fix.yaml:2: has both patch and path",
		"\n- patch: {a: b}":                      "fix.yaml:2: has a patch that is not a string: write it below \"patch: |-\"",
		"- path: 1":                              "fix.yaml:1: has a path that is not a string",
		"- path: ../a.yaml":                      `fix.yaml:1: the path "../a.yaml" must be that of a file in the directory of the patches, or below it`,
		"- path: /etc/passwd":                    `fix.yaml:1: the path "/etc/passwd" must be that of a file in the directory of the patches, or below it`,
		"- path: absent.yaml":                    "fix.yaml:1: no such file",
		"- patch: ''":                            "fix.yaml:1: has an empty patch",
		"- patch: '[]'":                          "fix.yaml:1: has a JSON 6902 patch without a target",
		"- patch: |-\n    a: [\n  target: {}":    "fix.yaml:2: did not find expected node content",
		"- {patch: 'a: b', target: {kid: A}}":    "fix.yaml:1: target has no field kid; its fields are group, version, kind, name, namespace, labelSelector, annotationSelector",
		"- {patch: 'a: b', target: a}":           "fix.yaml:1: has a target that is not a map",
		"- {patch: 'a: b', target: {kind: 1}}":   "fix.yaml:1: has a target whose kind is 1, and must be a string",
		"- {patch: 'a: b', target: {name: '('}}": "fix.yaml:1: name of target: error parsing regexp: missing closing ): `(`",
		"- {patch: 'a: b', target: {labelSelector: 'a in b'}}":                             "fix.yaml:1: labelSelector of target: unable to parse requirement: found 'b' expected: '('",
		"- {patch: 'a: b', target: {}, options: {allowNamechange: true}}":                  "fix.yaml:1: options has no field allowNamechange; its fields are allowNameChange, allowKindChange",
		"- {patch: 'a: b', target: {}, options: {allowNameChange: 1}}":                     "fix.yaml:1: has the option allowNameChange, which must be true or false",
		"- {patch: 'a: b', targt: {}}":                                                     "fix.yaml:1: an entry of patches has no field targt; its fields are patch, path, target, options",
		"- {patch: \"a: b\\n---\\nc: d\\n\", target: {}}":                                  "fix.yaml:1: has 2 patches for one target: make an entry of each",
		"- {patch: '[{op: ad, path: /a}]', target: {}}":                                    "fix.yaml:1: operation 1 of the JSON 6902 patch has the op ad, and must have one of add, remove, replace, move, copy, test",
		"- {patch: '[{op: add, path: a, value: 1}]', target: {}}":                          `fix.yaml:1: operation 1 of the JSON 6902 patch has the path "a", which must begin with a slash, such as /spec/replicas`,
		"- {patch: '[{op: add, path: /a~2, value: 1}]', target: {}}":                       `fix.yaml:1: operation 1 of the JSON 6902 patch has the path "/a~2", which has ~ without 0 or 1 after it: ~1 stands for a slash in a key, and ~0 for ~`,
		"- {patch: '[{op: add, path: /a}]', target: {}}":                                   "fix.yaml:1: operation 1 of the JSON 6902 patch has no value, which add needs",
		"- {patch: '[{op: move, path: /a}]', target: {}}":                                  "fix.yaml:1: operation 1 of the JSON 6902 patch has no from, which move needs",
		"- {patch: '[1]', target: {}}":                                                     "fix.yaml:1: operation 1 of the JSON 6902 patch is not a map with op and path",
		"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a]": "fix.yaml:3: has resources; of a kustomization only patches, patchesStrategicMerge, patchesJson6902 are read here",
		"patches: []": "fix.yaml: has no patches",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := patch.Read("fix.yaml", []byte(text), func(string) ([]byte, error) { return nil, errors.New("no such file") })
			var syntax *patch.SyntaxError
			if !errors.As(err, &syntax) || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestSimilarField(t *testing.T) {
	_, err := patch.Read("fix.yaml", []byte("- {patch: 'a: b', target: {labelselector: a}}"), nil)
	if got := hint.Of(err); !slices.Equal(got, []string{"did you mean labelSelector?"}) {
		t.Errorf("got %q", got)
	}
}

func TestOperationErrors(t *testing.T) {
	for op, want := range map[string]string{
		"{op: remove, path: /spec/replica}":                           "/spec/replica does not exist; there is replicas",
		"{op: replace, path: /spec/x, value: 1}":                      "/spec/x does not exist; the operation add sets a new field",
		"{op: add, path: /spec/x/y, value: 1}":                        "/spec/x does not exist",
		"{op: add, path: /spec/replicas/y, value: 1}":                 "/spec/replicas is not a map or a list",
		"{op: test, path: /spec/replicas, value: 2}":                  "the value is 1, and not 2",
		"{op: add, path: /spec/template/spec/containers/2, value: 1}": "/spec/template/spec/containers/2 does not exist: the list has 2 items",
		"{op: remove, path: /spec/template/spec/containers/-}":        "/spec/template/spec/containers/- is in a list, and must end in the index of an item",
		"{op: remove, path: /spec/template/spec/containers/01}":       "/spec/template/spec/containers/01 is in a list, and must end in the index of an item",
		"{op: move, from: /spec, path: /spec/x}":                      "it moves /spec into itself",
		"{op: copy, from: /spec/x, path: /spec/y}":                    "from /spec/x: /spec/x does not exist",
	} {
		t.Run(op, func(t *testing.T) {
			_, _, err := apply(t, "- target: {kind: Deployment}\n  patch: |-\n    - "+op)
			var failed *patch.ApplyError
			if !errors.As(err, &failed) || !strings.HasSuffix(err.Error(), "): "+want) ||
				!strings.HasPrefix(err.Error(), "fix.yaml:1: patch Deployment/web: operation 1 (") {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// The values of Secrets are not in errors.
func TestSecretsAreHidden(t *testing.T) {
	objs := parse(t, "a", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: verysecret}\n")
	p := read(t, "- target: {kind: Secret}\n  patch: '[{op: test, path: /stringData/p, value: other}]'")[0]
	_, _, err := p.Apply(objs, "shop")
	want := "fix.yaml:1: patch Secret/s: operation 1 (test /stringData/p): the value is another one"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// A patch of a few lines does not fill the memory.
func TestCopiesAreLimited(t *testing.T) {
	text := "- target: {kind: Deployment}\n  patch: |-\n"
	for i := range 60 {
		text += fmt.Sprintf("    - {op: copy, from: /spec, path: /spec/a%d}\n", i)
	}
	_, _, err := apply(t, text)
	if err == nil || !strings.Contains(err.Error(), "the patch copies more than 20 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestDeleteAndRename(t *testing.T) {
	got, done, err := apply(t, `
- target: {kind: Job}
  patch: "{$patch: delete}"
- target: {kind: Deployment}
  options: {allowNameChange: true, allowKindChange: true}
  patch: "{kind: StatefulSet, metadata: {name: db}}"
- target: {kind: Service}
  patch: "{kind: Other, metadata: {name: stays, namespace: stays}, spec: {a: b}}"
`)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range got {
		names = append(names, o.String())
	}
	if want := []string{"StatefulSet/db", "Service/web", "/", "List/"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if want := []string{"fix.yaml:2 Job/migrate: deleted", "fix.yaml:4 StatefulSet/db: kind, metadata.name",
		"fix.yaml:7 Service/web: spec"}; !slices.Equal(done, want) {
		t.Errorf("got %q, want %q", done, want)
	}
	if got[1].Namespace != "other" {
		t.Errorf("the namespace is %q", got[1].Namespace)
	}
}

func TestRecord(t *testing.T) {
	a := patch.File{Name: "a", Text: "1", Files: map[string]string{"b": "2"}, AllowMissing: true}
	raw, err := patch.Record([]patch.File{a})
	if err != nil {
		t.Fatal(err)
	}
	got, err := patch.Recorded(raw)
	if err != nil || !reflect.DeepEqual(got, []patch.File{a}) {
		t.Errorf("got %v, %v", got, err)
	}
	if raw, err := patch.Record(nil); raw != nil || err != nil {
		t.Errorf("no patches are recorded as %s, %v", raw, err)
	}
	if _, err := patch.Recorded([]byte("{}")); err == nil {
		t.Error("a damaged record is read")
	}
	merged := patch.Merge([]patch.File{{Name: "a", Text: "1"}, {Name: "b"}}, []patch.File{{Name: "c"}, {Name: "a", Text: "2"}})
	if want := []patch.File{{Name: "a", Text: "2"}, {Name: "b"}, {Name: "c"}}; !reflect.DeepEqual(merged, want) {
		t.Errorf("got %v, want %v", merged, want)
	}
}

func TestLineOf(t *testing.T) {
	all := read(t, `patches:
- target: {kind: Deployment}
  patch: |-
    - op: replace
      path: /spec/replicas
      value: 3
- target: {kind: Service}
  patch: |-
    metadata:
      labels:
        replicas: none
`)
	for i, want := range []map[string]int{{"replicas": 5, "other": 2}, {"replicas": 11, "labels": 10, "": 7}} {
		for key, line := range want {
			if got := all[i].LineOf(key); got != line {
				t.Errorf("%s of patch %d: got %d, want %d", key, i, got, line)
			}
		}
	}
}

// tree returns a chart with two subcharts, of which one has a subchart, and files of its patches/.
func tree(files map[string]string, below map[string]string) *chart.Chart {
	of := func(name string, files map[string]string, subs ...*chart.Chart) *chart.Chart {
		c := &chart.Chart{Metadata: &chart.Metadata{Name: name}}
		for _, sub := range subs {
			c.Metadata.Dependencies = append(c.Metadata.Dependencies, &chart.Dependency{Name: sub.Name()})
		}
		for name, text := range files {
			c.Files = append(c.Files, &chart.File{Name: name, Data: []byte(text)})
		}
		c.SetDependencies(subs...)
		return c
	}
	c := of("app", files, of("db", below, of("cache", nil)), of("web", nil))
	c.Metadata.Dependencies = append(c.Metadata.Dependencies, &chart.Dependency{Name: "off"})
	return c
}

const setLabel = "- target: {name: %s}\n  patch: '{metadata: {labels: {by: %q}}}'\n"

func TestOfCharts(t *testing.T) {
	var objs []*manifest.Object
	for _, source := range []string{"app", "app/charts/db", "app/charts/db/charts/cache", "app/charts/web"} {
		objs = append(objs, parse(t, source+"/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+source[strings.LastIndexByte(source, '/')+1:]+"}\n")...)
	}
	all, err := patch.OfCharts(tree(map[string]string{
		"patches/a.yaml":          fmt.Sprintf(setLabel, ".*", "a"),
		"patches/b.yaml":          "- target: {name: web}\n  path: sub/json.json\n",
		"patches/sub/json.json":   `[{"op": "add", "path": "/data", "value": {"b": "b"}}]`,
		"patches/db/x.yaml":       fmt.Sprintf(setLabel, ".*", "x"),
		"patches/off/x.yaml":      fmt.Sprintf(setLabel, ".*", "off"),
		"patches/README.md":       "# not a patch",
		"patches/_ignored.yaml":   "nor this",
		"other/patches/none.yaml": "nor this",
	}, map[string]string{"patches/k.yaml": fmt.Sprintf(setLabel, "cache", "k"), "patches/kustomization.yaml": "patches: [{path: l.yaml}]",
		"patches/l.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: cache, labels: {by: l}}}"}))
	if err != nil {
		t.Fatal(err)
	}
	var places, labels []string
	for _, p := range all {
		places = append(places, p.String())
		if objs, _, err = p.Apply(objs, "shop"); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range objs {
		labels = append(labels, o.Name+"="+o.Labels["by"])
	}
	if want := []string{"app/charts/db/patches/l.yaml:1", "app/patches/a.yaml:1", "app/patches/sub/json.json:1",
		"app/patches/db/x.yaml:1"}; !slices.Equal(places, want) {
		t.Errorf("got %q, want %q", places, want)
	}
	if want := []string{"app=", "db=x", "cache=x", "web=a"}; !slices.Equal(labels, want) {
		t.Errorf("got %q, want %q", labels, want)
	}
}

func TestOfChartsErrors(t *testing.T) {
	objs := parse(t, "app/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n")
	for name, c := range map[string]struct{ file, text, want, hint string }{
		"own object": {"patches/a.yaml", fmt.Sprintf(setLabel, "app", "a"), "app/patches/a.yaml:1: the target of the patch matches no object: " +
			"name app; it matches ConfigMap/app (app/templates/a.yaml), which is not in a subchart of app", "the patches/ of a chart change"},
		"no object": {"patches/a.yaml", fmt.Sprintf(setLabel, "none", "a"), "app/patches/a.yaml:1: the target of the patch matches no object: name none",
			"patches of a subchart that can be disabled belong into patches/NAME/"},
		"no object of it": {"patches/db/a.yaml", fmt.Sprintf(setLabel, "none", "a"), "app/patches/db/a.yaml:1: the target of the patch matches no object: name none",
			"the patches of patches/db/ are for the objects of the subchart db"},
		"no subchart": {"patches/dbs/a.yaml", fmt.Sprintf(setLabel, "a", "a"), "app/patches/dbs: is named like no subchart of app", "did you mean db?"},
		"no patch":    {"patches/a.yaml", "[", "app/patches/a.yaml:1: did not find expected node content", ""},
		"no file":     {"patches/a.yaml", "- path: b.yaml", "app/patches/a.yaml:1: the chart has no file patches/b.yaml", ""},
		"outside":     {"patches/a.yaml", "- path: ../values.yaml", `app/patches/a.yaml:1: the path "../values.yaml" must be that of a file in the directory of the patches, or below it`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := patch.OfCharts(tree(map[string]string{c.file: c.text}, nil))
			for _, p := range all {
				if err == nil {
					_, _, err = p.Apply(objs, "shop")
				}
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if got := strings.Join(hint.Of(err), "\n"); !strings.HasPrefix(got, c.hint) || (got == "") != (c.hint == "") {
				t.Errorf("the hint is %q, want %q", got, c.hint)
			}
		})
	}
}

// A directory patches/ of a chart without subcharts, or that says so, is something else.
func TestOtherDirectory(t *testing.T) {
	broken := map[string]string{"patches/a.yaml": "["}
	c := tree(broken, nil)
	c.Metadata.Annotations = map[string]string{patch.Annotation: "ignore"}
	single := &chart.Chart{Metadata: &chart.Metadata{Name: "app"}, Files: c.Files}
	for _, c := range []*chart.Chart{c, single} {
		if all, err := patch.OfCharts(c); err != nil || all != nil {
			t.Errorf("got %v, %v", all, err)
		}
	}
}

// FuzzRead looks for texts that are not refused cleanly, and for objects that patches break.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"patches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: replace, path: /spec/replicas, value: 3}\n",
		"- {patch: '{spec: {a: null, containers: [{$patch: replace}]}}', target: {}}",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n$patch: delete\n---\n",
		"patchesStrategicMerge:\n- |\n  apiVersion: v1\n  kind: Service\n  metadata: {name: web}\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			return
		}
		file, err := patch.Read("fix.yaml", []byte(text), func(string) ([]byte, error) { return nil, errors.New("no such file") })
		if err != nil {
			_ = err.Error()
			return
		}
		all, err := file.Patches()
		if err != nil {
			t.Fatalf("read once, and not again: %v", err)
		}
		objs := parse(t, "app/templates/all.yaml", objects)
		for _, p := range all {
			p.AllowMissing()
			changed, _, err := p.Apply(objs, "shop")
			if err != nil {
				continue
			}
			objs = changed
		}
		for _, o := range objs {
			if _, err := o.Map(); err != nil {
				t.Fatalf("%s is not YAML any more: %v", o, err)
			}
		}
	})
}

// Twenty patches of a chart with 30 objects, read and applied: each of another object, and all of one.
func BenchmarkApply(b *testing.B) {
	var objs []*manifest.Object
	deployment := objects[:strings.Index(objects, "---")]
	for i := range 30 {
		text := strings.Replace(deployment, "name: web", fmt.Sprintf("name: web%d", i), 1)
		objs = append(objs, parse(b, fmt.Sprintf("app/templates/%d.yaml", i), text)...)
	}
	for name, target := range map[string]string{"other": "web%d", "same": "web7"} {
		b.Run(name, func(b *testing.B) {
			var text strings.Builder
			for i := range 20 {
				name := strings.ReplaceAll(target, "%d", fmt.Sprint(i))
				fmt.Fprintf(&text, "- target: {kind: Deployment, name: %s}\n  patch: |-\n    spec:\n      template:\n"+
					"        spec:\n          containers:\n          - name: web\n            env:\n"+
					"            - {name: E%d, value: x}\n", name, i)
			}
			f, err := patch.Read("fix.yaml", []byte(text.String()), nil)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				all, err := f.Patches()
				if err != nil {
					b.Fatal(err)
				}
				w := patch.New(objs, "shop")
				for _, p := range all {
					if _, err := w.Apply(p); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := w.Objects(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestHostileFiles(t *testing.T) {
	entry := "- target: {kind: Deployment}\n  patch: 'spec: {replicas: 2}'\n"
	for name, c := range map[string]struct{ text, want string }{
		"UTF-16":         {"\xff\xfe-\x00", "fix.yaml: the text is UTF-16: save it as UTF-8"},
		"many patches":   {strings.Repeat(entry, 5001), "fix.yaml: has 5001 patches, and may have 5000"},
		"a bad pattern":  {"- target: {kind: '[a-'}\n  patch: 'a: b'\n", "fix.yaml:1: kind of target: error parsing regexp: missing closing ]: `[a-`"},
		"two of a group": {"- target: {kind: 'a)(b'}\n  patch: 'a: b'\n", "fix.yaml:1: kind of target: error parsing regexp: unexpected ): `a)(b`"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := patch.Read("fix.yaml", []byte(c.text), nil)
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// A target that matches nothing is shown as far as it fits a message.
func TestLongTarget(t *testing.T) {
	f, err := patch.Read("fix.yaml", []byte("- target: {kind: '"+strings.Repeat("a?", 1000)+"'}\n  patch: 'a: b'\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	patches, err := f.Patches()
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = patches[0].Apply(parse(t, "a.yaml", objects), "shop")
	if err == nil || len(err.Error()) > 200 || !strings.HasSuffix(err.Error(), "…") {
		t.Errorf("got %v", err)
	}
}
