// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/repo/index"
)

const shop = `apiVersion: v1
entries:
  apache:
  - {apiVersion: v2, name: apache, version: 9.0.0, description: Apache HTTP Server. Web server, keywords: [http, web], urls: [a]}
  common:
  - {apiVersion: v2, name: common, version: 2.1.0, description: Shared helpers, type: library, urls: [a]}
  latest:
  - {apiVersion: v2, name: latest, version: latest, urls: [a]}
  mysql:
  - {apiVersion: v2, name: mysql, version: 1.0.0+build.5, description: Fast SQL Database, keywords: [Database, MySQL], urls: [a]}
  nginx:
  - {apiVersion: v2, name: nginx, version: 1.2.3, appVersion: "1.25", description: "A web server, NGINX", keywords: [http, web, proxy, old], urls: [a]}
  - {apiVersion: v2, name: nginx, version: 2.0.0-rc.1, appVersion: "1.27", description: "A web server, NGINX", urls: [a]}
  - {apiVersion: v2, name: nginx, version: 1.3.0, appVersion: "1.26", description: "A web server, NGINX", keywords: [http, web, proxy], urls: [a]}
  nginx-ingress:
  - {apiVersion: v2, name: nginx-ingress, version: 0.3.0, description: Ingress controller that uses nginx, urls: [a]}
  only-pre:
  - {apiVersion: v2, name: only-pre, version: 0.1.0-alpha.1, description: pre only nginx, urls: [a]}
`

// The expectations are the results of Helm 4.3.1, in its order.
func TestSearch(t *testing.T) {
	all := "a/apache 9.0.0, a/common 2.1.0, a/mysql 1.0.0+build.5, a/nginx 1.3.0, a/nginx-ingress 0.3.0, nginx-b/apache 9.0.0, nginx-b/common 2.1.0, nginx-b/mysql 1.0.0+build.5, nginx-b/nginx 1.3.0, nginx-b/nginx-ingress 0.3.0"
	for _, test := range []struct {
		search Search
		want   string
	}{
		{Search{}, all},
		// First matches in the name, then in the name with the repository.
		{Search{Word: "nginx"}, "a/nginx 1.3.0, a/nginx-ingress 0.3.0, nginx-b/nginx 1.3.0, nginx-b/nginx-ingress 0.3.0, nginx-b/apache 9.0.0, nginx-b/common 2.1.0, nginx-b/mysql 1.0.0+build.5"},
		{Search{Word: "NGINX-ing"}, "a/nginx-ingress 0.3.0, nginx-b/nginx-ingress 0.3.0"},
		// Then in the description, then in the keywords.
		{Search{Word: "http"}, "a/apache 9.0.0, nginx-b/apache 9.0.0, a/nginx 1.3.0, nginx-b/nginx 1.3.0"},
		{Search{Word: "web server"}, "a/apache 9.0.0, a/nginx 1.3.0, nginx-b/apache 9.0.0, nginx-b/nginx 1.3.0"},
		{Search{Word: "http web proxy"}, "a/nginx 1.3.0, nginx-b/nginx 1.3.0"},
		{Search{Word: "server web"}, ""},
		{Search{Word: "a/n"}, "a/nginx 1.3.0, a/nginx-ingress 0.3.0"},
		{Search{Word: "mysql", Devel: true}, "a/mysql 1.0.0+build.5, nginx-b/mysql 1.0.0+build.5"},
		{Search{Word: "a/nginx", Devel: true}, "a/nginx 2.0.0-rc.1, a/nginx-ingress 0.3.0"},
		{Search{Word: "only-pre"}, ""},
		{Search{Word: "a/only-pre", Devel: true}, "a/only-pre 0.1.0-alpha.1"},
		{Search{Word: "a/nginx", Want: "^1.2"}, "a/nginx 1.3.0"},
		{Search{Word: "a/nginx", Want: "1.2.3"}, "a/nginx 1.2.3"},
		{Search{Word: "a/nginx", Want: ">1.0-0", Devel: true}, "a/nginx 2.0.0-rc.1"},
		{Search{Word: "a/nginx", Versions: true}, "a/nginx 1.3.0, a/nginx 1.2.3, a/nginx-ingress 0.3.0"},
		{Search{Word: "a/nginx", Versions: true, Devel: true}, "a/nginx 2.0.0-rc.1, a/nginx 1.3.0, a/nginx 1.2.3, a/nginx-ingress 0.3.0"},
		{Search{Word: "a/nginx", Versions: true, Want: "~1.2"}, "a/nginx 1.2.3"},
		{Search{Word: "latest", Versions: true}, ""},
		{Search{Word: "NGIN", Regexp: true}, "a/nginx 1.3.0, nginx-b/nginx 1.3.0"},
		{Search{Word: "^(mysql|common)", Regexp: true}, "a/common 2.1.0, a/mysql 1.0.0+build.5, nginx-b/common 2.1.0, nginx-b/mysql 1.0.0+build.5"},
		{Search{Word: `^nginx\va/nginx\v.*proxy$`, Regexp: true}, "a/nginx 1.3.0"},
		{Search{Word: "[", Regexp: false}, ""},
		// Unlike Helm, which shows an older version if only that one matches.
		{Search{Word: "old"}, ""},
		{Search{Word: "old", Versions: true}, "a/nginx 1.2.3, nginx-b/nginx 1.2.3"},
	} {
		t.Run(test.want, func(t *testing.T) {
			q, err := test.search.Query()
			if err != nil {
				t.Fatal(err)
			}
			x, err := index.Parse([]byte(shop))
			if err != nil {
				t.Fatal(err)
			}
			var found []Found
			for _, name := range []string{"nginx-b", "a"} {
				some, err := q.In(name, x)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, some...)
			}
			SortFound(found)
			var got []string
			for _, f := range found {
				got = append(got, f.Name+" "+f.Version)
				if f.Library != strings.HasSuffix(f.Name, "/common") {
					t.Errorf("%s: library: %t", f.Name, f.Library)
				}
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("%+v found\n%s, wanted\n%s", test.search, strings.Join(got, ", "), test.want)
			}
		})
	}
}

func TestSearchRejectsInvalid(t *testing.T) {
	for _, s := range []Search{{Word: "[", Regexp: true}, {Want: "bogus.."}, {Want: "bogus..", Versions: true}} {
		if _, err := s.Query(); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
}

// Only the newest entries are decoded; invalid older ones have no effect.
func TestSearchDecodesNewestOnly(t *testing.T) {
	x, err := index.Parse([]byte("apiVersion: v1\nentries:\n  web:\n  - name: web\n    version: 2.0.0\n    urls: [a]\n  - name: web\n    version: 1.0.0\n    description: {a: [1]}\n    urls: [a]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Search{{}, {Versions: true}} {
		q, err := s.Query()
		if err != nil {
			t.Fatal(err)
		}
		found, err := q.In("a", x)
		if err != nil || len(found) != 1 || found[0].Version != "2.0.0" {
			t.Errorf("%+v: %v, %v", s, found, err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	var text strings.Builder
	text.WriteString("apiVersion: v1\nentries:\n")
	for c := range 100 {
		fmt.Fprintf(&text, "  app%03d:\n", c)
		for v := range 150 {
			fmt.Fprintf(&text, "  - apiVersion: v2\n    name: app%03d\n    version: 1.%d.0\n    description: thing number %d\n    keywords:\n    - database\n    urls:\n    - a.tgz\n", c, 150-v, c)
		}
	}
	data := []byte(text.String())
	for _, s := range []Search{{Word: "database"}, {Word: "database", Versions: true}} {
		b.Run(fmt.Sprintf("versions=%t", s.Versions), func(b *testing.B) {
			q, err := s.Query()
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				x, err := index.Parse(slices.Clone(data))
				if err != nil {
					b.Fatal(err)
				}
				if found, err := q.In("big", x); err != nil || len(found) == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}
