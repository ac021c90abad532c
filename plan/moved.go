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
	"github.com/moonhelm/moonhelm/release"
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
	// Known is set if the revision before says so already.
	Known bool `json:"-"`
}

// MarkKnown sets Known of those of moved that the revision before, which says before, says too.
func MarkKnown(moved, before []MovedObject) {
	for i := range moved {
		moved[i].Known = slices.ContainsFunc(before, func(b MovedObject) bool {
			m := moved[i]
			m.Known = b.Known
			return m == b
		})
	}
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
				manifest.Group(moved.To.APIVersion) == manifest.Group(o.APIVersion)
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

type mover struct {
	in  MoveInput
	out *Moves
	// base has the objects of the deployed revision, old those of all, and current the rendered
	// ones without hooks.
	base, old, current map[Ref]*manifest.Object
	rendered           []*manifest.Object // current in order
	groups             map[string]string  // of kinds, for entries without an apiVersion
	edges              map[Ref]edge       // by the new name
	keep               []rename
	exclusive          []exclusive
	moved              map[Ref]bool // old names that have been moved
}

// edge leads from a new name to the old one.
type edge struct {
	from Ref
	move Move
}

func (m *mover) id(o *manifest.Object) Ref {
	return Ref{o.APIVersion, o.Kind, cmp.Or(o.Namespace, m.in.Namespace), o.Name}.Identity()
}

func (m *mover) index() error {
	m.base, m.old = map[Ref]*manifest.Object{}, map[Ref]*manifest.Object{}
	m.current = map[Ref]*manifest.Object{}
	m.edges, m.moved = map[Ref]edge{}, map[Ref]bool{}
	flat, err := manifest.Flatten(m.in.Objects)
	if err != nil {
		return err
	}
	m.groups = map[string]string{}
	for _, o := range slices.Concat(append([][]*manifest.Object{flat}, m.in.Old...)...) {
		if _, known := m.groups[o.Kind]; !known {
			m.groups[o.Kind] = manifest.Group(o.APIVersion)
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
	return o.Annotations[release.HookAnnotation] != "" || o.List != nil && isHook(o.List)
}

func (m *mover) warn(format string, args ...any) {
	m.out.Warnings = append(m.out.Warnings, fmt.Sprintf(format, args...))
}

// isBelow reports whether a chart is the other or one below it.
func isBelow(c, other string) bool {
	return other == "" || c == other || strings.HasPrefix(c, other+"/")
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
			if o.Kind == to.Kind {
				names = append(names, o.Name)
			}
		}
		problem := fmt.Sprintf("the chart renders no %s/%s", to.Kind, to.Name)
		if near := suggest.Nearest(names, to.Name); len(near) > 0 {
			problem += fmt.Sprintf("; did you mean %q?", near[0])
		}
		unrendered = append(unrendered, &MovedError{Field: e.move.Field, Problem: problem})
	}
	slices.SortFunc(unrendered, func(a, b *MovedError) int { return strings.Compare(a.Error(), b.Error()) })
	return unrendered, nil
}
