// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/openapi"
)

func TestLoad(t *testing.T) {
	for minor := First; minor <= Last; minor++ {
		t.Run(fmt.Sprintf("1.%d", minor), func(t *testing.T) {
			r := load(t, minor)
			if got, want := r.Version(), fmt.Sprintf("1.%d", minor); got != want {
				t.Errorf("Version() = %q, want %q", got, want)
			}
			for _, k := range r.Kinds() {
				d := r.Document(k.APIVersion)
				if d == nil || d.Schemas[d.Kinds[k.Kind]] == nil {
					t.Fatalf("%s %s has no schema", k.APIVersion, k.Kind)
				}
				if missing := dangling(d, &openapi.Schema{Ref: d.Kinds[k.Kind]}, map[string]bool{}); missing != "" {
					t.Errorf("%s %s refers to the schema %s, which is not there", k.APIVersion, k.Kind, missing)
				}
			}
			if r.Common()["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"] == nil {
				t.Error("Common has no metadata")
			}
		})
	}
	for _, minor := range []int{0, First - 1, Last + 1, 99, -1} {
		_, err := Load(minor)
		if unknown, ok := errors.AsType[*UnknownVersionError](err); !ok || unknown.Minor != minor {
			t.Errorf("Load(%d): got %v, want an UnknownVersionError", minor, err)
		}
	}
}

// dangling returns the name of a schema that s refers to and d does not have, or "".
func dangling(d *openapi.Document, s *openapi.Schema, seen map[string]bool) string {
	if s == nil {
		return ""
	}
	if s.Ref != "" {
		if d.Schemas[s.Ref] == nil {
			return s.Ref
		}
		if seen[s.Ref] {
			return ""
		}
		seen[s.Ref] = true
		return dangling(d, d.Schemas[s.Ref], seen)
	}
	below := []*openapi.Schema{s.Items, s.Additional}
	for _, p := range s.Properties {
		below = append(below, p)
	}
	for _, p := range below {
		if missing := dangling(d, p, seen); missing != "" {
			return missing
		}
	}
	return ""
}

func TestServed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for _, test := range []struct {
		apiVersion, kind string
		minors           []int
	}{
		{"v1", "ConfigMap", span(First, Last)},
		{"apiregistration.k8s.io/v1", "APIService", span(First, Last)},
		{"autoscaling/v2beta2", "HorizontalPodAutoscaler", []int{25}},
		{"storage.k8s.io/v1beta1", "CSIStorageCapacity", []int{25, 26}},
		{"flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", span(26, 31)},
		{"resource.k8s.io/v1", "ResourceClaim", span(34, Last)},
		{"policy/v1beta1", "PodDisruptionBudget", nil},
		{"v1", "PodList", nil},
		{"v1", "DeleteOptions", nil},
	} {
		t.Run(test.apiVersion+" "+test.kind, func(t *testing.T) {
			if got := load(t, 36).Minors(test.apiVersion, test.kind); !slices.Equal(got, test.minors) {
				t.Errorf("Minors: got %v, want %v", got, test.minors)
			}
			for minor := First; minor <= Last; minor++ {
				r := load(t, minor)
				d := r.Document(test.apiVersion)
				_, served := r.Kind(test.apiVersion, test.kind)
				want := slices.Contains(test.minors, minor)
				if has := d != nil && d.Kinds[test.kind] != ""; served != want || has != want {
					t.Errorf("1.%d: served: %v, with a schema: %v, want %v", minor, served, has, want)
				}
			}
		})
	}
}

func span(first, last int) []int {
	var out []int
	for n := first; n <= last; n++ {
		out = append(out, n)
	}
	return out
}

func TestKind(t *testing.T) {
	r := load(t, 36)
	for _, test := range []struct {
		apiVersion, kind, resource string
		namespaced                 bool
	}{
		{"v1", "Endpoints", "endpoints", true},
		{"networking.k8s.io/v1", "Ingress", "ingresses", true},
		{"networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", true},
		{"v1", "Namespace", "namespaces", false},
		{"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false},
	} {
		t.Run(test.kind, func(t *testing.T) {
			if k, _ := r.Kind(test.apiVersion, test.kind); k.Resource != test.resource || k.Namespaced != test.namespaced {
				t.Errorf("%s %s: got %+v, want the resource %s, namespaced: %v", test.apiVersion, test.kind, k, test.resource, test.namespaced)
			}
		})
	}
	for group, want := range map[string]bool{"": true, "apps": true, "policy": true, "example.com": false, "k8s.io": false} {
		if got := r.HasGroup(group); got != want {
			t.Errorf("HasGroup(%q) = %v, want %v", group, got, want)
		}
	}
}

// Fields are known from the version that adds them on.
func TestFieldsByVersion(t *testing.T) {
	pod := func(spec map[string]any) map[string]any {
		spec["containers"] = []any{map[string]any{"name": "a", "image": "a"}}
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}, "spec": spec}
	}
	for _, test := range []struct {
		name   string
		object map[string]any
		field  string
		since  int
	}{
		{"resources of pods", pod(map[string]any{"resources": map[string]any{}}), "spec.resources", 32},
		{"resource claims of pods", pod(map[string]any{"resourceClaims": []any{}}), "spec.resourceClaims", 26},
	} {
		t.Run(test.name, func(t *testing.T) {
			for minor := First; minor <= Last; minor++ {
				problems := load(t, minor).Document("v1").Check(test.object)
				unknown := len(problems) == 1 && problems[0].Unknown() && problems[0].Field == test.field
				if want := minor < test.since; unknown != want || len(problems) > 0 && !want {
					t.Errorf("1.%d: got %v, want it to be known from 1.%d on", minor, problems, test.since)
				}
			}
		})
	}
}

// The file is small enough for a binary that starts as often as helm.
func TestSize(t *testing.T) {
	const most = 64 << 10
	if len(compressed) > most {
		t.Errorf("schemas.json.gz has %d bytes, more than %d", len(compressed), most)
	}
	f, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Sources) != Last-First+1 {
		t.Errorf("it is of %v, want one of each version from 1.%d to 1.%d", f.Sources, First, Last)
	}
	for i, s := range f.Sources {
		if !strings.HasPrefix(s, fmt.Sprintf("v1.%d.", First+i)) {
			t.Errorf("source %d is %s, want 1.%d", i, s, First+i)
		}
	}
}

func load(t *testing.T, minor int) *Release {
	t.Helper()
	r, err := Load(minor)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load(36); err != nil {
			b.Fatal(err)
		}
	}
}
