// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"cmp"
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// twoReleases returns the difference of releases web in namespace one and web-staging in namespace
// two.
func twoReleases(t *testing.T, old, now string, o Options) Diff {
	t.Helper()
	records := func(name, namespace, manifest string) *storage.Storage {
		s := storage.New(storage.NewMemory(namespace), namespace)
		rel := &release.Release{Name: name, Namespace: namespace, Revision: 1, Manifest: manifest, Info: release.Info{Status: release.Deployed}}
		if err := s.Create(t.Context(), rel); err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := records("web", "one", old), records("web-staging", "two", now)
	change, err := action.Diff{Releases: a}.Between(t.Context(), "web", b, "web-staging")
	if err != nil {
		t.Fatal(err)
	}
	return Of(change, o)
}

const service = `---
# Source: web/templates/service.yaml
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: one
  labels: {app.kubernetes.io/instance: web, app.kubernetes.io/name: web}
spec:
  selector: {app.kubernetes.io/instance: web}
  externalName: web.one.svc
---
# Source: web/templates/config.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: web-config
data:
  host: www.example.com
  size: "1"
`

var staging = strings.NewReplacer("name: web\n", "name: web-staging\n", "instance: web", "instance: web-staging", "namespace: one", "namespace: two",
	"web.one.svc", "web-staging.two.svc", "web-config", "web-staging-config")

func TestTwoReleases(t *testing.T) {
	now := staging.Replace(service)
	if d := twoReleases(t, service, now, Options{}); d.Changes() {
		t.Errorf("releases that differ in names only: got\n%s", printDiff(t, Text, "", d, Options{}))
	}
	d := twoReleases(t, service, now, Options{Names: true})
	if got := printDiff(t, Text, "", d, Options{Names: true}); !strings.Contains(got, "\n-   name: web-config\n+   name: web-staging-config\n") || !strings.Contains(got, "-   externalName: web.one.svc") {
		t.Errorf("with names: got\n%s", got)
	}
	d = twoReleases(t, service, strings.Replace(now, `size: "1"`, `size: "2"`, 1), Options{})
	want := `one, web-config, ConfigMap (v1) has changed:
  # Source: web/templates/config.yaml
  # is web-staging-config in release web-staging
...
    name: web-config
  data:
    host: www.example.com
-   size: "1"
+   size: "2"

Plan: 0 to add, 1 to change, 0 to destroy.
`
	if got := printDiff(t, Text, "", d, Options{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name, text := range map[string]string{
		"structured": printDiff(t, Structured, "", d, Options{}), "dyff": printDiff(t, Dyff, "", d, Options{}),
		"document": printDocument(t, output.JSON, d, Options{}),
	} {
		if !strings.Contains(text, "size") || strings.Contains(text, `"field": "name"`) || strings.Contains(text, "metadata.name") {
			t.Errorf("%s: got\n%s", name, text)
		}
	}
}

// A removed line is printed with its own names.
func TestTwoReleasesRemovedLines(t *testing.T) {
	now := strings.Replace(staging.Replace(service), "instance: web-staging, app.kubernetes.io/name: web", "instance: web-staging", 1)
	got := printDiff(t, Text, "", twoReleases(t, service, now, Options{}), Options{})
	if !strings.Contains(got, "-   labels: {app.kubernetes.io/instance: web, app.kubernetes.io/name: web}\n+   labels: {app.kubernetes.io/instance: web-staging}\n") {
		t.Errorf("got\n%s", got)
	}
	if strings.Contains(got, "-   selector") {
		t.Errorf("the selector differs only in names: got\n%s", got)
	}
}

func TestTwoReleasesWithOtherObjects(t *testing.T) {
	extra := "---\n# Source: web/templates/extra.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n"
	var b bytes.Buffer
	d := twoReleases(t, service+extra, staging.Replace(service)+strings.ReplaceAll(extra, "extra", "more"), Options{})
	if err := Write(context.Background(), term.Streams{Out: &b}, Simple, d, Options{}); err != nil {
		t.Fatal(err)
	}
	want := "two, more, ConfigMap (v1) to be added.\none, extra, ConfigMap (v1) to be removed.\nPlan: 1 to add, 0 to change, 1 to destroy.\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReplaceNames(t *testing.T) {
	n := newNames()
	for _, pair := range [][2]string{{"web", "prod"}, {"one", "two"}, {"web", "prod-web"}, {"web-db", "prod-web-db"}} {
		n.add(pair[0], pair[1])
	}
	before := object(t, "a: web\nb: web-db.one.svc\nc: {d: [web, other], e: web}\nf: 1\ng: web-db\nh: web.one\n")
	after := object(t, "a: prod\nb: web-db.two.svc\nc: {d: [prod-web, web], e: shop}\nf: 2\ng: prod-web-db\nh: prod.two\n")
	want := object(t, "a: prod\nb: web-db.two.svc\nc: {d: [prod-web, other], e: web}\nf: 1\ng: prod-web-db\nh: prod.two\n")
	if got := n.replaceObject(before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if before["a"] != "web" {
		t.Error("the object was changed")
	}
	var none *names
	if got := none.replaceObject(before, after); !reflect.DeepEqual(got, before) {
		t.Errorf("without names: got %v", got)
	}
}

func TestSameNames(t *testing.T) {
	n := newNames()
	for _, pair := range [][2]string{{"web", "web-staging"}, {"web-db", "db.staging"}, {"a.b", "c"}} {
		n.add(pair[0], pair[1])
	}
	for _, tc := range []struct {
		before, after string
		want          bool
	}{
		{"web", "web-staging", true},
		{"web", "web", true},
		{"{name: web, instance: web}", "{name: web, instance: web-staging}", true},
		{"web-staging", "web-staging", true},
		{"web-staging", "web", false},
		{"web-db", "db.staging", true},
		{"web-db", "web-staging-db", false},
		{"web-x", "web-staging-x", true},
		{"x-web", "x-web-staging", true},
		{"website", "web-stagingsite", false},
		{"web1", "web-staging1", false},
		{"wéb", "wéb", true},
		{"éweb", "éweb-staging", false},
		{"http://web:80/web", "http://web-staging:80/web", true},
		{"http://web:80", "http://web-staging:81", false},
		{"a.b", "c", true},
		{"", "web", false},
	} {
		t.Run(cmp.Or(tc.before, "nothing")+" and "+tc.after, func(t *testing.T) {
			if got := n.same(tc.before, tc.after); got != tc.want {
				t.Errorf("%q, %q: got %t, want %t", tc.before, tc.after, got, tc.want)
			}
		})
	}
}

func TestHunkPaths(t *testing.T) {
	lines := func(text string) []string { return splitLines(text) }
	const text = "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nspec:\n  replicas: 1\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      containers:\n      - name: web\n        image: a\n        args:\n        - x\n      - name: side\n        image: b\n"
	for _, tc := range []struct {
		name string
		edit []string
		want string
	}{
		{"a field", []string{"replicas: 1", "replicas: 2"}, "spec"},
		{"two fields of one parent", []string{"image: a\n        args:\n        - x", "image: c\n        args:\n        - x\n        tty: true"}, "spec.template.spec.containers[web]"},
		{"two parents", []string{"replicas: 1", "replicas: 2", "app: web", "app: shop"}, "spec, spec.template.metadata.labels"},
		{"an item that comes", []string{"      - name: side\n", "      - name: new\n        image: n\n        env:\n        - name: A\n      - name: side\n"}, "spec.template.spec.containers[new]"},
		{"an item that goes", []string{"      - name: side\n        image: b\n", ""}, "spec.template.spec.containers[side]"},
		{"a block that comes", []string{"    metadata:\n", "    extra:\n      deep:\n        deeper: 1\n    metadata:\n"}, "spec.template"},
		{"many", []string{"replicas: 1", "replicas: 2", "app: web", "app: shop", "image: a", "image: c", "- x", "- y", "image: b", "image: d"},
			"spec, spec.template.metadata.labels, spec.template.spec.containers[web], spec.template.spec.containers[side]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x, y := lines(text), lines(strings.NewReplacer(tc.edit...).Replace(text))
			list := (*names)(nil).hunks(x, y, 30)
			if len(list) != 1 {
				t.Fatalf("got %d hunks", len(list))
			}
			if got := strings.Join(list[0].paths, ", "); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestFoldPaths(t *testing.T) {
	for _, tc := range []struct {
		paths [][]string
		want  string
	}{
		{[][]string{{".a"}, {".a"}, {".b", "[c]"}}, "a b[c]"},
		{[][]string{{".a", ".1"}, {".a", ".2"}, {".a", ".3"}, {".a", ".4"}, {".a", ".5"}}, "a"},
		{[][]string{{".a", ".1", ".x"}, {".a", ".2"}, {".a", ".3"}, {".a", ".4"}, {".a", ".1", ".y"}}, "a.1 a.2 a.3 a.4"},
		{[][]string{{".a"}, {".b"}, {".c"}, {".d"}, {".e"}}, "a b c d e"},
		{nil, ""},
	} {
		t.Run(cmp.Or(tc.want, "no paths"), func(t *testing.T) {
			if got := strings.Join(foldPaths(tc.paths), " "); got != tc.want {
				t.Errorf("%v: got %s, want %s", tc.paths, got, tc.want)
			}
		})
	}
}
