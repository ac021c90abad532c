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

	"github.com/moonhelm/moonhelm/release"
)

// Options control how objects are changed. With the zero value this package merges them,
// and every object to delete belongs to the release.
type Options struct {
	// ServerSide leaves merging to the API server.
	ServerSide bool
	// Conflicts resolves conflicts of server-side apply with other field managers; "" is
	// [Fail]. It does not apply to fields that the object's [OwnershipAnnotation] decides,
	// nor to fields that an autoscaler sets.
	Conflicts Resolution
	// Autoscaled has the autoscalers outside of the items. Those among the items are added.
	Autoscaled Autoscaled
	// AutoscalerNamespaces are the namespaces of which Autoscaled has all autoscalers.
	AutoscalerNamespaces []string
	// RejectedFields are the fields for which the server has rejected an earlier apply,
	// written as in [Conflict.Field]. They are conflicts even if managedFields names no
	// other manager.
	RejectedFields map[string]bool
	// ForceReplace replaces live objects ([Put]) instead of merging here, and lets the
	// executor delete and recreate an object that cannot be updated. PersistentVolumes and
	// PersistentVolumeClaims are merged even so.
	ForceReplace bool
	// ForeignReason returns why an object to delete does not belong to the release and is
	// kept, or "" if it belongs to it. nil means that every object belongs to it.
	ForeignReason func(Item) string
}

// An Error is returned for an object that cannot be merged: it lacks a field that its kind
// requires, or has fields that contradict each other.
type Error struct {
	Object Ref
	Source string // the template, or "" if not known
	Path   string // the field, or ""
	Text   string // the problem, to follow the path: "is missing"
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

// Compute returns a step for each item, in the order of items, which is the order of
// execution. There is no step for an item to delete whose live object does not exist, or is
// also wanted by another item: an object that two API groups serve has one UID. The error
// joins an [*Error] for each item that cannot be merged; the plan then has the steps of the
// others.
//
// The merge is a three-way merge. A field that any of the item's old manifests has and the
// new one lacks is removed if the live object has it; a field that no manifest has is left
// alone. status and the metadata that only the server writes are ignored.
func Compute(items []Item, o Options) (*Plan, error) {
	o.Autoscaled = o.autoscaled(items)
	p := &Plan{ServerSide: o.ServerSide, Conflicts: o.Conflicts, Autoscaled: o.Autoscaled,
		Searched:     o.AutoscalerNamespaces,
		ForceReplace: o.ForceReplace}
	wanted := make(map[string]bool, len(items)) // by UID
	for _, item := range items {
		if uid, _ := metadata(item.Live)["uid"].(string); item.New != nil && uid != "" {
			wanted[uid] = true
		}
	}
	var errs []error
	for _, item := range items {
		if item.New == nil {
			if uid, _ := metadata(item.Live)["uid"].(string); item.Live == nil || wanted[uid] {
				continue
			}
			p.Steps = append(p.Steps, deleteStep(item, o))
			continue
		}
		s, err := applyStep(item, o)
		if err != nil {
			errs = append(errs, newError(item, err))
			continue
		}
		p.Steps = append(p.Steps, s)
	}
	return p, errors.Join(errs...)
}

// deleteStep returns the step for an object that is no longer part of the release.
func deleteStep(item Item, o Options) Step {
	s := Step{Item: item, Action: Delete}
	if hasKeepPolicy(item) {
		s.Action, s.Reason, s.After = Keep, release.PolicyAnnotation+": keep", item.Live
	} else if o.ForeignReason != nil {
		if s.Reason = o.ForeignReason(item); s.Reason != "" {
			s.Action, s.After = Keep, item.Live
		}
	}
	s.Drifted = hasDrifted(item)
	return s
}

// hasKeepPolicy reports whether an object stays when it is no longer part of the release:
// its live object, or the newest manifest that had it, is annotated so.
func hasKeepPolicy(item Item) bool {
	objects := []map[string]any{item.Live}
	if n := len(item.Old); n > 0 {
		objects = append(objects, item.Old[n-1])
	}
	for _, object := range objects {
		if release.IsKeepPolicy(annotation(object, release.PolicyAnnotation)) {
			return true
		}
	}
	return false
}

// applyStep returns the step for an object of the release.
func applyStep(item Item, o Options) (Step, error) {
	if meta, ok := item.New["metadata"].(map[string]any); !ok || len(meta) == 0 {
		return Step{}, &problem{"metadata", "is missing"}
	}
	forms := scan(item.New)
	if forms.directives && builtIn(item.New) {
		return Step{}, &problem{Directive(item.New),
			"is a directive of strategic merge patches, which a manifest must not have: remove it"}
	}
	owners, err := ownershipOf(item.New)
	if err != nil {
		return Step{}, &problem{"metadata.annotations", err.Error()}
	}
	s := Step{Item: item, Action: Create, After: normalizeScanned(item.New, forms)}
	switch m := mergerOf(item); {
	case o.ServerSide:
		err = s.applyOnServer(m, o, owners)
	case item.Live == nil:
	case o.ForceReplace && !isVolume(item):
		err = s.replace(m)
	default:
		err = s.merge(m, o, owners)
	}
	return s, err
}

// applyOnServer makes s a server-side apply of s.After.
func (s *Step) applyOnServer(m *merger, o Options, owners ownership) error {
	want := m.cleanForApply(s.After)
	if s.Live == nil {
		return s.setApplyPatch(want)
	}
	before := oldObjects(s.Item)
	applied, effective := s.resolveConflicts(m, o, owners, want)
	s.Displaced = append(s.Displaced, s.Remove...)
	if len(s.Remove) == 0 && m.isApplied(m.rootField(s.Ref), before, s.Live, applied) {
		s.Action, s.After = Unchanged, s.Live
		return nil
	}
	if _, err := s.update(m, before, effective); err != nil {
		return err
	}
	return s.setApplyPatch(applied)
}

// replace makes s a PUT of s.After.
func (s *Step) replace(m *merger) error {
	if _, err := s.update(m, oldObjects(s.Item), s.After); err != nil {
		return err
	}
	return s.setPutBody()
}

// merge makes s a patch of the live object, or [Unchanged].
func (s *Step) merge(m *merger, o Options, owners ownership) error {
	want, before := s.After, oldObjects(s.Item)
	if owners != nil && !o.ForceReplace {
		want = s.yieldFields(m, owners, want, before)
	}
	patch, err := s.update(m, before, want)
	if err != nil {
		return err
	}
	if patch == nil {
		s.Action = Unchanged
		return nil
	}
	s.Type = JSONMerge
	if m.wholeLists { // a list without merge keys is in the patch as a whole
		patch = withResourceVersion(s.Live, mergePatch(s.Live, s.After))
	} else if m.builtIn {
		s.Type = StrategicMerge
	}
	s.Patch, err = json.Marshal(patch)
	return err
}

// update merges want into the live object, makes s an update to the result, and returns
// the patch; nil if the live object needs none.
func (s *Step) update(m *merger, before []map[string]any, want map[string]any) (map[string]any, error) {
	patch, after, err := m.mergeMaps("", m.rootField(s.Ref), before, s.Live, want)
	if err != nil {
		return nil, err
	}
	// With an unchanged manifest and no patch, the live object cannot have drifted.
	n := len(before)
	unchanged := n > 0 && m.sameValue("", "", want, before[n-1])
	s.Action, s.After, s.Drifted = Update, after, (patch != nil || !unchanged) && hasDrifted(s.Item)
	return patch, nil
}

// cleanForApply returns a normalized object as server-side apply sends it.
func (m *merger) cleanForApply(want map[string]any) map[string]any {
	if m.builtIn {
		want, _ = m.clean(want).(map[string]any)
	}
	return want
}

// setApplyPatch sets the body of a server-side apply.
func (s *Step) setApplyPatch(object map[string]any) (err error) {
	s.Type = ServerApply
	s.Patch, err = json.Marshal(object)
	return err
}

// resolveConflicts finds the conflicts of a server-side apply of want. It returns the object
// to apply, without the fields that are left to other managers, and the object that the
// apply has as its effect, with their live values.
//
// If fields are left out, the object to apply has the live one's UID, so that an object
// which was recreated meanwhile is not made from a partial manifest. If only some of the
// conflicts are forced, it has the live resourceVersion, so that no later conflict is forced
// unseen.
func (s *Step) resolveConflicts(m *merger, o Options, owners ownership,
	want map[string]any) (applied, effective map[string]any) {
	found := m.conflicts(s.Ref, s.Live, want, o.RejectedFields)
	o.resolve(s.Ref, owners, found)
	s.Conflicts, s.Force = conflictsOf(found), o.Conflicts == Take
	var left [][]pathStep
	effective = want
	leave := func(path []pathStep, live any) {
		left = append(left, path)
		keepLive := func(any) (any, bool) { return live, live != nil }
		effective = editFields(effective, [][]pathStep{path}, keepLive).(map[string]any)
	}
	for _, c := range found {
		switch c.Resolution {
		case Yield:
			leave(c.path, c.Live)
		case Take:
			s.Force = true
		}
	}
	for _, d := range s.displace(m, o, owners, want) {
		leave(d.replacement, d.replacementLive)
	}
	slices.SortStableFunc(s.Conflicts, func(a, b Conflict) int { return cmp.Compare(a.Path, b.Path) })
	applied = want
	if len(left) > 0 {
		applied = withLiveMetadata(removeFields(want, left), s.Live, "uid")
	}
	if s.Force && o.Conflicts != Take {
		applied = withLiveMetadata(applied, s.Live, "resourceVersion")
	}
	return applied, effective
}

// withLiveMetadata returns a copy of object with a field of the live object's metadata.
func withLiveMetadata(object, live map[string]any, key string) map[string]any {
	v, ok := metadata(live)[key]
	if !ok {
		return object
	}
	object = maps.Clone(object)
	meta := maps.Clone(metadata(object))
	meta[key] = v
	object["metadata"] = meta
	return object
}

// Replaceable reports whether the new manifest of s has the annotation
// helm.sh/replace: "true", which allows an object that cannot be updated to be deleted and
// recreated.
func Replaceable(s Step) bool {
	return strings.EqualFold(strings.TrimSpace(annotation(s.New, release.ReplaceAnnotation)), "true")
}

func mergerOf(item Item) *merger {
	t := kinds()
	_, builtIn := t.kinds[item.APIVersion+" "+item.Kind]
	return &merger{table: t, builtIn: builtIn, olds: len(item.Old)}
}

// rootField returns how the fields of a whole object merge.
func (m *merger) rootField(r Ref) field {
	return field{node: m.table.kinds[r.APIVersion+" "+r.Kind], position: top}
}

func oldObjects(item Item) []map[string]any {
	out := make([]map[string]any, 0, len(item.Old))
	for _, old := range item.Old {
		out = append(out, asApplied(old))
	}
	return out
}

// withResourceVersion adds the live resourceVersion to patch, so that the server rejects it
// if the object has changed since: whole lists would undo another client's changes. It
// changes patch.
func withResourceVersion(live, patch map[string]any) map[string]any {
	version, ok := metadata(live)["resourceVersion"]
	if !ok {
		return patch
	}
	meta := maps.Clone(metadata(patch))
	if meta == nil {
		meta = map[string]any{}
	}
	meta["resourceVersion"], patch["metadata"] = version, meta
	return patch
}

// mergePatch returns the JSON merge patch (RFC 7396) from before to after.
func mergePatch(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for key, a := range after {
		b, had := before[key]
		bm, bIs := b.(map[string]any)
		am, aIs := a.(map[string]any)
		if bIs && aIs {
			if p := mergePatch(bm, am); len(p) > 0 {
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

// newError returns an [*Error] for the object of it.
func newError(item Item, err error) error {
	e := &Error{Object: item.Ref, Source: item.Source, Text: err.Error()}
	if e.Source == "" && item.Object != nil {
		e.Source = item.Object.Source
	}
	if p, ok := errors.AsType[*problem](err); ok {
		e.Path, e.Text = p.path, p.text
	}
	return e
}
