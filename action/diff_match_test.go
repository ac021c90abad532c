// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/release"
)

// named returns the manifest of ConfigMaps, each "template/name" or "template/namespace/name".
func named(objects ...string) string {
	var b strings.Builder
	for _, o := range objects {
		words := strings.Split(o, "/")
		namespace := ""
		if len(words) == 3 {
			namespace = ", namespace: " + words[1]
		}
		fmt.Fprintf(&b, "---\n# Source: chart/templates/%s.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s%s}\ndata: {a: b}\n",
			words[0], words[len(words)-1], namespace)
	}
	return b.String()
}

// nameOf returns the name of a state of an object, or "".
func nameOf(object map[string]any) any {
	meta, _ := object["metadata"].(map[string]any)
	if meta == nil {
		return ""
	}
	return meta["name"]
}

func TestBetweenReleases(t *testing.T) {
	for _, tc := range []struct {
		name, from, to string // releases, with their namespaces
		old, now       string
		want           string // old name > new name
	}{
		{"the release's name replaced", "ns/web", "ns/web-staging", named("a/web", "b/web-config"), named("a/web-staging", "b/web-staging-config"),
			"web>web-staging web-config>web-staging-config"},
		{"the same names", "ns/web", "ns/shop", named("a/settings"), named("a/settings"), "settings>settings"},
		{"a replaced name before the same", "ns/web", "ns/web-db", named("a/web", "b/web-db"), named("a/web-db", "b/web-db-db"),
			"web>web-db web-db>web-db-db"},
		{"a replaced name before the same, of one template", "ns/web", "ns/web-db", named("a/web", "a/web-db"), named("a/web-db"),
			"web>web-db web-db>"},
		{"another template", "ns/web", "ns/shop", named("a/web-config"), named("b/shop-config"), "web-config>shop-config"},
		{"the same template first", "ns/web", "ns/shop", named("b/web", "a/shop"), named("a/shop"), "shop>shop web>"},
		{"names made otherwise", "ns/web", "ns/prod", named("a/web", "b/web-db"), named("a/prod-web", "b/prod-web-db"),
			"web>prod-web web-db>prod-web-db"},
		{"several of a template, with the releases' names", "ns/web", "ns/prod", named("a/web-x", "a/web-y"), named("a/prod-web-x", "a/prod-web-y"),
			"web-x>prod-web-x web-y>prod-web-y"},
		{"several of a template, with other names", "ns/web", "ns/prod", named("a/k", "a/l"), named("a/p", "a/q"), ">p >q k> l>"},
		{"more in one release", "ns/web", "ns/shop", named("a/web", "a/web-x"), named("a/shop", "a/shop-y", "a/shop-z"), "web>shop >shop-y >shop-z web-x>"},
		{"namespaces of releases", "one/web", "two/web", named("a/one/web", "b/kube-system/web"), named("a/two/web", "b/kube-system/web"),
			"web>web web>web"},
		{"another namespace", "one/web", "two/web", named("a/kube-system/web"), named("b/two/web"), ">web web>"},
		{"another chart", "ns/web", "ns/shop", named("a/x"), strings.Replace(named("a/z"), "chart/", "other/", 1), ">z x>"},
		{"nothing in one", "ns/web", "ns/shop", named("a/web"), "", "web>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var calls callLog
			records := func(id, manifest string) (*fakeRecords, string) {
				namespace, name, _ := strings.Cut(id, "/")
				hook := &release.Hook{Name: name, Kind: "ConfigMap", Path: "chart/templates/hook.yaml", Manifest: named("hook/" + name + "-hook")}
				rel := &release.Release{Name: name, Namespace: namespace, Revision: 1, Manifest: manifest, Hooks: []*release.Hook{hook}}
				return newFakeRecords(&calls, rel), name
			}
			a, from := records(tc.from, tc.old)
			b, to := records(tc.to, tc.now)
			change, err := Diff{Releases: a}.Between(t.Context(), from, b, to)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range change.Plan.Steps {
				got = append(got, fmt.Sprintf("%v>%v", nameOf(s.Live), nameOf(s.After)))
			}
			if got := strings.Join(got, " "); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if len(change.Hooks) != 1 || change.Hooks[0].Live == nil || change.Hooks[0].Name != to+"-hook" {
				t.Errorf("got hooks %+v, want one that is updated", change.Hooks)
			}
			if !change.Stored || change.From.Name != from || change.To.Name != to {
				t.Errorf("got a change %t from %s to %s", change.Stored, change.From.Name, change.To.Name)
			}
		})
	}
}

// A pair of objects is updated, or unchanged if it does not differ at all.
func TestBetweenReleasesActions(t *testing.T) {
	var calls callLog
	record := func(name, manifest string) *fakeRecords {
		return newFakeRecords(&calls, &release.Release{Name: name, Namespace: "ns", Revision: 1, Manifest: manifest})
	}
	change, err := Diff{Releases: record("web", named("a/web", "b/same", "c/old"))}.Between(t.Context(), "web",
		record("shop", named("a/shop", "b/same", "d/new", "d/more")), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := actions(change.Plan.Steps), "update ConfigMap/shop, unchanged ConfigMap/same, create ConfigMap/new, create ConfigMap/more, delete ConfigMap/old"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := change.Plan.Steps[0].Former.Raw; !strings.Contains(got, "name: web}") {
		t.Errorf("the rendered text of the first release is %q", got)
	}
}

func TestReplaceWord(t *testing.T) {
	for _, tc := range []struct{ name, text, from, to, want string }{
		{"the whole text", "web", "web", "web-staging", "web-staging"},
		{"a prefix", "web-config", "web", "shop", "shop-config"},
		{"a suffix", "team-web", "web", "shop", "team-shop"},
		{"several", "web.web.svc", "web", "shop", "shop.shop.svc"},
		{"within a word", "website, cobweb, web2, 2web, w\u00e9web", "web", "shop", "website, cobweb, web2, 2web, w\u00e9web"},
		{"after one within a word", "website web", "web", "shop", "website shop"},
		{"invalid UTF-8", "\xffweb\xff", "web", "shop", "\xffshop\xff"},
		{"a longer name", "web", "web-staging", "web", "web"},
		{"no name", "web", "", "shop", "web"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := replaceWord(tc.text, tc.from, tc.to); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
