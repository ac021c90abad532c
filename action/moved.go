// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// movedNames renders the names in "moved" of the charts of a tree, which may be templates, as
// templates of the chart that has them.
type movedNames struct {
	moves []plan.Move
	// files are the templates of a name, by the names of their output.
	files map[string]*string
	// charts are the templates of each chart.
	charts map[string][]*chart.File
}

// newMovedNames returns the names of a tree, or nil if it has none.
func newMovedNames(root *chart.Chart) *movedNames {
	moves := plan.MovesOf(root)
	if len(moves) == 0 {
		return nil
	}
	n := &movedNames{moves: moves, files: map[string]*string{}, charts: map[string][]*chart.File{}}
	for i := range moves {
		m := &n.moves[i]
		for field, text := range map[string]*string{
			"from.name": &m.From.Name, "to.name": &m.To.Name,
			"from.namespace": &m.From.Namespace, "to.namespace": &m.To.Namespace,
		} {
			if !strings.Contains(*text, "{{") {
				continue
			}
			name := m.Field + "." + field // errors of the template begin with it
			dir := path.Dir(name)
			n.files[name] = text
			n.charts[dir] = append(n.charts[dir], &chart.File{Name: strings.TrimPrefix(name, dir+"/"), Data: []byte(*text)})
		}
	}
	return n
}

// addTo returns root with the names as templates.
func (n *movedNames) addTo(root *chart.Chart) *chart.Chart {
	if n == nil || len(n.files) == 0 {
		return root
	}
	out := root.Shallow()
	out.Templates = append(slices.Clone(root.Templates), n.charts[root.FullPath()]...)
	subs := make([]*chart.Chart, len(root.Dependencies()))
	for i, sub := range root.Dependencies() {
		subs[i] = n.addTo(sub)
	}
	out.SetDependencies(subs...)
	return out
}

// isName reports whether err is of the template of a name.
func (n *movedNames) isName(err error) bool {
	failed, ok := errors.AsType[*engine.Error](err)
	if n == nil || !ok {
		return false
	}
	for name := range n.files {
		if strings.Contains(failed.Error(), name) {
			return true
		}
	}
	return false
}

// takeFrom sets the names from the output of the templates, and removes it.
func (n *movedNames) takeFrom(out *engine.Output) {
	if n == nil || len(n.files) == 0 {
		return
	}
	out.Files = slices.DeleteFunc(out.Files, func(f engine.File) bool {
		name, ok := n.files[f.Name]
		if ok {
			*name = strings.TrimSpace(f.Content)
			delete(out.Traces, f.Name)
		}
		return ok
	})
}

// applyMoves sets the objects that have moved, and returns the objects of the event with the names
// that stay.
func (d *deployment) applyMoves(objects []*manifest.Object) ([]*manifest.Object, error) {
	old, err := d.history.objects()
	if err != nil {
		return nil, err
	}
	in := plan.MoveInput{Old: old, Objects: objects, Namespace: d.release.Namespace}
	if d.rendered != nil {
		in.Moves = d.rendered.moves
		in.Charts, in.Root = chartPaths(d.rendered.Chart), d.rendered.Chart.Name()
	}
	if d.restored() && d.held.Payload.Moves != nil {
		moves := d.held.Payload.Moves
		in.Moves, in.Charts, in.Root = moves.Entries, moves.Charts, moves.Root
	}
	if in.Definitions, err = d.definitions(old); err != nil {
		return nil, err
	}
	if d.moves, err = plan.ApplyMoves(in); err != nil {
		return nil, err
	}
	for _, text := range d.moves.Warnings {
		d.config.warn(text)
	}
	plan.MarkKnown(d.moves.Moved, movesOf(d.history.deployed))
	if err := d.reverseMoves(old); err != nil {
		return nil, err
	}
	d.release.Moved = nil
	if len(d.moves.Moved) > 0 {
		if d.release.Moved, err = json.Marshal(d.moves.Moved); err != nil {
			return nil, err
		}
	}
	return d.moves.Objects, nil
}

// definitions returns the definitions in crds/ of the charts if earlier revisions have any among
// their objects, which may have moved there.
func (d *deployment) definitions(old [][]*manifest.Object) ([]*manifest.Object, error) {
	if !slices.ContainsFunc(slices.Concat(old...), isDefinition) {
		return nil, nil
	}
	if d.restored() {
		var out []*manifest.Object
		for _, definition := range d.crds.definitions {
			out = append(out, definition.Object)
		}
		return out, nil
	}
	c := d.chart()
	if c == nil {
		return nil, nil
	}
	return parseCRDs(c)
}

// chart returns the chart of the revision: that which was rendered, or that of the record, which has no
// subcharts. It may be nil.
func (d *deployment) chart() *chart.Chart {
	if d.rendered != nil {
		return d.rendered.Chart
	}
	recorded, err := d.release.Chart()
	if err != nil {
		return nil
	}
	return recorded
}

func isDefinition(o *manifest.Object) bool {
	return o.Kind == "CustomResourceDefinition" && strings.HasPrefix(o.APIVersion, "apiextensions.k8s.io/")
}

// chartPaths returns the paths of the subcharts of a tree, by alias, with those of Chart.yaml that
// are switched off.
func chartPaths(root *chart.Chart) []string {
	var out []string
	var add func(prefix string, c *chart.Chart)
	add = func(prefix string, c *chart.Chart) {
		for _, sub := range c.Dependencies() {
			out = append(out, path.Join(prefix, sub.Name()))
			add(path.Join(prefix, sub.Name()), sub)
		}
		if c.Metadata == nil {
			return
		}
		for _, dep := range c.Metadata.Dependencies {
			if dep != nil {
				out = append(out, path.Join(prefix, cmp.Or(dep.Alias, dep.Name)))
			}
		}
	}
	add("", root)
	return out
}

// movesOf returns what the record of a revision says about moved objects; none if it cannot be read.
func movesOf(rel *release.Release) []plan.MovedObject {
	var out []plan.MovedObject
	if rel == nil || rel.Moved == nil || json.Unmarshal(rel.Moved, &out) != nil {
		return nil
	}
	return out
}

// movesSince returns what the records of the revisions after one say about moved objects: from what they
// were called then to what they are called now. It skips records that cannot be read.
func (h *history) movesSince(ctx context.Context, records Storage, revision int) []plan.MovedObject {
	var out []plan.MovedObject
	for _, r := range h.revisions {
		if r.Revision <= revision || r.Unsupported() != nil {
			continue
		}
		rel, err := records.Get(ctx, h.name, r.Revision)
		if err != nil {
			continue
		}
		for _, m := range movesOf(rel) {
			i := slices.IndexFunc(out, func(was plan.MovedObject) bool {
				return was.To == m.From && was.Definition == m.Definition
			})
			if i < 0 {
				out = append(out, m)
				continue
			}
			out[i].To, out[i].Recreate = m.To, out[i].Recreate || m.Recreate
			out[i].DeleteFirst = cmp.Or(out[i].DeleteFirst, m.DeleteFirst)
		}
	}
	return out
}

// reverseMoves takes the moves that a rollback undoes back: objects are recreated in the same order, and
// definitions that were in crds/ are kept.
func (d *deployment) reverseMoves(old [][]*manifest.Object) error {
	target, err := manifest.Flatten(d.moves.Objects)
	if err != nil {
		return err
	}
	find := func(objects []*manifest.Object, r plan.Ref) *manifest.Object {
		i := slices.IndexFunc(objects, func(o *manifest.Object) bool {
			at := refOf(o, d.release.Namespace)
			return sameObject(r, at) || sameObject(at, r)
		})
		if i < 0 {
			return nil
		}
		return objects[i]
	}
	for _, m := range d.undone {
		is := find(slices.Concat(old...), m.To)
		if is == nil || find(target, m.To) != nil {
			continue
		}
		switch {
		case m.Definition && !m.IsNowDefinition() && !slices.Contains(d.moves.Definitions, is):
			d.moves.Definitions = append(d.moves.Definitions, is)
		case m.Recreate && m.From != m.To && find(target, m.From) != nil:
		default:
			continue
		}
		m.From, m.To, m.FromPlace, m.ToPlace = m.To, m.From, m.ToPlace, m.FromPlace
		d.moves.Moved = append(d.moves.Moved, m)
	}
	return nil
}

// withoutDefinitions returns the objects of earlier revisions without the definitions that are in
// crds/ now, and the pending deletions without them.
func (d *deployment) withoutDefinitions(old [][]*manifest.Object) ([][]*manifest.Object, []release.PendingDeletion) {
	pending := d.history.pendingDeletions()
	if d.moves == nil || len(d.moves.Definitions) == 0 {
		return old, pending
	}
	kept := map[string]bool{}
	for _, o := range d.moves.Definitions {
		kept[o.Name] = true
	}
	out := make([][]*manifest.Object, len(old))
	for i, objects := range old {
		out[i] = slices.DeleteFunc(slices.Clone(objects), func(o *manifest.Object) bool {
			return isDefinition(o) && kept[o.Name]
		})
	}
	pending = slices.DeleteFunc(pending, func(p release.PendingDeletion) bool {
		return p.Kind == "CustomResourceDefinition" && kept[p.Name]
	})
	return out, pending
}

// markMoved sets what has moved in the steps of the plan, and adds the definitions that are kept.
func (d *deployment) markMoved() {
	if d.moves == nil {
		return
	}
	markMoved(d.plan.Steps, d.moves.Moved)
	for _, o := range d.moves.Definitions {
		object, err := o.Map()
		if err != nil {
			continue // it has been parsed before
		}
		d.plan.Steps = append(d.plan.Steps, plan.Step{
			Item: plan.Item{Ref: plan.Ref{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name}, Source: o.Source,
				Live: object}, // without the namespace that its manifest may name
			Action: plan.Keep, Reason: keptDefinition, After: object, Moved: movedDefinition(d.moves, o)})
	}
}

// markMoved sets what has moved in steps.
func markMoved(steps []plan.Step, moved []plan.MovedObject) {
	same := func(a, b plan.Ref) bool { return sameObject(a, b) || sameObject(b, a) }
	for i := range moved {
		m := &moved[i]
		for j := range steps {
			switch s := &steps[j]; {
			case s.New != nil && (same(m.To, s.Ref) || !m.Recreate && same(m.From, s.Ref)):
				s.Moved = m
			case m.Recreate && s.Action == plan.Delete && same(m.From, s.Ref):
				s.Moved, s.Reason = m, "moved to "+m.To.String()
			}
		}
	}
}

func movedDefinition(moves *plan.Moves, o *manifest.Object) *plan.MovedObject {
	for i, m := range moves.Moved {
		if m.Definition && m.From.Name == o.Name {
			return &moves.Moved[i]
		}
	}
	return nil
}

// deleteMoved deletes the old objects that exclude those of a batch, and waits until they are gone.
func (d *deployment) deleteMoved(ctx context.Context, batch []*manifest.Object) error {
	due := map[string]bool{}
	for _, o := range batch {
		due[o.String()] = true
	}
	var steps []plan.Step
	var gone []*manifest.Object
	for _, s := range d.plan.Steps {
		if !isDeletedFirst(s) || !due[s.Moved.To.String()] {
			continue
		}
		steps = append(steps, s)
		if o, err := pendingObject(release.PendingDeletion(s.Ref)); err == nil {
			gone = append(gone, o)
		}
	}
	if len(steps) == 0 {
		return nil
	}
	d.config.step(fmt.Sprintf("deleting %d objects before those that replace them are created", len(steps)))
	if err := d.config.Cluster.Execute(ctx, d.plan, steps); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeoutOrDefault(d.wait.Timeout))
	defer cancel()
	return d.config.Cluster.WaitGone(ctx, gone, d.owner())
}

// isDeletedFirst reports whether a step deletes an object before the one that it has moved to is
// created.
func isDeletedFirst(s plan.Step) bool {
	return s.Action == plan.Delete && s.Moved != nil && s.Moved.DeleteFirst != ""
}

// awaitMoved waits until the objects are ready whose old objects are deleted next.
func (d *deployment) awaitMoved(ctx context.Context) error {
	wanted := map[string]bool{}
	for _, s := range d.plan.Steps {
		if s.Action == plan.Delete && s.Moved != nil && s.Moved.DeleteFirst == "" {
			wanted[s.Moved.To.String()] = true
		}
	}
	var objects []*manifest.Object
	for _, o := range d.objects {
		if wanted[o.String()] {
			objects = append(objects, o)
		}
	}
	if len(objects) == 0 {
		return nil
	}
	d.config.Progress.Send(progress.Event{Kind: progress.Step,
		Text: "waiting for the objects that have moved, before the old ones are deleted"})
	return d.await(ctx, objects, d.wait.Timeout)
}
