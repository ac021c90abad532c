// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Options say how objects are changed. With the zero value they are merged by this
// package, and all of them are the release's.
type Options struct {
	// ServerSide leaves merging to the API server. Conflicts says what then becomes of
	// fields that other managers have set to other values; "" is [Fail]. It has no say
	// where an object's [OwnershipAnnotation] decides, or an autoscaler, of Autoscaled or
	// among the items, that sets the field.
	ServerSide bool
	Conflicts  Resolution
	Autoscaled Autoscaled
	// Searched are the namespaces of which Autoscaled has all autoscalers.
	Searched []string
	// Refused are the fields for which the server has refused the new object, written as
	// in [Conflict.Field]: they are conflicts, whatever managedFields say.
	Refused map[string]bool
	// ForceReplace puts the new object in the place of the live one ([Put]) instead of
	// merging here, and lets the executor delete and create again what cannot be updated.
	// Volumes and volume claims are merged all the same.
	ForceReplace bool
	// Foreign returns why an object that is to be deleted is not the release's, and so
	// is kept; "" where it is the release's. nil takes all to be the release's.
	Foreign func(Item) string
}

// An Error is returned for an object that cannot be merged: it lacks what its kind needs,
// or what it says contradicts itself.
type Error struct {
	Object Ref
	Source string // the template, "" where not known
	Path   string // the field
	Text   string // the rest of the sentence
}

func (e *Error) Error() string {
	where := e.Object.String()
	if e.Source != "" {
		where += " (" + e.Source + ")"
	}
	if e.Path == "" {
		return where + ": " + e.Text
	}
	return where + ": " + e.Path + " " + e.Text
}

// Annotations that say what may become of an object.
const (
	policyAnnotation  = "helm.sh/resource-policy"
	replaceAnnotation = "helm.sh/replace"
)

// Compute returns the step for each item. The caller puts the items in the order in which
// they are to be written and deleted; the steps keep it. An item that is to be deleted and
// does not exist has no step, nor has one whose live object is, by its uid, that of an item
// that stays. The error joins an [*Error] for each item that cannot be merged; the plan
// then has the steps of the others.
//
// A field that any of an item's old manifests has and the new one lacks is removed, if the
// live object has it; a field that none of them has is left as it is. status and what only
// the server writes are ignored.
func Compute(items []Item, o Options) (*Plan, error) {
	o.Autoscaled = o.autoscaled(items)
	p := &Plan{ServerSide: o.ServerSide, Conflicts: o.Conflicts, Autoscaled: o.Autoscaled, Searched: o.Searched,
		ForceReplace: o.ForceReplace}
	wanted := make(map[string]bool, len(items)) // by uid: one object may be served by two groups
	for _, it := range items {
		if uid, _ := metadata(it.Live)["uid"].(string); it.New != nil && uid != "" {
			wanted[uid] = true
		}
	}
	var errs []error
	for _, it := range items {
		if it.New == nil {
			if uid, _ := metadata(it.Live)["uid"].(string); it.Live == nil || wanted[uid] {
				continue
			}
			p.Steps = append(p.Steps, remove(it, o))
			continue
		}
		s, err := write(it, o)
		if err != nil {
			errs = append(errs, wrong(it, err))
			continue
		}
		p.Steps = append(p.Steps, s)
	}
	return p, errors.Join(errs...)
}

// remove is the step of an object that the release has no more.
func remove(it Item, o Options) Step {
	s := Step{Item: it, Action: Delete}
	if keeps(it) {
		s.Action, s.Reason, s.After = Keep, policyAnnotation+": keep", it.Live
	} else if o.Foreign != nil {
		if s.Reason = o.Foreign(it); s.Reason != "" {
			s.Action, s.After = Keep, it.Live
		}
	}
	s.Drifted = drifted(it)
	return s
}

// keeps reports whether the release leaves the object alone when it has it no
// more: the newest manifest that had it says so, or the object itself does.
func keeps(it Item) bool {
	objects := []map[string]any{it.Live}
	if n := len(it.Old); n > 0 {
		objects = append(objects, it.Old[n-1])
	}
	for _, object := range objects {
		if strings.EqualFold(strings.TrimSpace(annotation(object, policyAnnotation)), "keep") {
			return true
		}
	}
	return false
}

// write is the step of an object that the release has.
func write(it Item, o Options) (Step, error) {
	if meta, ok := it.New["metadata"].(map[string]any); !ok || len(meta) == 0 {
		return Step{}, &problem{"metadata", "is missing"}
	}
	odd := find(it.New)
	if odd.directives && builtIn(it.New) {
		return Step{}, &problem{Directive(it.New),
			"is a directive of a patch, and a manifest says what an object should be: leave it out"}
	}
	want := normalBy(it.New, odd)
	s := Step{Item: it, Action: Create, After: want}
	own, err := ownershipOf(it.New)
	if err != nil {
		return Step{}, &problem{"metadata.annotations", err.Error()}
	}
	m, before := mergerOf(it), olds(it)
	if it.Live == nil {
		if !o.ServerSide {
			return s, nil
		}
		return s, s.apply(m.manifest(want))
	}
	var applied map[string]any // nil where it is not for the server to merge
	if o.ServerSide {
		applied, want = s.contested(m, o, own, m.manifest(want))
		if m.applied(m.top(it.Ref), before, it.Live, applied) {
			s.Action, s.After = Unchanged, it.Live
			return s, nil
		}
	} else if own != nil && !o.ForceReplace {
		want = s.yielded(m, own, want, before)
	}
	patch, after, err := m.fields("", m.top(it.Ref), before, it.Live, want)
	if err != nil {
		return Step{}, err
	}
	// What is as the new manifest says, is as the old one says if that says so too.
	n := len(before)
	again := n > 0 && m.same("", "", want, before[n-1])
	s.Action, s.After, s.Drifted = Update, after, !(patch == nil && again) && drifted(it)
	if o.ForceReplace && !o.ServerSide && !bound(it) {
		return s, s.put()
	}
	if o.ServerSide {
		return s, s.apply(applied)
	}
	if patch == nil {
		s.Action = Unchanged
		return s, nil
	}
	s.Type = JSONMerge
	if m.whole {
		patch = since(it.Live, difference(it.Live, after))
	} else if m.builtIn {
		s.Type = StrategicMerge
	}
	s.Patch, err = json.Marshal(patch)
	return s, err
}

// manifest is a normal object as it is applied.
func (m *merger) manifest(want map[string]any) map[string]any {
	if m.builtIn {
		want, _ = m.clean(want).(map[string]any)
	}
	return want
}

// apply makes the step one of server-side apply.
func (s *Step) apply(object map[string]any) (err error) {
	s.Type = ServerApply
	s.Patch, err = json.Marshal(object)
	return err
}

// contested finds the conflicts of a step of server-side apply, and returns what is
// to be applied and what the manifest comes to.
//
// Where fields are left out, an object that has taken the live one's place must not
// be made of what is left: the server is told which object is meant, and where only
// some conflicts are won, in which state.
func (s *Step) contested(m *merger, o Options, own ownership, want map[string]any) (applied, comes map[string]any) {
	claims := m.claims(s.Ref, s.Live, want, o.Refused)
	o.resolve(s.Ref, own, claims)
	s.Conflicts, s.Force = conflictsOf(claims), o.Conflicts == Take
	var left [][]step
	comes = want
	for _, c := range claims {
		switch c.Resolution {
		case Yield:
			left = append(left, c.at)
			comes = edit(comes, [][]step{c.at}, func(any) (any, bool) { return c.Live, c.Live != nil }).(map[string]any)
		case Take:
			s.Force = true
		}
	}
	for _, d := range s.displace(m, o, own, want) {
		left = append(left, d.by)
		comes = edit(comes, [][]step{d.by}, func(any) (any, bool) { return d.byLive, d.byLive != nil }).(map[string]any)
	}
	slices.SortStableFunc(s.Conflicts, func(a, b Conflict) int { return cmp.Compare(a.Path, b.Path) })
	applied = want
	if len(left) > 0 {
		applied = pinned(leaveOut(want, left), s.Live, "uid")
	}
	if s.Force && o.Conflicts != Take {
		applied = pinned(applied, s.Live, "resourceVersion")
	}
	return applied, comes
}

// pinned is an object with a field of the live one's metadata.
func pinned(object, live map[string]any, key string) map[string]any {
	v, read := metadata(live)[key]
	if !read {
		return object
	}
	object = maps.Clone(object)
	meta := maps.Clone(metadata(object))
	meta[key] = v
	object["metadata"] = meta
	return object
}

// Replaceable reports whether the new manifest of s has the annotation
// helm.sh/replace: "true", which allows the object to be deleted and created again where
// it cannot be updated.
func Replaceable(s Step) bool {
	return strings.EqualFold(strings.TrimSpace(annotation(s.New, replaceAnnotation)), "true")
}

func mergerOf(it Item) *merger {
	t := kinds()
	_, builtIn := t.kinds[it.APIVersion+" "+it.Kind]
	return &merger{table: t, builtIn: builtIn, olds: len(it.Old)}
}

// top is how the fields of a whole object merge.
func (m *merger) top(r Ref) field {
	return field{node: m.table.kinds[r.APIVersion+" "+r.Kind], place: top}
}

func olds(it Item) []map[string]any {
	out := make([]map[string]any, 0, len(it.Old))
	for _, old := range it.Old {
		out = append(out, former(old))
	}
	return out
}

// since is a patch that the server refuses where live has changed since it was
// read: whole lists would undo what another client has done to them.
func since(live, patch map[string]any) map[string]any {
	version, read := metadata(live)["resourceVersion"]
	if !read {
		return patch
	}
	meta := maps.Clone(metadata(patch))
	if meta == nil {
		meta = map[string]any{}
	}
	meta["resourceVersion"], patch["metadata"] = version, meta
	return patch
}

// difference is the JSON merge patch that makes after out of before.
func difference(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for key, a := range after {
		b, had := before[key]
		bm, bIs := b.(map[string]any)
		am, aIs := a.(map[string]any)
		if bIs && aIs {
			if p := difference(bm, am); len(p) > 0 {
				patch[key] = p
			}
		} else if !had || !reflect.DeepEqual(a, b) {
			patch[key] = a
		}
	}
	for key := range before {
		if _, has := after[key]; !has {
			patch[key] = nil
		}
	}
	return patch
}

func metadata(object map[string]any) map[string]any {
	m, _ := object["metadata"].(map[string]any)
	return m
}

func annotation(object map[string]any, key string) string {
	m, _ := metadata(object)["annotations"].(map[string]any)
	s, _ := m[key].(string)
	return s
}

// wrong names the object that err is about.
func wrong(it Item, err error) error {
	e := &Error{Object: it.Ref, Source: it.Source, Text: err.Error()}
	if e.Source == "" && it.Object != nil {
		e.Source = it.Object.Source
	}
	if p, ok := err.(*problem); ok {
		e.Path, e.Text = p.path, p.text
	}
	return e
}
