// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/plan"
)

// text prints helm-diff's heading, comments and changed lines for each changed object. It prints
// nothing if nothing changes and no object moves or leaves the release.
//
// All text from charts and the cluster is escaped, because it is untrusted.
func (d Diff) text(w io.Writer, st term.Style, o Options) error {
	list := d.entries(o)
	moved := slices.ContainsFunc(d.Objects, Object.isOnlyMoved)
	if len(list) == 0 && !o.ShowUnchanged && !moved && len(d.kept()) == 0 {
		return nil
	}
	t := textWriter{st: st, d: d, o: o}
	for _, e := range list {
		t.entry(e)
	}
	for _, list := range [][]Object{d.Objects, d.Hooks} {
		for _, object := range list {
			t.unchanged(object)
		}
	}
	title := d.Title
	if title == "" {
		title = "Plan"
	}
	if !d.NoSummary {
		t.b.WriteString(st.Bold(d.summaryWithKept(title, list)) + "\n")
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

type textWriter struct {
	b  strings.Builder
	st term.Style
	d  Diff
	o  Options
}

// paint returns the colour of the object's change.
func paint(st term.Style, e entry) func(string) string {
	switch e.change {
	case added:
		return st.Green
	case removed:
		return st.Red
	case suppressed:
		return st.Dim
	}
	return st.Yellow
}

// outcome describes the change of an object, in helm-diff's words.
func (e entry) outcome() string {
	switch e.change {
	case added:
		return "has been added:"
	case removed:
		return "has been removed:"
	case suppressed:
		return "has changed, but diff is empty after suppression."
	}
	return "has changed:"
}

func (t *textWriter) entry(e entry) {
	t.b.WriteString(paint(t.st, e)(t.d.heading(e.Ref)+" "+e.outcome()) + "\n")
	if e.source != "" && e.change != suppressed {
		t.b.WriteString("  " + term.SafeLine(e.source) + "\n")
	}
	for _, note := range t.notes(e) {
		t.b.WriteString(t.st.Dim("  # "+term.SafeLine(note)) + "\n")
	}
	if e.sealed != "" {
		t.b.WriteString(t.st.Yellow("+ Changes suppressed on sensitive content of type "+term.SafeLine(e.sealed)) + "\n")
	}
	for _, h := range e.hunks {
		t.hunk(e, h)
	}
	t.b.WriteString("\n")
}

// unchanged prints an object that is kept or unchanged.
func (t *textWriter) unchanged(o Object) {
	switch {
	case o.Action == plan.Keep && o.Definition:
		t.b.WriteString(t.st.Dim(t.d.heading(o.Ref)+" is left alone: "+term.SafeLine(o.Reason)) + "\n\n")
	case o.Action == plan.Keep:
		line := t.d.heading(o.Ref) + " is no longer part of the release and stays: " + term.SafeLine(o.Reason)
		t.b.WriteString(t.st.Dim(line) + "\n\n")
	case o.Action == plan.Unchanged && (t.o.ShowUnchanged || len(o.Conflicts) > 0 || o.isOnlyMoved()):
		t.b.WriteString(t.st.Dim(t.d.heading(o.Ref)+" has not changed.") + "\n")
		notes := t.o.conflictNotes(o, t.o.suppresses(o))
		if o.Moved != nil {
			notes = append(notes, o.Moved.String())
		}
		for _, note := range notes {
			t.b.WriteString(t.st.Dim("  # "+term.SafeLine(note)) + "\n")
		}
		t.b.WriteString("\n")
	}
}

// notes returns comments about an object.
func (t *textWriter) notes(e entry) []string {
	var out []string
	if e.hook {
		out = append(out, strings.TrimSuffix("a hook: "+hookEvents(e.Object), ": "))
	}
	if e.Renamed != nil && e.Renamed.Name != e.Name {
		out = append(out, t.d.renaming(e.Object))
	}
	if e.Action == plan.Replace {
		out = append(out, "will be deleted and created again: "+e.Reason)
	} else if e.Reason != "" {
		out = append(out, e.Reason)
	}
	if e.Moved != nil && e.Action != plan.Delete {
		out = append(out, e.Moved.String())
	}
	if e.Note != "" {
		out = append(out, e.Note)
	}
	out = append(out, patchNotes(e.Object)...)
	out = append(out, t.o.conflictNotes(e.Object, e.sealed != "")...)
	if e.sealed != "" {
		return out
	}
	if len(e.hunks) == 0 && e.change == modified {
		out = append(out, "no field changes its value")
	}
	if e.Drifted && len(e.Drift) == 0 && !t.o.hidesValues(e.Object) {
		out = append(out, "changed by another client")
	}
	for _, f := range e.Drift {
		note := "changed by another client: " + f.Path
		if !t.o.hidesValues(e.Object) {
			note += " is " + shorten(f.Have) + ", the release says " + shorten(f.Want)
		}
		out = append(out, note)
	}
	return out
}

// maxPatchNotes is how many patches of one object are listed.
const maxPatchNotes = 10

// patchNotes returns which fields of an object which patch has changed.
func patchNotes(o Object) []string {
	var out []string
	for _, p := range o.Patched {
		if len(out) == maxPatchNotes {
			return append(out, fmt.Sprintf("and by %d more patches", len(o.Patched)-maxPatchNotes))
		}
		if p.Deleted {
			out = append(out, "deleted by patch "+p.Patch)
			continue
		}
		out = append(out, "changed by patch "+p.Patch+": "+strings.Join(p.Fields, ", "))
	}
	return out
}

// shorten returns a value as a single line of limited length.
func shorten(v any) string {
	if v == nil {
		return "nothing"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "(unreadable)"
	}
	return truncate.Runes(string(text), 60, "...")
}

// hunk prints lines, with dots for omitted ones. If the lines are canonical YAML, it prints the
// paths of the changes too.
func (t *textWriter) hunk(e entry, h hunk) {
	if h.gap {
		line := "..."
		if len(h.paths) > 0 && !t.o.comparesText(t.d, e.Object) {
			line += " " + term.SafeLine(strings.Join(h.paths, ", "))
		}
		t.b.WriteString(t.st.Cyan(line) + "\n")
	}
	for _, l := range h.lines {
		text := string(l.sign) + " " + term.Safe(l.text)
		switch l.sign {
		case '+':
			text = t.st.Green(text)
		case '-':
			text = t.st.Red(text)
		}
		t.b.WriteString(text + "\n")
	}
	if h.tail {
		t.b.WriteString(t.st.Cyan("...") + "\n")
	}
}
