// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/manifest"
)

// A Move is an entry of "moved" in Chart.yaml, with its names rendered for a release.
type Move struct {
	chart.Moved
	// Chart is the path of the chart that has the entry in its tree, "" for the root.
	Chart string
	// Field is the entry for error messages: "web/Chart.yaml: moved[0]".
	Field string
}

// MovesOf returns the entries of "moved" in all charts of a tree. Names are as they are written.
func MovesOf(root *chart.Chart) []Move {
	var out []Move
	root.Walk(func(c *chart.Chart) {
		if c.Metadata == nil {
			return
		}
		for i, m := range c.Metadata.Moved {
			if m != nil {
				out = append(out, Move{Moved: *m, Chart: chartOf(path.Join(c.FullPath(), chart.FileMetadata)),
					Field: fmt.Sprintf("%s: moved[%d]", path.Join(c.FullPath(), chart.FileMetadata), i)})
			}
		}
	})
	return out
}

// A MovedObject is an object of a release that "moved" in Chart.yaml is about.
type MovedObject struct {
	// From is the object in earlier revisions. To is what the chart calls it now; they are equal
	// if only its chart or directory has changed.
	From Ref `json:"from"`
	To   Ref `json:"to"`
	// Recreate is set if To is created and From is deleted. Otherwise the object is From.
	Recreate bool `json:"recreate,omitempty"`
	// DeleteFirst is the reason for deleting From before To is created, or "" if it is deleted
	// once To is ready.
	DeleteFirst string `json:"deleteFirst,omitempty"`
	// FromPlace and ToPlace are the charts or directories that the object has moved between.
	FromPlace string `json:"fromPlace,omitempty"`
	ToPlace   string `json:"toPlace,omitempty"`
	// Definition is set for a CRD that has moved to crds/ or from there.
	Definition bool `json:"definition,omitempty"`
}

// IsNowDefinition reports whether the object is a CRD that has moved to crds/.
func (m MovedObject) IsNowDefinition() bool {
	return m.Definition && !strings.HasPrefix(m.FromPlace, chart.DirCRDs+"/")
}

// String describes the move of the object, to follow its name: "moved from Deployment/old".
func (m MovedObject) String() string {
	switch {
	case m.From != m.To && m.Recreate && m.DeleteFirst != "":
		return fmt.Sprintf("moved from %s, which is deleted first: %s", m.From.place(m.To), m.DeleteFirst)
	case m.From != m.To && m.Recreate:
		return fmt.Sprintf("moved from %s, which is deleted once this is ready", m.From.place(m.To))
	case m.From != m.To:
		return fmt.Sprintf("keeps its name; the chart calls it %s now", m.To.place(m.From))
	}
	return fmt.Sprintf("moved from %s to %s", m.FromPlace, m.ToPlace)
}

// place returns the reference, with its namespace if that is not the other's.
func (r Ref) place(other Ref) string {
	if r.Namespace != other.Namespace {
		return r.String() + " in namespace " + r.Namespace
	}
	return r.String()
}

// Moves is the result of [ApplyMoves].
type Moves struct {
	// Objects are the objects to apply. Those that keep their old names have them, and
	// references to them have, too.
	Objects []*manifest.Object
	Moved   []MovedObject
	// Definitions are CRDs of earlier revisions that are in crds/ now: they are not deleted.
	Definitions []*manifest.Object
	// Adopted are CRDs among Objects that were in crds/: they exist without an owner.
	Adopted []*manifest.Object
	// Warnings are moves that have no effect, and references that could not be followed.
	Warnings []string
}

// Blocked returns those of objects that are created once their old objects are deleted.
func (m *Moves) Blocked(objects []*manifest.Object) []*manifest.Object {
	var out []*manifest.Object
	for _, o := range objects {
		if slices.ContainsFunc(m.Moved, func(moved MovedObject) bool {
			return moved.DeleteFirst != "" && moved.To.Kind == o.Kind && moved.To.Name == o.Name &&
				group(moved.To.APIVersion) == group(o.APIVersion)
		}) {
			out = append(out, o)
		}
	}
	return out
}

// A MovedError is returned for an entry of "moved" that cannot be applied to a release.
type MovedError struct {
	Field   string // "web/Chart.yaml: moved[0]"
	Problem string
	Advice  string
}

func (e *MovedError) Error() string { return e.Field + " does not fit: " + e.Problem }

// fail returns a [*MovedError] for the entry.
func (e Move) fail(advice, format string, args ...any) error {
	return &MovedError{Field: e.Field, Problem: fmt.Sprintf(format, args...), Advice: advice}
}

// oneName is the advice for an object with several names.
const oneName = "an object has one old name and one new one; a chain of moves has an entry for each: a to b, b to c"

// Hint returns advice for the user of the command line.
func (e *MovedError) Hint() string { return e.Advice }

// MoveInput is the input of [ApplyMoves].
type MoveInput struct {
	Moves []Move
	// Old are the objects of the revisions that may be applied, the deployed one first.
	Old [][]*manifest.Object
	// Objects are the rendered objects, with hooks.
	Objects []*manifest.Object
	// Definitions are the objects in crds/ of all charts.
	Definitions []*manifest.Object
	Namespace   string
	// Charts are the paths of the charts of the tree, also of those that are switched off.
	Charts []string
	Root   string // the name of the root chart
}

// ApplyMoves decides what becomes of the objects of earlier revisions that "moved" in the charts is
// about, from the records alone. An entry whose old object the release does not have, because it was
// installed with a later version or has moved already, has no effect. The CRDs of earlier revisions
// that are in crds/ now are among Definitions, whether or not an entry says so.
//
// It returns a [*MovedError] for an entry that contradicts the objects.
func ApplyMoves(in MoveInput) (*Moves, error) {
	m := &mover{in: in, out: &Moves{Objects: in.Objects}}
	if len(in.Moves) == 0 && len(in.Definitions) == 0 {
		return m.out, nil
	}
	if err := m.index(); err != nil {
		return nil, err
	}
	m.moveDefinitions()
	if len(in.Moves) == 0 {
		return m.out, nil
	}
	for _, step := range []func() error{m.moveCharts, m.readEdges, m.moveNames, m.keepNames, m.findExclusive} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return m.out, nil
}

// movedID identifies an object regardless of the version of its API.
type movedID struct{ group, kind, namespace, name string }

type mover struct {
	in  MoveInput
	out *Moves
	// base has the objects of the deployed revision, old those of all, and current the rendered
	// ones without hooks.
	base, old, current map[movedID]*manifest.Object
	rendered           []*manifest.Object // current in order
	groups             map[string]string  // of kinds, for entries without an apiVersion
	edges              map[movedID]edge   // by the new name
	keep               []rename
	exclusive          []exclusive
	moved              map[movedID]bool // old names that have been moved
}

// edge leads from a new name to the old one.
type edge struct {
	from movedID
	move Move
}

func (m *mover) id(o *manifest.Object) movedID {
	return movedID{group(o.APIVersion), o.Kind, cmp.Or(o.Namespace, m.in.Namespace), o.Name}
}

func (m *mover) index() error {
	m.base, m.old = map[movedID]*manifest.Object{}, map[movedID]*manifest.Object{}
	m.current = map[movedID]*manifest.Object{}
	m.edges, m.moved = map[movedID]edge{}, map[movedID]bool{}
	flat, err := manifest.Flatten(m.in.Objects)
	if err != nil {
		return err
	}
	m.groups = map[string]string{}
	for _, o := range slices.Concat(append([][]*manifest.Object{flat}, m.in.Old...)...) {
		if _, known := m.groups[o.Kind]; !known {
			m.groups[o.Kind] = group(o.APIVersion)
		}
	}
	for i, objects := range m.in.Old {
		for _, o := range objects {
			if o.Name == "" {
				continue
			}
			m.old[m.id(o)] = o
			if i == 0 {
				m.base[m.id(o)] = o
			}
		}
	}
	for _, o := range flat {
		if !isHook(o) && o.Name != "" {
			m.current[m.id(o)] = o
			m.rendered = append(m.rendered, o)
		}
	}
	return nil
}

// isHook reports whether an object is a hook of the release.
func isHook(o *manifest.Object) bool {
	const hook = "helm.sh/hook"
	return o.Annotations[hook] != "" || o.List != nil && isHook(o.List)
}

const crdKind = "CustomResourceDefinition"

// moveDefinitions finds CRDs that have moved to crds/ or from there.
func (m *mover) moveDefinitions() {
	inCRDs := map[movedID]bool{}
	for _, d := range m.in.Definitions {
		id := m.id(d)
		if d.Kind != crdKind || inCRDs[id] {
			continue
		}
		inCRDs[id] = true
		was := m.old[id]
		if was == nil || m.current[id] != nil {
			continue
		}
		m.out.Definitions = append(m.out.Definitions, was)
		m.out.Moved = append(m.out.Moved, MovedObject{From: refOf(was, ""), To: refOf(was, ""),
			FromPlace: was.Source, ToPlace: d.Source, Definition: true})
		if !m.declared(d, chart.DirCRDs) {
			m.warn("%s has moved from templates/ to crds/, and is kept; Helm would delete it with all objects of its "+
				"kind: an entry of moved in %s says that it has moved", d, chart.FileMetadata)
		}
	}
	for _, o := range m.rendered {
		if id := m.id(o); o.Kind == crdKind && len(m.in.Old) > 0 && m.old[id] == nil && m.declared(o, chart.DirTemplates) {
			m.out.Adopted = append(m.out.Adopted, o)
			m.out.Moved = append(m.out.Moved, MovedObject{From: refOf(o, ""), To: refOf(o, ""),
				FromPlace: chart.DirCRDs + "/", ToPlace: o.Source, Definition: true})
		}
	}
}

// declared reports whether an entry says that a CRD has moved to a directory.
func (m *mover) declared(o *manifest.Object, directory string) bool {
	return slices.ContainsFunc(m.in.Moves, func(e Move) bool {
		return e.To.Directory == directory && (e.From.Name == "" || e.From.Name == o.Name) &&
			isBelow(chartOf(o.Source), e.Chart)
	})
}

func (m *mover) warn(format string, args ...any) {
	m.out.Warnings = append(m.out.Warnings, fmt.Sprintf(format, args...))
}

// isBelow reports whether a chart is the other or one below it.
func isBelow(c, other string) bool {
	return other == "" || c == other || strings.HasPrefix(c, other+"/")
}

// moveCharts finds the objects that have moved from one subchart to another.
func (m *mover) moveCharts() error {
	for _, e := range m.in.Moves {
		if e.From.Chart == "" {
			continue
		}
		from, to := path.Join(e.Chart, e.From.Chart), path.Join(e.Chart, e.To.Chart)
		if err := m.checkChart(e, to); err != nil {
			return err
		}
		for _, o := range m.rendered {
			c := chartOf(o.Source)
			rest, ok := strings.CutPrefix("/"+c, strings.TrimSuffix("/"+to, "/"))
			if !ok || rest != "" && rest[0] != '/' || to == "" && c != "" || !e.matchesKind(o) {
				continue
			}
			was, is := lastOf(from, m.in.Root), lastOf(to, m.in.Root)
			if err := m.moveFromChart(e, o, strings.Trim(from+rest, "/"), was, is); err != nil {
				return err
			}
		}
		m.warnOfLeft(e, from)
	}
	return nil
}

// checkChart returns an error if the tree has no chart at a path.
func (m *mover) checkChart(e Move, to string) error {
	if to == "" || slices.Contains(m.in.Charts, to) {
		return nil
	}
	problem := fmt.Sprintf("to.chart is %q, and there is no such subchart", e.To.Chart)
	if near := suggest.Nearest(m.in.Charts, to); len(near) > 0 {
		problem += fmt.Sprintf("; did you mean %q?", strings.TrimPrefix(near[0], e.Chart+"/"))
	}
	return e.fail("the path is that of names or aliases in dependencies, such as backend/db", "%s", problem)
}

func lastOf(c, root string) string {
	if c == "" || c == "." {
		return root
	}
	return path.Base(c)
}

func (e Move) matchesKind(o *manifest.Object) bool {
	return (e.Kind == "" || e.Kind == o.Kind) && (e.APIVersion == "" || group(e.APIVersion) == group(o.APIVersion))
}

// moveFromChart finds the object of the chart from that o is now: it has the same name, or one with
// the name of the chart replaced.
func (m *mover) moveFromChart(e Move, o *manifest.Object, from, fromName, toName string) error {
	id := m.id(o)
	if was := m.old[id]; was != nil {
		if chartOf(was.Source) == from {
			m.out.Moved = append(m.out.Moved, MovedObject{From: refOf(was, m.in.Namespace), To: refOf(o, m.in.Namespace),
				FromPlace: placeOf(from), ToPlace: placeOf(chartOf(o.Source))})
		}
		return nil
	}
	was := id
	was.name = replaceName(o.Name, toName, fromName)
	before := m.old[was]
	if before == nil || chartOf(before.Source) != from || m.current[was] != nil {
		return nil
	}
	if e.Recreate == nil {
		return e.fail("recreate: true creates objects under their new names and deletes the old ones, false keeps the "+
			"old names", "%s is called %s in %s, and recreate is not set", before, o.Name, placeOf(chartOf(o.Source)))
	}
	if _, taken := m.edges[id]; !taken {
		m.edges[id] = edge{was, e}
	}
	return nil
}

func placeOf(c string) string {
	if c == "" {
		return "the chart itself"
	}
	return "chart " + c
}

// replaceName replaces a part of a name that is between the ends and separators of the name.
func replaceName(name, from, to string) string {
	parts := strings.Split("-"+name+"-", "-"+from+"-")
	return strings.Trim(strings.Join(parts, "-"+to+"-"), "-")
}

// warnOfLeft warns of objects of a chart that have no successor.
func (m *mover) warnOfLeft(e Move, from string) {
	to := map[movedID]bool{}
	for _, edge := range m.edges {
		to[edge.from] = true
	}
	if len(m.in.Old) == 0 {
		return
	}
	for _, o := range m.in.Old[0] {
		id := m.id(o)
		left := o.Name != "" && m.current[id] == nil && !to[id]
		if left && from != "" && isBelow(chartOf(o.Source), from) && e.matchesKind(o) &&
			!slices.Contains(m.out.Definitions, o) {
			m.warn("%s: chart %s has no successor of %s, which is deleted", e.Field, e.To.Chart, o)
		}
	}
}

// readEdges adds the entries with names.
func (m *mover) readEdges() error {
	sources := map[movedID]Move{}
	for _, e := range m.in.Moves {
		if !e.IsName() {
			continue
		}
		from := movedID{group(e.APIVersion), e.Kind, cmp.Or(e.From.Namespace, m.in.Namespace), e.From.Name}
		to := movedID{from.group, e.Kind, cmp.Or(e.To.Namespace, m.in.Namespace), e.To.Name}
		if e.APIVersion == "" {
			from.group = m.groups[e.Kind]
			to.group = from.group
		}
		if from == to {
			continue // the names differ for other values
		}
		if other, twice := m.edges[to]; twice && other.from != from {
			return e.fail(oneName, "%s/%s has moved from %s already, by %s", to.kind, to.name, other.from.name,
				other.move.Field)
		}
		if other, twice := sources[from]; twice && other.To != e.To {
			return e.fail(oneName, "%s/%s has moved to %s already, by %s", from.kind, from.name, other.To.Name, other.Field)
		}
		sources[from], m.edges[to] = e, edge{from, e}
	}
	return nil
}

// moveNames pairs the rendered objects with those of earlier revisions.
func (m *mover) moveNames() error {
	for _, o := range m.rendered {
		to := m.id(o)
		if _, moves := m.edges[to]; !moves || !m.mayMove(o, m.edges[to].move) {
			continue
		}
		if err := m.moveName(o, to); err != nil {
			return err
		}
	}
	return m.checkTargets()
}

// mayMove reports whether the chart of an entry, or one below it, has rendered o.
func (m *mover) mayMove(o *manifest.Object, e Move) bool {
	return o.Source == "" || isBelow(chartOf(o.Source), e.Chart)
}

func (m *mover) moveName(o *manifest.Object, to movedID) error {
	recreate, deleteFirst, e := false, false, m.edges[to].move
	seen := map[movedID]bool{to: true}
	for id := to; ; {
		next, ok := m.edges[id]
		if !ok {
			return nil // no revision has an old name
		}
		if seen[next.from] {
			return e.fail("two objects cannot exchange their names: give one of them a third name",
				"the entries for %s lead back to it", o)
		}
		if m.current[next.from] != nil {
			return next.move.fail("remove the entry, or the template of the old object",
				"the chart renders both %s and %s/%s, which it has moved from", o, next.from.kind, next.from.name)
		}
		id = next.from
		seen[id] = true
		recreate = recreate || *next.move.Recreate
		deleteFirst = deleteFirst || next.move.Order == chart.MoveDeleteFirst
		if was := m.old[id]; was != nil && m.base[to] == nil {
			return m.pair(was, o, e, recreate, deleteFirst)
		}
	}
}

// pair adds a moved object.
func (m *mover) pair(was, o *manifest.Object, e Move, recreate, deleteFirst bool) error {
	m.moved[m.id(was)] = true
	moved := MovedObject{From: refOf(was, m.in.Namespace), To: refOf(o, m.in.Namespace), Recreate: recreate}
	moved.From.APIVersion = moved.To.APIVersion
	if !recreate {
		m.keep = append(m.keep, rename{object: o, kind: o.Kind, group: group(o.APIVersion), to: moved.From, from: moved.To})
		m.out.Moved = append(m.out.Moved, moved)
		return nil
	}
	after, err := o.Map()
	if err != nil {
		return err
	}
	if why := losesData(o.Kind, after); why != "" && !Replaceable(Step{Item: Item{New: after}}) {
		return e.fail("recreate: false keeps the object under its old name; the annotation "+replaceAnnotation+
			`: "true" on the object accepts the loss`, "recreating %s as %s loses data: %s", was, o, why)
	}
	if deleteFirst {
		moved.DeleteFirst = "as " + e.Field + " says"
	} else if e.Order == "" {
		m.exclusive = append(m.exclusive, exclusive{len(m.out.Moved), was, m.id(o)})
	}
	m.out.Moved = append(m.out.Moved, moved)
	return nil
}

// exclusive is a recreated object that may exclude the old one.
type exclusive struct {
	index int // in Moved
	was   *manifest.Object
	is    movedID
}

// findExclusive finds the recreated objects that cannot exist beside the old ones. It needs the objects
// with the names that stay.
func (m *mover) findExclusive() error {
	if len(m.exclusive) == 0 {
		return nil
	}
	flat, err := manifest.Flatten(m.out.Objects)
	if err != nil {
		return err
	}
	final := make(map[movedID]*manifest.Object, len(flat))
	for _, o := range flat {
		final[m.id(o)] = o
	}
	for _, x := range m.exclusive {
		before, err := x.was.Map()
		if err != nil {
			return err
		}
		after, err := final[x.is].Map()
		if err != nil {
			return err
		}
		m.out.Moved[x.index].DeleteFirst = exclusion(before, after, m.isShared)
	}
	return nil
}

// checkTargets finds objects that would be deleted because the chart does not render what they have
// moved to.
func (m *mover) checkTargets() error {
	for to, e := range m.edges {
		was := m.base[e.from]
		if was == nil || m.current[to] != nil || m.current[e.from] != nil || m.moved[e.from] || m.hasEdgeFrom(to) {
			continue
		}
		var names []string
		for _, o := range m.rendered {
			if id := m.id(o); id.kind == to.kind && m.old[id] == nil {
				names = append(names, o.Name)
			}
		}
		if near := suggest.Nearest(names, to.name); len(near) > 0 {
			return e.move.fail("to.name is the name as the chart renders it for the release",
				"the chart renders no %s/%s, and %s would be deleted; did you mean %q?", to.kind, to.name, was, near[0])
		}
		m.warn("%s: the chart renders no %s/%s, and %s is deleted", e.move.Field, to.kind, to.name, was)
	}
	slices.Sort(m.out.Warnings)
	return nil
}

// CheckMoves returns what is wrong with the entries of "moved" for a new release: those that
// contradict the objects, and those whose new object the chart does not render. The latter may be right
// for other values.
func CheckMoves(in MoveInput) (unrendered []*MovedError, err error) {
	in.Old = nil
	if _, err := ApplyMoves(in); err != nil {
		return nil, err
	}
	m := &mover{in: in, out: &Moves{}}
	if err := cmp.Or(m.index(), m.readEdges()); err != nil {
		return nil, err
	}
	for to, e := range m.edges {
		if m.current[to] != nil || m.hasEdgeFrom(to) {
			continue
		}
		var names []string
		for _, o := range m.rendered {
			if o.Kind == to.kind {
				names = append(names, o.Name)
			}
		}
		problem := fmt.Sprintf("the chart renders no %s/%s", to.kind, to.name)
		if near := suggest.Nearest(names, to.name); len(near) > 0 {
			problem += fmt.Sprintf("; did you mean %q?", near[0])
		}
		unrendered = append(unrendered, &MovedError{Field: e.move.Field, Problem: problem})
	}
	slices.SortFunc(unrendered, func(a, b *MovedError) int { return strings.Compare(a.Error(), b.Error()) })
	return unrendered, nil
}

// hasEdgeFrom reports whether an object has moved on from a name.
func (m *mover) hasEdgeFrom(id movedID) bool {
	for _, e := range m.edges {
		if e.from == id {
			return true
		}
	}
	return false
}

// losesData returns what is lost if an object of a kind is deleted and created under another name,
// or "".
func losesData(kind string, object map[string]any) string {
	switch kind {
	case "PersistentVolumeClaim", "PersistentVolume":
		return "the volume stays with the old name or is deleted"
	case "Namespace":
		return "everything in the namespace is deleted"
	case crdKind:
		return "all objects of the kind are deleted"
	case "StatefulSet":
		spec, _ := object["spec"].(map[string]any)
		if claims, _ := spec["volumeClaimTemplates"].([]any); len(claims) > 0 {
			return "the claims of its pods stay with the old name"
		}
	}
	return ""
}

// isShared reports whether several pods on different nodes can use a claim of the release.
func (m *mover) isShared(claim string) bool {
	for _, all := range []map[movedID]*manifest.Object{m.current, m.old} {
		for id, o := range all {
			if id.kind != "PersistentVolumeClaim" || id.name != claim {
				continue
			}
			object, err := o.Map()
			if err != nil {
				return false
			}
			spec, _ := object["spec"].(map[string]any)
			modes, _ := spec["accessModes"].([]any)
			return slices.Contains(modes, any("ReadWriteMany")) || slices.Contains(modes, any("ReadOnlyMany"))
		}
	}
	return false
}
