// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// shelf is a server of ConfigMaps that counts what it is asked.
type shelf struct {
	mu     sync.Mutex
	objs   []string // name, or name! for one without the label
	others int      // labelled ones that no one asked for come first
	asked  []string
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"uid":"u-%s","managedFields":[{"manager":"x"}]},"data":{"n":1}}`, name, name)
	}
	switch path := r.URL.Path; {
	case path == "/api":
		text(strings.ReplaceAll(strings.ReplaceAll(podsOnly, "pods", "configmaps"), "Pod", "ConfigMap"))(w, r)
	case path == "/apis":
		text(`{"kind":"APIGroupDiscoveryList"}`)(w, r)
	case strings.HasSuffix(path, "/configmaps"):
		s.asked = append(s.asked, "list "+r.URL.Query().Get("continue"))
		if r.URL.Query().Get("labelSelector") != "app.kubernetes.io/managed-by=Helm" {
			refuse(w, http.StatusTeapot, "Teapot", "all of them")
			return
		}
		if s.others > 0 && r.URL.Query().Get("continue") == "" {
			items := make([]string, s.others)
			for i := range items {
				items[i] = one(fmt.Sprint("other", i))
			}
			text(`{"metadata":{"continue":"more"},"items":[`+strings.Join(items, ",")+`]}`)(w, r)
			return
		}
		var items []string
		for _, name := range s.objs {
			if !strings.HasSuffix(name, "!") {
				items = append(items, one(name))
			}
		}
		text(`{"metadata":{},"items":[`+strings.Join(items, ",")+`]}`)(w, r)
	default:
		name := path[strings.LastIndexByte(path, '/')+1:]
		s.asked = append(s.asked, "get "+name)
		if !slices.Contains(s.objs, name) && !slices.Contains(s.objs, name+"!") {
			refuse(w, http.StatusNotFound, "NotFound", "no")
			return
		}
		text(one(name))(w, r)
	}
}

func TestWholeObjectsAreReadWithFewRequests(t *testing.T) {
	for _, test := range []struct {
		name   string
		wanted string
		there  string
		others int
		asked  string
		found  string
	}{
		{"few are read one by one", "a b", "a b", 0, "get a, get b", "a b"},
		{"many with a list", "a b c d e", "a b c d e f", 0, "list ", "a b c d e"},
		{"what has lost its label, or is gone, once more", "a b c d e", "a b! c d", 0, "get b, get e, list ", "a b c d"},
		{"over several pages", "a b c d e", "a b c d e", 20, "list , list more", "a b c d e"},
		{"not among very many others", "a b c d", "a b c d", 30, "get a, get b, get c, get d, list ", "a b c d"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &shelf{objs: strings.Fields(test.there), others: test.others}
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			c := New(Options{REST: func() (*rest.Config, error) { return &rest.Config{Host: server.URL}, nil }})
			targets, err := c.targets(t.Context(), configMaps(t, strings.Fields(test.wanted)...), "ns")
			if err != nil {
				t.Fatal(err)
			}
			live, err := c.whole(t.Context(), targets, false)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for tt, object := range live {
				found = append(found, tt.name)
				if str(object, "metadata", "uid") != "u-"+tt.name || at(object, "metadata", "managedFields") != "<nil>" || at(object, "data", "n") != "1" {
					t.Errorf("%s is %v", tt.name, object)
				}
			}
			slices.Sort(found)
			slices.Sort(s.asked)
			want(t, "found", strings.Join(found, " "), test.found)
			want(t, "asked", strings.Join(s.asked, ", "), test.asked)
		})
	}
}
