// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/openapi"
	"github.com/moonhelm/moonhelm/openapi/builtin"
)

// Schemas are the schemas of the kinds that a version of Kubernetes serves, and of custom
// resources.
type Schemas struct {
	release *builtin.Release
	custom  map[string]*openapi.Document
	groups  map[string]bool // of custom
}

// NewSchemas returns the schemas of a version of Kubernetes. It returns a
// [*builtin.UnknownVersionError] for a version that is not known.
func NewSchemas(kube KubeVersion) (*Schemas, error) {
	if kube.Major != 1 {
		return nil, &builtin.UnknownVersionError{Minor: kube.Minor}
	}
	release, err := builtin.Load(kube.Minor)
	if err != nil {
		return nil, err
	}
	return &Schemas{release: release, custom: map[string]*openapi.Document{}, groups: map[string]bool{}}, nil
}

// Define adds the custom resources that a CustomResourceDefinition defines. It ignores other
// objects, and definitions that cannot be read: they do not match their own schema.
func (s *Schemas) Define(object map[string]any) {
	apiVersion, _ := object["apiVersion"].(string)
	if object["kind"] != "CustomResourceDefinition" || !strings.HasPrefix(apiVersion, "apiextensions.k8s.io/") {
		return
	}
	defined, err := openapi.ParseCRD(object, s.release.Common())
	if err != nil {
		return
	}
	for apiVersion, d := range defined {
		if known := s.custom[apiVersion]; known != nil {
			maps.Copy(d.Kinds, known.Kinds)
			maps.Copy(d.Schemas, known.Schemas)
		}
		s.custom[apiVersion] = d
		group, _ := manifest.GroupVersion(apiVersion)
		s.groups[group] = true
	}
}

// document returns the document that has a kind, or nil.
func (s *Schemas) document(apiVersion, kind string) *openapi.Document {
	for _, d := range []*openapi.Document{s.release.Document(apiVersion), s.custom[apiVersion]} {
		if d != nil && d.Kinds[kind] != "" {
			return d
		}
	}
	return nil
}

// check returns the problems of an object or of the items of a list, and reports whether the kind
// is known. A nil s knows none.
func (s *Schemas) check(object map[string]any) (problems []openapi.Problem, known bool) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if s == nil || kind == "" {
		return nil, false
	}
	if d := s.document(apiVersion, kind); d != nil {
		return d.Check(object), true
	}
	items, ok := object["items"].([]any)
	if !ok || apiVersion != "v1" || kind != "List" {
		return nil, false
	}
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		found, _ := s.check(m)
		for _, p := range found {
			p.Field = "items[" + strconv.Itoa(i) + "]." + p.Field
			problems = append(problems, p)
		}
	}
	return problems, true
}

// unserved returns what is wrong with a kind that is not known, or "" if a cluster may have it
// from a definition that is not in the chart.
func (s *Schemas) unserved(apiVersion, kind string) string {
	if s == nil || apiVersion == "" || kind == "" || apiVersion == "v1" && strings.HasSuffix(kind, "List") {
		return ""
	}
	group, _ := manifest.GroupVersion(apiVersion)
	if single, isList := strings.CutSuffix(kind, "List"); isList && s.document(apiVersion, single) != nil {
		return ""
	}
	text := fmt.Sprintf("no matches for kind %q in version %q", kind, apiVersion)
	switch {
	case s.groups[group]:
		return s.undefined(text, apiVersion, kind)
	case s.release.HasGroup(group):
		return text + ": Kubernetes " + s.release.Version() + " does not serve it" + s.instead(apiVersion, kind)
	}
	return ""
}

// undefined returns text about a kind that the chart's definitions of its group do not have, or ""
// if none of them is about it.
func (s *Schemas) undefined(text, apiVersion, kind string) string {
	group, _ := manifest.GroupVersion(apiVersion)
	var served []string
	for _, other := range slices.Sorted(maps.Keys(s.custom)) {
		if d := s.custom[other]; strings.HasPrefix(other, group+"/") && d.Kinds[kind] != "" {
			served = append(served, other)
		}
	}
	if len(served) == 0 {
		return ""
	}
	return text + ": the chart's definition serves it in " + strings.Join(served, ", ")
}

// instead returns where a built-in kind is served, or a kind that may be meant.
func (s *Schemas) instead(apiVersion, kind string) string {
	text := ""
	if minors := s.release.Minors(apiVersion, kind); len(minors) > 0 {
		text = fmt.Sprintf("; 1.%d to 1.%d do", minors[0], minors[len(minors)-1])
		if minors[0] == minors[len(minors)-1] {
			text = fmt.Sprintf("; 1.%d does", minors[0])
		}
	}
	best, kinds := map[string]string{}, []string(nil)
	for _, k := range s.release.Kinds() {
		if k.Kind == kind {
			group, v := manifest.GroupVersion(k.APIVersion)
			if _, known := manifest.GroupVersion(best[group]); version.CompareKubeAwareVersionStrings(v, known) > 0 {
				best[group] = k.APIVersion
			}
		}
		if k.APIVersion == apiVersion {
			kinds = append(kinds, k.Kind)
		}
	}
	if len(best) > 0 {
		return text + "; use " + strings.Join(slices.Sorted(maps.Values(best)), " or ")
	}
	if similar := suggest.Similar(kinds, kind, (len(kind)+1)/3, strings.ToLower); similar != "" && text == "" {
		return fmt.Sprintf("; did you mean %q?", similar)
	}
	return text
}
