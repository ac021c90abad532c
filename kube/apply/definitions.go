// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// A DefinitionRule is a rule that the update of a CRD must follow.
type DefinitionRule string

// The rules.
const (
	// RuleStored: a version in which objects may be stored stays.
	RuleStored DefinitionRule = "stored version"
	// RuleServed: a served version in which clients have written objects stays.
	RuleServed DefinitionRule = "served version"
	// RuleIdentity: scope and kind do not change.
	RuleIdentity DefinitionRule = "identity"
	// RuleConversion: objects in several versions keep their conversion webhook.
	RuleConversion DefinitionRule = "conversion"
	// RulePruning: fields that objects have stay in the schema. The status does not count.
	RulePruning DefinitionRule = "pruning"
	// RuleOwner: a CRD in the manifest of another release is changed by that release.
	RuleOwner DefinitionRule = "owner"
)

// A DefinitionProblem is a reason for which a CRD is not updated.
type DefinitionProblem struct {
	Name   string // "PLURAL.GROUP"
	Source string // the file in crds/ or templates/
	Rule   DefinitionRule
	// Text is the problem, and Remedy what to do about it.
	Text, Remedy string
	// Versions are the versions that are dropped.
	Versions []string
	// Objects are examples of objects that would be lost or changed, "NAMESPACE/NAME", and
	// Fields those of their fields that would be.
	Objects, Fields []string
}

// A DefinitionError is returned if updating CRDs would lose stored objects, versions that are in
// use or fields of objects, or if the CRDs belong to another release.
type DefinitionError struct {
	Problems []DefinitionProblem
	// InTemplates is set if the CRDs are objects of the release, and not in crds/.
	InTemplates bool
}

func (e *DefinitionError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("the new definition of %s (%s) %s: %s", p.Name, p.Source, p.Text, p.Remedy)
	}
	return strings.Join(lines, "\n")
}

// Hint returns advice for the user of the command line.
func (e *DefinitionError) Hint() string {
	if e.InTemplates {
		if slices.ContainsFunc(e.Problems, func(p DefinitionProblem) bool { return p.Rule != RuleStored }) {
			return "--crds create upgrades the definitions in templates/ without this check"
		}
		return ""
	}
	return "--crds create leaves existing definitions as they are, and upgrades the rest of the release"
}

// checkTemplates is checkDefinitions for CRDs among the objects of a release. Those that are not protected
// may lose objects, as with Helm; but the API server refuses to drop a stored version, which is better known
// before the first write.
func (c *Applier) checkTemplates(ctx context.Context, protected []*manifest.Object, steps []plan.Step) error {
	var full []plan.Step
	var problems []DefinitionProblem
	for _, s := range steps {
		switch {
		case s.Kind != api.CRDKind || s.Live == nil || s.Action != plan.Update || plan.Replaceable(s):
		case slices.Contains(protected, s.Object):
			full = append(full, s)
		default:
			d := definitionChange{step: s, before: specOf(s.Live), after: specOf(s.After), api: c.api}
			problems = append(problems, d.storedVersions()...)
		}
	}
	err := c.checkDefinitions(ctx, kube.Owner{}, full)
	lost, ok := errors.AsType[*DefinitionError](err)
	switch {
	case err != nil && !ok:
		return err
	case ok:
		problems = append(problems, lost.Problems...)
	}
	if len(problems) > 0 {
		return &DefinitionError{Problems: problems, InTemplates: true}
	}
	return nil
}

// checkDefinitions returns a [*DefinitionError] if executing the steps would lose objects. It
// reads the objects of a definition only if its change could.
func (c *Applier) checkDefinitions(ctx context.Context, owner kube.Owner, steps []plan.Step) error {
	var mu sync.Mutex
	found := make([][]DefinitionProblem, len(steps))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(kube.Parallel)
	for i, s := range steps {
		if s.Kind != api.CRDKind || s.Live == nil || s.Action == plan.Unchanged {
			continue
		}
		d := definitionChange{step: s, before: specOf(s.Live), after: specOf(s.After), api: c.api}
		group.Go(func() error {
			problems, err := d.problems(ctx, owner)
			if err != nil {
				return fmt.Errorf("find out whether the new definition of %s (%s) loses objects: %w", s.Name, s.Source, err)
			}
			mu.Lock()
			defer mu.Unlock()
			found[i] = problems
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if all := slices.Concat(found...); len(all) > 0 {
		return &DefinitionError{Problems: all}
	}
	return nil
}

// definitionSpec is the part of a CRD's spec that decides what becomes of its objects.
type definitionSpec struct {
	Group string
	Scope string
	Names struct{ Plural, Kind string }
	// PreserveUnknownFields is of CRDs that were created before v1.
	PreserveUnknownFields bool
	Conversion            struct{ Strategy string }
	Versions              []definitionVersion
}

type definitionVersion struct {
	Name            string
	Served, Storage bool
	Schema          struct{ OpenAPIV3Schema *fieldSchema }
	Subresources    struct{ Status map[string]any }
}

func specOf(crd map[string]any) *definitionSpec {
	d := &definitionSpec{}
	if text, err := json.Marshal(crd["spec"]); err == nil {
		_ = json.Unmarshal(text, d) // what cannot be read is refused by the server
	}
	return d
}

func (d *definitionSpec) version(name string) *definitionVersion {
	for i := range d.Versions {
		if d.Versions[i].Name == name {
			return &d.Versions[i]
		}
	}
	return nil
}

// storage returns the version in which objects are written, or nil.
func (d *definitionSpec) storage() *definitionVersion {
	for i := range d.Versions {
		if d.Versions[i].Storage {
			return &d.Versions[i]
		}
	}
	return nil
}

// readable returns the version in which objects are read: the storage version if it is served.
func (d *definitionSpec) readable() *definitionVersion {
	if s := d.storage(); s != nil && s.Served {
		return s
	}
	for i := range d.Versions {
		if d.Versions[i].Served {
			return &d.Versions[i]
		}
	}
	return nil
}

// definitionChange is the update of one CRD.
type definitionChange struct {
	step          plan.Step
	before, after *definitionSpec
	api           api.Client
}

// problems returns the problems of the change.
func (d *definitionChange) problems(ctx context.Context, owner kube.Owner) ([]DefinitionProblem, error) {
	out := slices.Concat(d.identity(), d.storedVersions(), d.ownership(owner))
	if len(out) > 0 {
		return out, nil
	}
	for _, check := range []func(context.Context) ([]DefinitionProblem, error){d.servedVersions, d.conversion, d.pruning} {
		more, err := check(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

func (d *definitionChange) problem(rule DefinitionRule, remedy, format string, args ...any) DefinitionProblem {
	return DefinitionProblem{Name: d.step.Name, Source: d.step.Source, Rule: rule, Text: fmt.Sprintf(format, args...),
		Remedy: remedy}
}

func (d *definitionChange) identity() []DefinitionProblem {
	var out []DefinitionProblem
	const remedy = "the cluster's definition would have to be deleted first, with all its objects"
	if was, is := d.before.Scope, d.after.Scope; was != is {
		out = append(out, d.problem(RuleIdentity, remedy, "changes spec.scope from %s to %s", was, is))
	}
	if was, is := d.before.Names.Kind, d.after.Names.Kind; was != is {
		out = append(out, d.problem(RuleIdentity, remedy, "changes spec.names.kind from %s to %s", was, is))
	}
	return out
}

// storedVersions finds stored versions that the new CRD does not have.
func (d *definitionChange) storedVersions() []DefinitionProblem {
	stored, _ := api.Field(d.step.Live, "status", "storedVersions").([]any)
	var lost []string
	for _, v := range stored {
		if name, ok := v.(string); ok && d.after.version(name) == nil {
			lost = append(lost, name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	p := d.problem(RuleStored, "migrate them and remove the version from status.storedVersions first, or keep the "+
		"version with served: false", "drops version %s, in which objects may be stored", strings.Join(lost, ", "))
	p.Versions = lost
	return []DefinitionProblem{p}
}

func (d *definitionChange) ownership(owner kube.Owner) []DefinitionProblem {
	m := api.MetadataOf(d.step.Live)
	if owner == (kube.Owner{}) || !m.HasOtherOwner(owner) {
		return nil
	}
	return []DefinitionProblem{d.problem(RuleOwner, "upgrade that release instead, or take it over with --take-ownership",
		"changes one that %s", strings.TrimPrefix(m.Foreign(owner), "it "))}
}

// servedVersions finds served versions that the new CRD drops, and in which objects were written:
// their clients would fail.
func (d *definitionChange) servedVersions(ctx context.Context) ([]DefinitionProblem, error) {
	dropped := map[string]bool{}
	for _, v := range d.before.Versions {
		if v.Served && d.after.version(v.Name) == nil {
			dropped[d.before.Group+"/"+v.Name] = true
		}
	}
	if len(dropped) == 0 || d.before.readable() == nil {
		return nil, nil
	}
	used := map[string][]string{}
	err := d.eachObject(ctx, d.before.readable().Name, true, func(object map[string]any) bool {
		fields, _ := api.Field(object, "metadata", "managedFields").([]any)
		for _, f := range fields {
			m, _ := f.(map[string]any)
			if at, _ := m["apiVersion"].(string); dropped[at] && m["subresource"] == nil {
				used[at] = appendExample(used[at], nameOf(object))
			}
		}
		return len(used) < len(dropped)
	})
	var out []DefinitionProblem
	for at := range dropped {
		if names := used[at]; len(names) > 0 {
			_, version, _ := strings.Cut(at, "/")
			p := d.problem(RuleServed, "keep the version with served: true until all clients use another one, or with "+
				"served: false to end it", "drops version %s, in which objects were written (%s)", version,
				strings.Join(names, ", "))
			p.Versions, p.Objects = []string{version}, names
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b DefinitionProblem) int { return strings.Compare(a.Text, b.Text) })
	return out, err
}

// conversion finds a conversion webhook that ends while objects are in several versions.
func (d *definitionChange) conversion(ctx context.Context) ([]DefinitionProblem, error) {
	if d.before.Conversion.Strategy != "Webhook" || d.after.Conversion.Strategy == "Webhook" ||
		len(d.after.Versions) < 2 || d.before.readable() == nil {
		return nil, nil
	}
	var names []string
	err := d.eachObject(ctx, d.before.readable().Name, true, func(object map[string]any) bool {
		names = appendExample(names, nameOf(object))
		return false
	})
	if len(names) == 0 || err != nil {
		return nil, err
	}
	p := d.problem(RuleConversion, "keep spec.conversion, or leave one version only",
		"ends the conversion by a webhook, so that objects (%s) would be read in versions in which they are not stored "+
			"unchanged", strings.Join(names, ", "))
	p.Objects = names
	return []DefinitionProblem{p}, nil
}

// pruning finds fields of objects that the new schemas do not have: the server drops them when it
// reads an object.
func (d *definitionChange) pruning(ctx context.Context) ([]DefinitionProblem, error) {
	var out []DefinitionProblem
	for _, v := range d.before.Versions {
		schemas := d.narrowed(v)
		if !v.Served || len(schemas) == 0 {
			continue
		}
		var fields, names []string
		err := d.eachObject(ctx, v.Name, false, func(object map[string]any) bool {
			if v.Subresources.Status != nil {
				delete(object, "status")
			}
			for _, s := range schemas {
				if lost := s.prunes(object); len(lost) > 0 {
					names = appendExample(names, nameOf(object))
					for _, f := range lost {
						fields = appendExample(fields, f)
					}
				}
			}
			return len(names) < maxExamples
		})
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			p := d.problem(RulePruning, "remove the fields from the objects first, or keep them in the schema",
				"lacks %s of version %s, which objects have (%s)", strings.Join(fields, ", "), v.Name, strings.Join(names, ", "))
			p.Fields, p.Objects = fields, names
			out = append(out, p)
		}
	}
	return out, nil
}

// narrowed returns the new schemas that may lack fields of objects that are read in version v: that
// of v itself and, where objects are stored in another version without conversion, that of it.
func (d *definitionChange) narrowed(v definitionVersion) []*fieldSchema {
	was := v.Schema.OpenAPIV3Schema.root(d.before)
	var out []*fieldSchema
	add := func(to *definitionVersion) {
		if to == nil {
			return
		}
		if is := to.Schema.OpenAPIV3Schema.root(d.after); was.losesFields(is, v.Subresources.Status != nil) {
			out = append(out, is)
		}
	}
	add(d.after.version(v.Name))
	before, after := d.before.storage(), d.after.storage()
	moves := before != nil && after != nil && before.Name != after.Name && after.Name != v.Name
	if moves && d.after.Conversion.Strategy != "Webhook" {
		add(after)
	}
	return out
}

// maxExamples is the number of objects and fields that an error names.
const maxExamples = 3

func appendExample(list []string, s string) []string {
	if len(list) < maxExamples && !slices.Contains(list, s) {
		return append(list, s)
	}
	return list
}

func nameOf(object map[string]any) string {
	return strings.TrimPrefix(api.String(object, "metadata", "namespace")+"/"+api.String(object, "metadata", "name"), "/")
}

// eachObject calls fn with the objects of the definition in all namespaces, page by page, until it
// returns false.
func (d *definitionChange) eachObject(ctx context.Context, version string, metadata bool,
	fn func(map[string]any) bool) error {
	path := "/apis/" + url.PathEscape(d.before.Group) + "/" + url.PathEscape(version) + "/" +
		url.PathEscape(d.before.Names.Plural)
	query := url.Values{"limit": {strconv.Itoa(api.ListPage)}}
	var header http.Header
	if metadata {
		header = http.Header{"Accept": {api.AcceptMetaList}}
	}
	for {
		body, err := d.api.Call(ctx, http.MethodGet, path, query, header, nil)
		if err != nil {
			return fmt.Errorf("list %s: %w", d.step.Name, err)
		}
		items, next, err := api.DecodeList(body, true)
		if err != nil {
			return fmt.Errorf("list %s: %w", d.step.Name, err)
		}
		for _, object := range items {
			if !fn(object) {
				return nil
			}
		}
		if next == "" {
			return nil
		}
		query.Set("continue", next)
	}
}

// fieldSchema is the part of a structural schema that decides which fields the server prunes.
type fieldSchema struct {
	Properties           map[string]*fieldSchema
	Items                *fieldSchema
	AdditionalProperties *additional
	PreserveUnknown      *bool `json:"x-kubernetes-preserve-unknown-fields"`
	Embedded             bool  `json:"x-kubernetes-embedded-resource"`
}

// additional is the value of additionalProperties: a schema or a boolean.
type additional struct {
	allowed bool
	schema  *fieldSchema
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *additional) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &a.allowed); err == nil {
		return nil
	}
	a.allowed, a.schema = true, &fieldSchema{}
	return json.Unmarshal(text, a.schema)
}

// root returns the schema of whole objects: apiVersion, kind and metadata are never pruned.
func (s *fieldSchema) root(d *definitionSpec) *fieldSchema {
	keep := d.PreserveUnknownFields
	out := &fieldSchema{Embedded: true, PreserveUnknown: &keep}
	if s != nil {
		*out = *s
		out.Embedded = true
		if keep {
			out.PreserveUnknown = &keep
		}
	}
	return out
}

func (s *fieldSchema) preserves() bool {
	return s != nil && s.PreserveUnknown != nil && *s.PreserveUnknown
}

// at returns the schema of a field, and reports whether the field is kept.
func (s *fieldSchema) at(name string) (*fieldSchema, bool) {
	if s == nil {
		return nil, false
	}
	if p := s.Properties[name]; p != nil {
		return p, true
	}
	if a := s.AdditionalProperties; a != nil && a.allowed {
		if a.schema == nil {
			keep := true
			return &fieldSchema{PreserveUnknown: &keep}, true
		}
		return a.schema, true
	}
	if s.Embedded && (name == "apiVersion" || name == "kind" || name == "metadata") {
		keep := true
		return &fieldSchema{PreserveUnknown: &keep}, true
	}
	keep := true
	return &fieldSchema{PreserveUnknown: &keep}, s.preserves()
}

// maxSchemaDepth bounds the recursion: the API server's limit for objects is lower.
const maxSchemaDepth = 200

// losesFields reports whether objects that s keeps whole may have fields that other prunes.
func (s *fieldSchema) losesFields(other *fieldSchema, exceptStatus bool) bool {
	return s.narrower(other, exceptStatus, 0)
}

func (s *fieldSchema) narrower(other *fieldSchema, exceptStatus bool, depth int) bool {
	switch {
	case s == nil || depth > maxSchemaDepth:
		return false
	case s.preserves() && !other.preserves(), other == nil && len(s.Properties) > 0:
		return true
	}
	for name, p := range s.Properties {
		if exceptStatus && name == "status" {
			continue
		}
		if q, kept := other.at(name); !kept || p.narrower(q, false, depth+1) {
			return true
		}
	}
	if s.Items != nil && other != nil && !other.preserves() && s.Items.narrower(other.Items, false, depth+1) {
		return true
	}
	if a := s.AdditionalProperties; a != nil && a.allowed {
		q, kept := other.at("\x00")
		return !kept || a.schema.narrower(q, false, depth+1) || a.schema == nil && !q.preserves()
	}
	return false
}

// prunes returns the paths of the object's fields that the server prunes.
func (s *fieldSchema) prunes(object map[string]any) []string {
	var out []string
	s.walk(object, "", 0, &out)
	slices.Sort(out)
	return out
}

func (s *fieldSchema) walk(v any, path string, depth int, lost *[]string) {
	if depth > maxSchemaDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			at := strings.TrimPrefix(path+"."+name, ".")
			if sub, kept := s.at(name); kept {
				sub.walk(value, at, depth+1, lost)
			} else if value != nil {
				*lost = append(*lost, at)
			}
		}
	case []any:
		items := s.Items
		if items == nil && s.preserves() {
			return
		}
		if items == nil {
			items = &fieldSchema{}
		}
		for _, value := range v {
			items.walk(value, path+"[]", depth+1, lost)
		}
	}
}
