// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// transferRecord is the manifest of a release with its objects in the cluster.
type transferRecord struct {
	documents []*manifest.Object
	items     []*recordItem
}

// recordItem is an object of a record: a document, or an item of a List.
type recordItem struct {
	plan.Ref
	object, document *manifest.Object
	found            *apply.FoundObject // nil if the cluster does not serve the kind
}

// live reports whether the object exists.
func (i *recordItem) live() bool { return i.found != nil && i.found.Live != nil }

// readRecord reads the objects of the deployed revision, and their live state.
func (s *transferSide) readRecord(ctx context.Context) (*transferRecord, error) {
	documents, err := manifest.ParseManifest(s.before.Manifest)
	if err != nil {
		return nil, fmt.Errorf("read the manifest of revision %d of release %s: %w", s.before.Revision, s.name, err)
	}
	r := &transferRecord{documents: documents}
	var objects []*manifest.Object
	byObject := map[*manifest.Object]*recordItem{}
	for _, d := range documents {
		items, err := manifest.Flatten([]*manifest.Object{d})
		if err != nil {
			return nil, err
		}
		for _, o := range items {
			if o.Empty {
				continue
			}
			item := &recordItem{object: o, document: d, Ref: refOf(o, s.namespace())}
			r.items, objects, byObject[o] = append(r.items, item), append(objects, o), item
		}
	}
	found, err := s.Cluster.Find(ctx, objects, s.namespace())
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if item := byObject[f.Object]; item != nil {
			item.found, item.Ref = f, f.Ref
		}
	}
	return r, nil
}

// find returns the item for an object, or nil.
func (r *transferRecord) find(ref plan.Ref) *recordItem {
	for _, item := range r.items {
		if item.Name != "" && item.Identity() == ref.Identity() {
			return item
		}
	}
	return nil
}

// without returns the documents without the given items. A List that had one of them is replaced by
// its other items.
func (r *transferRecord) without(items []*recordItem) []*manifest.Object {
	taken, split := map[*manifest.Object]bool{}, map[*manifest.Object]bool{}
	for _, i := range items {
		taken[i.object], split[i.document] = true, true
	}
	var out []*manifest.Object
	for _, d := range r.documents {
		if !split[d] {
			out = append(out, d)
			continue
		}
		for _, i := range r.items {
			if i.document == d && !taken[i.object] {
				out = append(out, i.object)
			}
		}
	}
	return out
}

// pick returns the items that names name. The error lists all names for which there is none.
func (s *transferSide) pick(ctx context.Context, verb release.TransferVerb, r *transferRecord, names []ObjectName) (
	[]*recordItem, error) {
	missing := &NotInReleaseError{Name: s.name}
	ambiguous := &ObjectsError{Operation: verb}
	var out []*recordItem
	seen := map[*recordItem]bool{}
	for _, n := range names {
		found, kind, err := s.matching(ctx, r, n)
		if err != nil {
			return nil, err
		}
		switch {
		case len(found) == 0 && s.isHook(kind, n.Name):
			missing.Hooks = append(missing.Hooks, n.String())
		case len(found) == 0:
			missing.Objects = append(missing.Objects, n.String())
			missing.Similar = append(missing.Similar, r.similar(kind, n.Name)...)
		case len(found) > 1:
			ambiguous.add(n.String(), "the release has several of them: write NAMESPACE/KIND/NAME")
		case !seen[found[0]]:
			seen[found[0]] = true
			out = append(out, found[0])
		}
	}
	switch {
	case len(missing.Objects)+len(missing.Hooks) > 0:
		return nil, missing
	case len(ambiguous.Problems) > 0:
		return nil, ambiguous
	}
	return out, nil
}

// matching returns the items that n names, and the kind. Without a namespace, those in the release's come
// first.
func (s *transferSide) matching(ctx context.Context, r *transferRecord, n ObjectName) ([]*recordItem, string, error) {
	kind, group, hasGroup := strings.Cut(n.Kind, ".")
	collect := func(kind string, inGroup func(string) bool) (out []*recordItem) {
		for _, i := range r.items {
			if strings.EqualFold(i.Kind, kind) && i.Name == n.Name && inGroup(manifest.Group(i.APIVersion)) &&
				(n.Namespace == "" || n.Namespace == i.Namespace) {
				out = append(out, i)
			}
		}
		return out
	}
	found := collect(kind, func(g string) bool { return !hasGroup || g == group })
	if len(found) == 0 {
		resource, err := s.Cluster.FindKind(ctx, n.Kind)
		if err != nil {
			return nil, "", err
		}
		kind = resource.Kind
		found = collect(kind, func(g string) bool { return g == manifest.Group(resource.APIVersion) })
	}
	if len(found) < 2 || n.Namespace != "" {
		return found, kind, nil
	}
	for _, i := range found {
		if i.Namespace == s.namespace() {
			return []*recordItem{i}, kind, nil
		}
	}
	return found, kind, nil
}

func (s *transferSide) isHook(kind, name string) bool {
	for _, h := range s.before.Hooks {
		if h.Kind == kind && h.Name == name {
			return true
		}
	}
	return false
}

// similar returns the record's objects that a kind and a name may be a misspelling of: those of the
// kind with a similar name, or of other kinds with the name, or with a similar kind and name.
func (r *transferRecord) similar(kind, name string) []string {
	var names, kinds, all []string
	for _, i := range r.items {
		all = append(all, i.String())
		switch {
		case i.Kind == kind:
			names = append(names, i.Name)
		case i.Name == name:
			kinds = append(kinds, i.String())
		}
	}
	if near := suggest.Nearest(names, name); len(near) > 0 {
		for i := range near {
			near[i] = plan.Ref{Kind: kind, Name: near[i]}.String()
		}
		return near
	}
	if len(kinds) > 0 {
		return kinds
	}
	return suggest.Nearest(all, plan.Ref{Kind: kind, Name: name}.String())
}

// journal adds a live object to the objects whose ownership metadata changes, and to the result.
func (t *transfer) journal(f *apply.FoundObject, will release.Ownership, omitted []string) {
	t.out.Objects = append(t.out.Objects, TransferObject{Ref: f.Ref, Exists: true, Was: f.Ownership, Will: will,
		Omitted: omitted})
	if f.Ownership != will {
		t.objects = append(t.objects, release.TransferObject{APIVersion: f.APIVersion, Kind: f.Kind, Namespace: f.Namespace,
			Name: f.Name, UID: f.UID, Was: f.Ownership})
	}
}

// takeOut takes the objects that names name out of the release which they leave.
func (t *transfer) takeOut(ctx context.Context, names []ObjectName) ([]*recordItem, error) {
	from := t.from
	if err := from.requireDeployed(ctx, t.verb); err != nil {
		return nil, err
	}
	record, err := from.readRecord(ctx)
	if err != nil {
		return nil, err
	}
	items, err := from.pick(ctx, t.verb, record, names)
	if err != nil {
		return nil, err
	}
	if err := t.leave(items); err != nil {
		return nil, err
	}
	from.newRevision(from.before, t.verb, manifest.Format(record.without(items)))
	return items, nil
}

// leave journals items of the record that leave the release. Objects that do not exist, or do not
// belong to the release, are only taken out of the record.
func (t *transfer) leave(items []*recordItem) error {
	problems := &ObjectsError{Operation: t.verb}
	for _, i := range items {
		switch {
		case !i.live():
			t.out.Objects = append(t.out.Objects, TransferObject{Ref: i.Ref})
		case i.found.Ownership == t.from.owner():
			t.journal(i.found, t.newOwner(), nil)
		case t.verb == release.TransferMove:
			problems.add(kube.ObjectName(i.Kind, i.Namespace, i.Name), foreignReason(i.found.Ownership, t.from))
		default:
			t.out.Objects = append(t.out.Objects, TransferObject{Ref: i.Ref, Exists: true, Was: i.found.Ownership,
				Will: i.found.Ownership})
		}
	}
	if len(problems.Problems) > 0 {
		return problems
	}
	return nil
}

// foreignReason returns why an object does not belong to a release.
func foreignReason(is release.Ownership, s *transferSide) string {
	if is.Release != "" && (is.Release != s.name || is.Namespace != s.namespace()) {
		return belongsTo + fmt.Sprintf("%q in namespace %q", is.Release, is.Namespace)
	}
	return fmt.Sprintf("its labels and annotations do not say that it belongs to release %q; helm adopt sets them", s.name)
}

// subjectOf names objects for a sentence: "ConfigMap/a", or "one of the 3 objects".
func subjectOf(refs []TransferObject) string {
	if len(refs) == 1 {
		return refs[0].String()
	}
	return fmt.Sprintf("one of the %d objects", len(refs))
}
