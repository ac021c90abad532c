// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// point is a moment at which a test disturbs helm: the nth write of a kind, counted from 1.
type point struct {
	kind string
	nth  int
	fate fate
}

func (p point) String() string {
	what := map[fate]string{
		killBefore: "killed before", killAfter: "killed after", drop: "no answer to", cut: "cut off at",
		refuse: "refused at", mishap: "an error at",
	}[p.fate]
	if p.nth == 1 {
		return what + " " + p.kind
	}
	return fmt.Sprintf("%s %s, number %d", what, p.kind, p.nth)
}

// rule returns the rule that disturbs helm at the point.
func (p point) rule() rule {
	return func(q request) fate {
		if q.kind == p.kind && q.nth == p.nth {
			return p.fate
		}
		return pass
	}
}

// all reports whether the tests disturb every write.
func all() bool { return os.Getenv("MOONHELM_KILLS") != "" }

// withoutHeartbeats returns the kinds without the renewals of locks after the first, and without patches
// of records: how many there are depends on the time that an operation takes.
func withoutHeartbeats(kinds []string) (out []string) {
	for i, kind := range kinds {
		renewed := strings.HasPrefix(kind, "PUT leases/") && slices.Contains(kinds[:i], kind)
		if !renewed && !strings.HasPrefix(kind, "PATCH (merge-patch+json) record of ") {
			out = append(out, kind)
		}
	}
	return out
}

// fresh reports for each write, given by its kind, whether to disturb it: the first of each kind that is
// not in known, or every one.
func fresh(kinds, known []string, every bool) []bool {
	out := make([]bool, len(kinds))
	for i, kind := range kinds {
		out[i] = every || !slices.Contains(kinds[:i], kind) && !slices.Contains(known, kind)
	}
	return out
}

// count returns how often kinds contains kind.
func count(kinds []string, kind string) (n int) {
	for _, k := range kinds {
		if k == kind {
			n++
		}
	}
	return n
}

// kills returns the points at which to kill helm: before and after each fresh write. As a kill after a
// write leaves the same cluster as a kill before the next one, the second of them is left out, unless
// every write is disturbed.
func kills(kinds, known []string, every bool) (out []point) {
	chosen := fresh(kinds, known, every)
	for i, kind := range kinds {
		if !chosen[i] {
			continue
		}
		if every || i == 0 || !chosen[i-1] {
			out = append(out, point{kind, count(kinds[:i+1], kind), killBefore})
		}
		out = append(out, point{kind, count(kinds[:i+1], kind), killAfter})
	}
	return out
}

// losses returns the points at which to break a connection: at each fresh write, once before it reaches
// the server and once before its answer reaches helm.
func losses(kinds, known []string, every bool) (out []point) {
	for i, chosen := range fresh(kinds, known, every) {
		if chosen {
			nth := count(kinds[:i+1], kinds[i])
			out = append(out, point{kinds[i], nth, drop}, point{kinds[i], nth, cut})
		}
	}
	return out
}

// kindOf returns the kind of a write: its method, with the type of a patch, and the resource. Locks and
// records are told apart by their releases, records also by the status that they get, and hooks by
// their names.
func kindOf(r *http.Request, body []byte) string {
	resource, name := resourceOf(r.URL.Path)
	var o object
	_ = json.Unmarshal(body, &o) // what is not JSON has no name here
	if name == "" {
		name = o.Metadata.Name
	}
	verb := r.Method
	if _, patch, found := strings.Cut(r.Header.Get("Content-Type"), "/"); verb == http.MethodPatch && found {
		verb = "PATCH (" + patch + ")"
	}
	if release, found := strings.CutPrefix(name, "sh.helm.release.v1."); found {
		release, _, _ = strings.Cut(release, ".")
		return strings.TrimSpace(fmt.Sprintf("%s record of %s %s", verb, release, o.Metadata.Labels["status"]))
	}
	if resource == "leases" || strings.HasPrefix(name, "hook-") {
		resource += "/" + name
	}
	return verb + " " + resource
}

// resourceOf returns the resource and the name in the path of a request.
func resourceOf(path string) (resource, name string) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	skip := 2 // api/v1
	if parts[0] == "apis" {
		skip = 3
	}
	if len(parts) > skip+2 && parts[skip] == "namespaces" {
		skip += 2
	}
	parts = append(parts[min(skip, len(parts)):], "", "")
	return parts[0], parts[1]
}

func TestKindOf(t *testing.T) {
	const core, leases = "/api/v1/namespaces/n", "/apis/coordination.k8s.io/v1/namespaces/n/leases"
	const apply, record = "application/apply-patch+yaml", "sh.helm.release.v1.web.v2"
	pending := `{"metadata":{"name":"` + record + `","labels":{"status":"pending-upgrade"}},"type":"helm.sh/release.v1"}`
	for _, test := range []struct{ method, contentType, path, body, want string }{
		{"POST", "", leases, `{"metadata":{"name":"moonhelm.v1.web"}}`, "POST leases/moonhelm.v1.web"},
		{"POST", "", core + "/secrets", pending, "POST record of web pending-upgrade"},
		{"DELETE", "", core + "/secrets/" + record, "", "DELETE record of web"},
		{"POST", "", core + "/secrets", `{"metadata":{"name":"p"}}`, "POST secrets"},
		{"PATCH", apply, "/apis/apps/v1/namespaces/n/deployments/w", "x: y", "PATCH (apply-patch+yaml) deployments"},
		{"DELETE", "", core + "/configmaps/hook-before", "", "DELETE configmaps/hook-before"},
		{"PUT", "", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.b", "", "PUT customresourcedefinitions"},
		{"POST", "", "/api/v1/namespaces", "", "POST namespaces"},
	} {
		t.Run(test.want, func(t *testing.T) {
			r, err := http.NewRequest(test.method, test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", test.contentType)
			if got := kindOf(r, []byte(test.body)); got != test.want {
				t.Errorf("%s %s: got %q, want %q", test.method, test.path, got, test.want)
			}
		})
	}
}

func TestWithoutHeartbeats(t *testing.T) {
	kinds := []string{
		"PUT leases/a", "PUT leases/b", "PUT leases/a", "PATCH (merge-patch+json) record of a", "POST secrets",
		"POST secrets",
	}
	want := []string{"PUT leases/a", "PUT leases/b", "POST secrets", "POST secrets"}
	if got := withoutHeartbeats(kinds); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestKills(t *testing.T) {
	for _, test := range []struct {
		name         string
		kinds, known []string
		want         string
	}{
		{"each kind is new", []string{"a", "b"}, nil, "[killed before a killed after a killed after b]"},
		{"a kind is repeated", []string{"a", "a", "b"}, nil,
			"[killed before a killed after a killed before b killed after b]"},
		{"another operation has one", []string{"a", "b", "c"}, []string{"a", "c"}, "[killed before b killed after b]"},
		{"another operation has all", []string{"a", "b"}, []string{"a", "b"}, "[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := fmt.Sprint(kills(test.kinds, test.known, false)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	t.Run("every write", func(t *testing.T) {
		want := "[killed before a killed after a killed before a, number 2 killed after a, number 2]"
		if got := fmt.Sprint(kills([]string{"a", "a"}, []string{"a"}, true)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
