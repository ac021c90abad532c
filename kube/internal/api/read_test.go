// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
)

// shelf is a server of ConfigMaps that counts requests.
type shelf struct {
	mu     sync.Mutex
	objs   []string // names; name! has no label
	others int      // number of other objects with the label, which come first
	asked  []string
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"namespace":"ns","name":%q,"uid":"u-%s","managedFields":[{"manager":"x"}]},"data":{"n":1}}`, name, name)
	}
	switch path := r.URL.Path; {
	case path == "/api":
		apitest.Text(strings.ReplaceAll(strings.ReplaceAll(apitest.PodsOnly, "pods", "configmaps"), "Pod", "ConfigMap"))(w, r)
	case path == "/apis":
		apitest.Text(`{"kind":"APIGroupDiscoveryList"}`)(w, r)
	case strings.HasSuffix(path, "/configmaps"):
		s.asked = append(s.asked, "list "+r.URL.Query().Get("continue"))
		if r.URL.Query().Get("labelSelector") != "app.kubernetes.io/managed-by=Helm" {
			apitest.Refuse(w, http.StatusTeapot, "Teapot", "all of them")
			return
		}
		if s.others > 0 && r.URL.Query().Get("continue") == "" {
			items := make([]string, s.others)
			for i := range items {
				items[i] = one(fmt.Sprint("other", i))
			}
			apitest.Text(`{"metadata":{"continue":"more"},"items":[`+strings.Join(items, ",")+`]}`)(w, r)
			return
		}
		var items []string
		for _, name := range s.objs {
			if !strings.HasSuffix(name, "!") {
				items = append(items, one(name))
			}
		}
		apitest.Text(`{"metadata":{},"items":[`+strings.Join(items, ",")+`]}`)(w, r)
	default:
		name := path[strings.LastIndexByte(path, '/')+1:]
		s.asked = append(s.asked, "get "+name)
		if !slices.Contains(s.objs, name) && !slices.Contains(s.objs, name+"!") {
			apitest.Refuse(w, http.StatusNotFound, "NotFound", "no")
			return
		}
		apitest.Text(one(name))(w, r)
	}
}

func TestReadAll(t *testing.T) {
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
			c := Client{kube.New(kube.Options{REST: func() (*rest.Config, error) { return &rest.Config{Host: server.URL}, nil }})}
			targets, err := c.Targets(t.Context(), apitest.ConfigMaps(t, strings.Fields(test.wanted)...), "ns")
			if err != nil {
				t.Fatal(err)
			}
			live, err := c.ReadAll(t.Context(), targets, false)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for tt, object := range live {
				found = append(found, tt.Name)
				if String(object, "metadata", "uid") != "u-"+tt.Name || apitest.At(object, "metadata", "managedFields") != "<nil>" || apitest.At(object, "data", "n") != "1" {
					t.Errorf("%s is %v", tt.Name, object)
				}
			}
			slices.Sort(found)
			slices.Sort(s.asked)
			apitest.Want(t, "found", strings.Join(found, " "), test.found)
			apitest.Want(t, "asked", strings.Join(s.asked, ", "), test.asked)
		})
	}
}
