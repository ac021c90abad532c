// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"strings"

	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
)

// Diff is a change of a release, or what two manifests differ in.
type Diff struct {
	Release, Namespace string
	// From and To are revisions, 0 for what has none: a release that is not
	// there yet, a chart that is not installed.
	From, To int
	// Stored compares what is written down, and changes nothing: words say what
	// differs, not what will be done.
	Stored bool
	// Title is what the sum at the end is called, "" for "Plan" or "Difference".
	Title string
	// Objects stand in the order in which they are changed.
	Objects []DiffObject
	// Hooks are compared as they are written down: they are no objects of the
	// release.
	Hooks []DiffObject
	// Notes are what else a reader should know, a line each.
	Notes []string
}

// DiffObject is what becomes of one object.
type DiffObject struct {
	plan.Ref
	Source string // the template, "" where not known
	Action plan.Action
	Reason string // why it is kept or replaced, "" for no reason
	// Drifted tells that somebody else has changed fields that the release
	// sets, Drift which.
	Drifted bool
	Drift   []plan.Difference
	// Before and After are the object as it is and as it will be, nil where it
	// is not there. They are not changed.
	Before, After map[string]any
}

// DiffOptions say how a diff is shown.
type DiffOptions struct {
	// Context is how many lines that stay are shown around those that change,
	// 0 for 3, [NoContext] for none.
	Context int
	// ShowUnchanged shows the objects that stay as they are too.
	ShowUnchanged bool
	// ShowSecrets shows what Secrets hold. Otherwise their values appear
	// nowhere; that they change does.
	ShowSecrets bool
}

// NoContext shows only lines that change.
const NoContext = -1

const defaultContext = 3

func (o DiffOptions) context() int {
	switch {
	case o.Context == 0:
		return defaultContext
	case o.Context < 0:
		return 0
	}
	return o.Context
}

// DiffOf is a plan as it is shown.
func DiffOf(p *plan.Plan) []DiffObject {
	out := make([]DiffObject, 0, len(p.Steps))
	for _, s := range p.Steps {
		o := DiffObject{
			Ref: s.Ref, Source: s.Source, Action: s.Action, Reason: s.Reason,
			Drifted: s.Drifted, Before: s.Live, After: s.After,
		}
		if o.After == nil && s.Action != plan.Delete {
			o.After = s.New
		}
		if s.Drifted {
			o.Drift = plan.Drift(s.Item)
		}
		out = append(out, o)
	}
	return out
}

// Changes tells whether anything would be written or run otherwise than before.
func (d Diff) Changes() bool { return d.count().changes() }

// counts is how many objects there are of each action.
type counts struct {
	Create    int `json:"create"`
	Update    int `json:"update"`
	Replace   int `json:"replace"`
	Delete    int `json:"delete"`
	Keep      int `json:"keep"`
	Unchanged int `json:"unchanged"`
	Hooks     int `json:"hooks"` // that change
}

func (d Diff) count() counts {
	var c counts
	for _, o := range d.Objects {
		switch o.Action {
		case plan.Create:
			c.Create++
		case plan.Update:
			c.Update++
		case plan.Replace:
			c.Replace++
		case plan.Delete:
			c.Delete++
		case plan.Keep:
			c.Keep++
		case plan.Unchanged:
			c.Unchanged++
		}
	}
	for _, h := range d.Hooks {
		if h.Action != plan.Unchanged && h.Action != plan.Keep {
			c.Hooks++
		}
	}
	return c
}

func (c counts) changes() bool { return c.Create+c.Update+c.Replace+c.Delete+c.Hooks > 0 }

// WriteDiff prints d to s.Out: for people object by object with the lines that
// change; JSON and YAML as the type diffDocument says.
func WriteDiff(s term.Streams, f output.Format, d Diff, o DiffOptions) error {
	if f != output.Table {
		return f.Write(s.Out, d.document(o), nil)
	}
	return d.text(s.Out, s.Style(s.Out), o)
}

func (d Diff) text(w io.Writer, st term.Style, o DiffOptions) error {
	var b strings.Builder
	t := diffText{b: &b, st: st, o: o, namespace: d.Namespace}
	for _, note := range d.Notes {
		b.WriteString(st.Yellow("Note:") + " " + term.SafeLine(note) + "\n\n")
	}
	t.verbs = planned
	if d.Stored {
		t.verbs = compared
	}
	for _, object := range d.Objects {
		t.object(object)
	}
	c := d.count()
	if c.Hooks > 0 || o.ShowUnchanged && len(d.Hooks) > 0 {
		b.WriteString(st.Bold("Hooks") + "\n\n")
		t.verbs = compared // nobody knows when they run next
		for _, hook := range d.Hooks {
			t.object(hook)
		}
	}
	b.WriteString(st.Bold(c.sentence(d.Stored, d.Title)) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}
