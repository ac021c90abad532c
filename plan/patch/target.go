// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/manifest"
)

// identity names one object.
type identity struct{ apiVersion, kind, namespace, name string }

// target selects objects. The zero value selects all.
type target struct {
	// exact is the object that the patch names itself, instead of criteria.
	exact    *identity
	criteria []criterion
}

// criterion is one field of a target.
type criterion struct {
	field, text string
	matches     func(o *manifest.Object, namespace string) bool
}

// patterns are the fields of a target that are regular expressions, with what they must match.
var patterns = []struct {
	field string
	of    func(o *manifest.Object, namespace string) string
}{
	{"group", func(o *manifest.Object, _ string) string { return manifest.Group(o.APIVersion) }},
	{"version", func(o *manifest.Object, _ string) string {
		_, version := manifest.GroupVersion(o.APIVersion)
		return version
	}},
	{"kind", func(o *manifest.Object, _ string) string { return o.Kind }},
	{"name", func(o *manifest.Object, _ string) string { return o.Name }},
	{"namespace", func(o *manifest.Object, namespace string) string { return cmp.Or(o.Namespace, namespace) }},
}

// selectors are the fields of a target that are selectors, with what they select by.
var selectors = []struct {
	field string
	of    func(o *manifest.Object) map[string]string
}{
	{"labelSelector", func(o *manifest.Object) map[string]string { return o.Labels }},
	{"annotationSelector", func(o *manifest.Object) map[string]string { return o.Annotations }},
}

// target reads a target. It is nil for nil.
func (p *parser) target(line int, node *yaml.Node, v any) (*target, error) {
	if v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, p.errorf(line, "has a target that is not a map")
	}
	var fields []string
	for _, f := range patterns {
		fields = append(fields, f.field)
	}
	for _, f := range selectors {
		fields = append(fields, f.field)
	}
	if err := p.known(line, node, "target", m, fields...); err != nil {
		return nil, err
	}
	t := &target{}
	for _, field := range fields {
		if m[field] == nil || m[field] == "" {
			continue
		}
		text, ok := m[field].(string)
		if !ok {
			return nil, p.errorf(lineOf(node, field, line), "has a target whose %s is %v, and must be a string", field, m[field])
		}
		c, err := newCriterion(field, text)
		if err != nil {
			return nil, &SyntaxError{File: p.file, Line: lineOf(node, field, line),
				Err: fmt.Errorf("%s of target: %w", field, err)}
		}
		t.criteria = append(t.criteria, c)
	}
	return t, nil
}

func newCriterion(field, text string) (criterion, error) {
	c := criterion{field: field, text: text}
	for _, f := range patterns {
		if f.field == field {
			if regexp.QuoteMeta(text) == text {
				c.matches = func(o *manifest.Object, namespace string) bool { return f.of(o, namespace) == text }
				return c, nil
			}
			if _, err := regexp.Compile(text); err != nil { // which names the text as it is written
				return c, err
			}
			re, err := regexp.Compile("^(?:" + text + ")$")
			c.matches = func(o *manifest.Object, namespace string) bool { return re.MatchString(f.of(o, namespace)) }
			return c, err
		}
	}
	for _, f := range selectors {
		if f.field == field {
			s, err := labels.Parse(text)
			c.matches = func(o *manifest.Object, _ string) bool { return s.Matches(labels.Set(f.of(o))) }
			return c, err
		}
	}
	return c, fmt.Errorf("%s is not a field of a target", field) // the callers check the names
}

// of returns the criteria of a target. Those of an exact one compare.
func (t target) of(namespace string) []criterion {
	if t.exact == nil {
		return t.criteria
	}
	is := func(field, text string, of func(o *manifest.Object) string) criterion {
		return criterion{field, text, func(o *manifest.Object, _ string) bool { return of(o) == text }}
	}
	return []criterion{
		is("apiVersion", t.exact.apiVersion, func(o *manifest.Object) string { return o.APIVersion }),
		is("kind", t.exact.kind, func(o *manifest.Object) string { return o.Kind }),
		is("name", t.exact.name, func(o *manifest.Object) string { return o.Name }),
		is("namespace", cmp.Or(t.exact.namespace, namespace), func(o *manifest.Object) string {
			return cmp.Or(o.Namespace, namespace)
		}),
	}
}

// String returns the criteria: "kind Deployment, name web".
func (t target) String() string {
	if t.exact != nil {
		text := fmt.Sprintf("%s/%s of %s", t.exact.kind, t.exact.name, t.exact.apiVersion)
		if t.exact.namespace != "" {
			text += " in namespace " + t.exact.namespace
		}
		return text
	}
	if len(t.criteria) == 0 {
		return "all objects"
	}
	var parts []string
	for _, c := range t.criteria {
		parts = append(parts, c.field+" "+truncate.Runes(c.text, 60, "…"))
	}
	return strings.Join(parts, ", ")
}

// selects reports whether the target selects an object.
func (t target) selects(o *manifest.Object, namespace string) bool {
	if t.exact != nil {
		return o.Name == t.exact.name && o.Kind == t.exact.kind && o.APIVersion == t.exact.apiVersion &&
			cmp.Or(o.Namespace, namespace) == cmp.Or(t.exact.namespace, namespace)
	}
	for _, c := range t.criteria {
		if !c.matches(o, namespace) {
			return false
		}
	}
	return true
}

// A NoTargetError is returned if the target of a patch matches no object.
type NoTargetError struct {
	Patch  string // its place, "fix.yaml:3"
	Target string
	// Near are objects that the target may mean, with what does not match: "Deployment/web",
	// "Deployment/web, whose labels do not match app=db".
	Near []string
	// Outside is an object that the target matches and a patch of a chart must not change, or "".
	Outside string
	// Chart is the chart whose patch it is, or "" for a patch of the user.
	Chart string
	// Subchart is the subchart whose objects alone the patch may change, or "".
	Subchart string
}

func (e *NoTargetError) Error() string {
	text := fmt.Sprintf("%s: the target of the patch matches no object: %s", e.Patch, e.Target)
	if e.Outside != "" {
		text += fmt.Sprintf("; it matches %s, which is not in a subchart of %s", e.Outside, e.Chart)
	}
	return text
}

// Hint names similar objects, and says how to do without the patch.
func (e *NoTargetError) Hint() string {
	if e.Outside != "" {
		return "the patches/ of a chart change the objects of its subcharts only; change the template of the object " +
			"instead, or pass the file with --patch"
	}
	skip := "--patch-allow-missing skips patches whose target matches nothing"
	switch {
	case e.Subchart != "":
		skip = fmt.Sprintf("the patches of patches/%[1]s/ are for the objects of the subchart %[1]s", e.Subchart)
	case e.Chart != "":
		skip = "patches of a subchart that can be disabled belong into patches/NAME/, which is read while it is enabled"
	}
	if len(e.Near) > 0 {
		return "did you mean " + strings.Join(e.Near, " or ") + "?\n" + skip
	}
	return skip
}

// near returns the objects that a target that matches none may mean.
func (t target) near(objects []*manifest.Object, namespace string) []string {
	criteria := t.of(namespace)
	var almost []string
	for _, o := range objects {
		var failed []criterion
		for _, c := range criteria {
			if !c.matches(o, namespace) {
				failed = append(failed, c)
			}
		}
		if len(failed) != 1 || len(criteria) < 2 {
			continue
		}
		switch c := failed[0]; c.field {
		case "name", "kind": // below, by similarity
		case "namespace":
			almost = append(almost, fmt.Sprintf("%s, whose namespace is %s", o, cmp.Or(o.Namespace, namespace)))
		case "labelSelector", "annotationSelector":
			almost = append(almost, fmt.Sprintf("%s, which %s %s does not select", o, c.field, c.text))
		default:
			almost = append(almost, fmt.Sprintf("%s, whose apiVersion is %s", o, o.APIVersion))
		}
	}
	if len(almost) > 0 {
		return almost[:min(len(almost), most)]
	}
	return t.similar(objects, criteria, namespace)
}

// most is how many objects an error suggests.
const most = 3

// similar returns the objects with the most similar kind and name.
func (t target) similar(objects []*manifest.Object, criteria []criterion, namespace string) []string {
	want := map[string]string{}
	for _, c := range criteria {
		want[c.field] = c.text
	}
	match := func(o *manifest.Object, field string) bool {
		return !slices.ContainsFunc(criteria, func(c criterion) bool { return c.field == field && !c.matches(o, namespace) })
	}
	var kinds, names similars
	for _, o := range objects {
		if match(o, "kind") && want["name"] != "" {
			names.add(o.Name, o)
		}
		if match(o, "name") && want["kind"] != "" {
			kinds.add(o.Kind, o)
		}
	}
	if found := names.nearest(want["name"]); len(found) > 0 {
		return found
	}
	if found := kinds.nearest(want["kind"]); len(found) > 0 {
		return found
	}
	for _, few := range []similars{names, kinds} {
		if n := len(few.objects); n > 0 && n <= most && want["name"] != "" && want["kind"] != "" {
			return few.objects
		}
	}
	return nil
}

// similars are objects by one of their fields.
type similars struct{ fields, objects []string }

func (s *similars) add(field string, o *manifest.Object) {
	s.fields, s.objects = append(s.fields, field), append(s.objects, o.String())
}

// nearest returns the objects whose fields are the most similar to text.
func (s *similars) nearest(text string) []string {
	var out []string
	for _, field := range suggest.Nearest(s.fields, text) {
		for i, o := range s.objects {
			if s.fields[i] == field && len(out) < most && !slices.Contains(out, o) {
				out = append(out, o)
			}
		}
	}
	return out
}
