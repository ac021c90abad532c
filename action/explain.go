// SPDX-License-Identifier: Apache-2.0

package action

import (
	"regexp"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/yaml"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan/patch"
)

// An Explanation is the source of each line of the rendered objects, and of the values in it.
// [Template.Run] returns one if its request asks for it.
type Explanation struct {
	chart   *chart.Chart
	origins *values.Origins
	lines   map[document][]Line
	// objects are those that the handlers of the next event are given.
	objects []*manifest.Object
	// patch is the patch that is being applied.
	patch *patch.Patch
}

// Line is the source of a line: a template, or a script or program that has written or changed it.
type Line struct {
	// Pieces are the parts of the line that templates have rendered.
	Pieces []engine.Piece
	// Author is what has written or changed the line after the templates, or nil.
	Author *Author
}

// Author is a script or program that changes objects.
type Author struct {
	// Name is the name of the script's chart, or of the program.
	Name string `json:"name"`
	// File and Line are the place in the script, or zero.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Verb returns what the author has done to the line: "set by", or "changed by patch" for the file of a patch.
func (a *Author) Verb() string {
	if a.Name == string(event.Patches) {
		return "changed by patch"
	}
	return "set by"
}

// document identifies the text of an object.
type document struct{ source, text string }

// Lines returns where each line of an object's text comes from, which is in r.Objects or is the
// manifest of one of r.Hooks. source is its template.
func (e *Explanation) Lines(source, text string) []Line { return e.lines[document{source, text}] }

// Origins returns where a value comes from, or nil if it is not one of a values file, flag, script or
// Chart.yaml.
func (e *Explanation) Origins(v *engine.Value) []values.Origin {
	switch v.Object {
	case "Values":
		if of := e.origins.OfItems(v.Path...); of != nil {
			return of
		}
		for n := len(v.Path); n > 0; n-- { // lists have origins as a whole
			if of := e.origins.Of(v.Path[:n]...); of != nil {
				return of
			}
		}
	case "Chart":
		return e.metadata(v)
	}
	return nil
}

// OfItems reports whether v is a list that merges by its schema. Its origins are then the places of its items,
// of which none takes precedence over another.
func (e *Explanation) OfItems(v *engine.Value) bool {
	return v.Object == "Values" && e.origins.OfItems(v.Path...) != nil
}

// metadata returns the line of Chart.yaml that has a field.
func (e *Explanation) metadata(v *engine.Value) (of []values.Origin) {
	e.chart.Walk(func(c *chart.Chart) {
		f := c.File(chart.FileMetadata)
		if f == nil || c.FullPath() != v.Chart || len(v.Path) == 0 {
			return
		}
		o := values.Origin{File: v.Chart + "/" + chart.FileMetadata}
		root := yaml.Target(yaml.Root(f.Data))
		if root != nil && root.Kind == yaml.MappingNode {
			if i := yaml.Find(root, v.Path[0], strings.EqualFold); i >= 0 {
				o.Line = root.Content[i].Line
			}
		}
		of = []values.Origin{o}
	})
	return of
}

// newExplanation returns an explanation of what r renders. It follows what handlers change.
func newExplanation(r *rendering, req TemplateRequest) (*Explanation, error) {
	origins, err := r.watchValues(req)
	if err != nil {
		return nil, err
	}
	e := &Explanation{chart: r.resolved.Chart, origins: origins, lines: map[document][]Line{}}
	r.events.Watch(func(s event.Step, ev event.Event) {
		updateOrigins(origins, s, ev)
		if !s.Core || s.Owner == string(event.PostRenderer) || s.Owner == string(event.Patches) {
			e.update(s, ev)
		}
	})
	return e, nil
}

// rendered records the lines of the objects that the templates have rendered.
func (e *Explanation) rendered(out *engine.Output, objects []*manifest.Object) {
	texts, offsets := map[string]string{}, map[string]int{}
	lines := map[string][][]engine.Piece{}
	for _, f := range out.Files {
		texts[f.Name] = f.Content
		if t := out.Traces[f.Name]; t != nil {
			lines[f.Name] = t.Lines(f.Content)
		}
	}
	for _, o := range objects {
		text, from := texts[o.Source], offsets[o.Source]
		at := strings.Index(text[from:], o.Raw)
		if at < 0 {
			continue
		}
		at += from
		offsets[o.Source] = at + len(o.Raw)
		e.lines[document{o.Source, o.Raw}] = linesOf(lines[o.Source], text, at, o.Raw)
	}
	e.objects = append(e.objects, objects...)
}

// linesOf returns the lines of raw, which is at the offset at of text; all are the lines of text.
func linesOf(all [][]engine.Piece, text string, at int, raw string) []Line {
	first := strings.Count(text[:at], "\n")
	shift := at - strings.LastIndexByte(text[:at], '\n') - 1 // the first line may begin within one
	var out []Line
	for line := range strings.SplitAfterSeq(raw, "\n") {
		var l Line
		if n := first + len(out); n < len(all) {
			for _, p := range all[n] {
				p.Start, p.End = max(p.Start-shift, 0), min(p.End-shift, len(line))
				if p.Start < p.End {
					l.Pieces = append(l.Pieces, p)
				}
			}
		}
		out, shift = append(out, l), 0
	}
	return out
}

// update records the lines of objects that a handler has made or changed.
func (e *Explanation) update(s event.Step, ev event.Event) {
	data := ev.Data()
	if data.Objects == nil {
		return
	}
	place := newScriptPlace(s, data.Chart)
	if s.Core && s.Owner == string(event.Patches) {
		place = scriptPlace{name: s.Owner, file: e.patch.File, line: e.patch.Line, patch: e.patch}
	}
	for _, o := range data.Objects {
		id := document{o.Source, o.Raw}
		if _, known := e.lines[id]; known {
			continue
		}
		old := find(e.objects, o)
		if old == nil {
			e.lines[id] = changedLines("", nil, o.Raw, place)
			continue
		}
		e.lines[id] = changedLines(old.Raw, e.lines[document{old.Source, old.Raw}], o.Raw, place)
	}
	e.objects = append(e.objects[:0:0], data.Objects...)
}

// find returns the object of the same kind and name, or nil.
func find(objects []*manifest.Object, o *manifest.Object) *manifest.Object {
	for _, old := range objects {
		if old.Kind == o.Kind && old.Name == o.Name && old.Namespace == o.Namespace && old.APIVersion == o.APIVersion {
			return old
		}
	}
	return nil
}

// changedLines returns the sources of the lines of text, into which a handler at place has changed
// old, whose sources are known. Lines that are in old, in the same order, keep their source.
func changedLines(old string, known []Line, text string, place scriptPlace) []Line {
	now := strings.Split(text, "\n")
	from := alignLines(strings.Split(old, "\n"), now)
	out := make([]Line, len(now))
	keyOf := regexp.MustCompile(`^[\s-]*"?([\w./-]+)"?:`)
	for i, line := range now {
		if from[i] >= 0 && from[i] < len(known) {
			out[i] = known[from[i]]
			continue
		}
		a := &Author{Name: place.name, File: place.file, Line: place.line}
		if key := keyOf.FindStringSubmatch(line); key != nil {
			a.Line = place.assignment(key[1:])
		}
		out[i].Author = a
	}
	return out
}

// maxAlign limits the work of alignLines.
const maxAlign = 4_000_000

// alignLines returns the index in old of each line of now that is in a longest common subsequence
// of both, and -1 for the others.
func alignLines(old, now []string) []int {
	out := make([]int, len(now))
	for i := range out {
		out[i] = -1
	}
	first := 0
	for first < len(old) && first < len(now) && old[first] == now[first] {
		out[first] = first
		first++
	}
	n, m := len(old), len(now)
	for n > first && m > first && old[n-1] == now[m-1] {
		n, m = n-1, m-1
		out[m] = n
	}
	rows, cols := n-first, m-first
	if rows*cols == 0 || rows*cols > maxAlign {
		return out
	}
	best := make([]int32, (rows+1)*(cols+1)) // of the lines from there on
	for i := rows - 1; i >= 0; i-- {
		for j := cols - 1; j >= 0; j-- {
			v := max(best[(i+1)*(cols+1)+j], best[i*(cols+1)+j+1])
			if old[first+i] == now[first+j] {
				v = best[(i+1)*(cols+1)+j+1] + 1
			}
			best[i*(cols+1)+j] = v
		}
	}
	for i, j := 0, 0; i < rows && j < cols; {
		switch {
		case old[first+i] == now[first+j]:
			out[first+j] = first + i
			i, j = i+1, j+1
		case best[(i+1)*(cols+1)+j] >= best[i*(cols+1)+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}
