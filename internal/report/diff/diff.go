// SPDX-License-Identifier: Apache-2.0

// Package diff prints the changes of a release's objects: as text with changed lines, in the
// formats of the helm-diff plugin, or as a document with all details of each object.
//
//	d := diff.Of(change, options)
//	err := diff.Write(ctx, streams, diff.Text, d, options)
//
// It does not read the cluster.
package diff

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// Diff is a change of a release, or the difference of two manifests.
type Diff struct {
	Release, Namespace string
	// From and To are revisions, 0 if there is none: for a release that does not exist yet, or a
	// chart that is not installed.
	From, To int
	// Stored compares rendered manifests. Otherwise Before is the live object.
	Stored bool
	// Title begins the summary; "" means "Plan".
	Title string
	// NoSummary omits the summary.
	NoSummary bool
	// Objects are in the order of the changes.
	Objects []Object
	// Hooks are compared as manifests: they are not objects of the release.
	Hooks []Object

	other string // name of the other release, if two releases are compared
	names *names // what is called differently in the two, nil to report it
}

// Object is the change of one object.
type Object struct {
	plan.Ref
	Source string // template, "" if unknown
	Action plan.Action
	Reason string // why it is kept or replaced, or ""
	// Existed says that an object which is added existed before it became the release's.
	Existed bool
	// Drifted reports whether another client has changed fields that the release sets, and Drift
	// lists these fields.
	Drifted bool
	Drift   []plan.Difference
	// Conflicts are the fields that other managers have set to other values.
	Conflicts []plan.Conflict
	// Patched is what patches have changed in the rendered object.
	Patched []action.Patched
	// Renamed is the object's new name, or nil if it keeps its name.
	Renamed *plan.Ref
	// Moved says what the object was called or is called now, by "moved" in Chart.yaml, or is nil.
	Moved *plan.MovedObject
	// Definition is set for an object in crds/.
	Definition bool
	// Note is an additional comment, or "".
	Note string
	// Before and After are the old and new object, nil if it does not exist. They are read-only.
	Before, After map[string]any
	// RenderedBefore and RenderedAfter are the rendered manifests of Before and After, nil if
	// unknown.
	RenderedBefore, RenderedAfter *manifest.Object
}

// Options configure the comparison and the output. The zero value is the default.
type Options struct {
	// Context is the number of unchanged lines around changes: 0 means 3; see [NoContext] and
	// [Whole].
	Context int
	// ShowUnchanged lists unchanged objects too.
	ShowUnchanged bool
	// ShowSecrets prints the values of Secrets. By default they are redacted, but changes are still
	// reported. DecodeSecrets prints them decoded.
	ShowSecrets, DecodeSecrets bool
	// Normalize compares manifests by content rather than as text.
	Normalize bool
	// StripCR removes trailing carriage returns before comparing lines.
	StripCR bool
	// SuppressKinds are kinds whose contents are not printed.
	SuppressKinds []string
	// SuppressLines omits lines that match one of these expressions.
	SuppressLines []*regexp.Regexp
	// Renames is the largest fraction of differing lines at which a deleted and a created object of
	// the same kind are treated as renamed. 0 disables it.
	Renames float64
	// IncludeTests compares test hooks too, NoHooks no hooks.
	IncludeTests, NoHooks bool
	// Names reports differences between two releases that consist of their names only. By default
	// they are omitted.
	Names bool
	// Columns is the width of the terminal on which the output is shown, if it is not written to the
	// terminal itself. 0 means the width of the output.
	Columns int
	// Refused has the immutable fields that the API server refuses to change, by the names of their
	// objects as [kube.ObjectName] formats them. Unvalidated is set if it has not been asked. Both
	// count for [WriteStat] only.
	Refused     map[string][]string
	Unvalidated bool
	// CRDNote is the Note of CRDs in crds/.
	CRDNote string
	// Template is the text of the template for the format [Template]. "" is the same as [JSON].
	Template string
}

// Special values of Options.Context.
const (
	NoContext = -1
	Whole     = -2
)

const defaultContext = 3

// contextLines returns the number of context lines for an object with the given number of lines.
func (o Options) contextLines(lines int) int {
	switch o.Context {
	case 0:
		return defaultContext
	case NoContext:
		return 0
	case Whole:
		return lines
	}
	return o.Context
}

// Of compares the objects of a change.
func Of(c *action.Change, o Options) Diff {
	d := Diff{Release: c.To.Name, Namespace: c.To.Namespace, To: c.To.Revision, Stored: c.Stored}
	if c.From != nil {
		d.From = c.From.Revision
	}
	if c.To.Info.RollbackRevision > 0 {
		d.Title = fmt.Sprintf("Plan of the rollback to revision %d", c.To.Info.RollbackRevision)
	}
	if c.CRDs != nil {
		d.Objects = objects(c.CRDs.Steps)
		for i := range d.Objects {
			d.Objects[i].Note, d.Objects[i].Definition = o.CRDNote, true
		}
	}
	if c.Plan != nil {
		d.Objects = append(d.Objects, objects(c.Plan.Steps)...)
	}
	if !o.NoHooks {
		for _, h := range objects(c.Hooks) {
			if o.IncludeTests || !isTest(h) {
				d.Hooks = append(d.Hooks, h)
			}
		}
	}
	d.setPatched(c.Patched)
	if c.From != nil && (c.From.Name != c.To.Name || c.From.Namespace != c.To.Namespace) {
		d.betweenReleases(c.From, c.To, o)
	}
	return d.refine(o)
}

// setPatched sets what patches have changed in the objects.
func (d Diff) setPatched(all []action.Patched) {
	for _, list := range [][]Object{d.Objects, d.Hooks} {
		for i, o := range list {
			for _, p := range all {
				if p.Kind == o.Kind && p.Name == o.Name && (p.Namespace == "" || p.Namespace == o.Namespace) {
					list[i].Patched = append(list[i].Patched, p)
				}
			}
		}
	}
}

// refine returns d with the text differences and renamed objects that o requests.
func (d Diff) refine(o Options) Diff {
	for _, list := range [][]Object{d.Objects, d.Hooks} {
		for i := range list {
			switch {
			case list[i].Action == plan.Unchanged && o.textDiffers(d, list[i]):
				list[i].Action = plan.Update
			case list[i].Action == plan.Update && d.names != nil && !o.linesDiffer(d, list[i]):
				list[i].Action = plan.Unchanged
			}
		}
	}
	if o.Renames > 0 {
		d.Objects = o.mergeRenamed(d, d.Objects)
	}
	return d
}

// objects converts the steps of a plan.
func objects(steps []plan.Step) []Object {
	out := make([]Object, 0, len(steps))
	for _, s := range steps {
		o := Object{
			Ref: s.Ref, Source: s.Source, Action: s.Action, Reason: s.Reason, Existed: s.Existed,
			Drifted: s.Drifted, Conflicts: s.Conflicts, Moved: s.Moved, Before: s.Live, After: s.After, RenderedBefore: s.Former,
		}
		if s.Action != plan.Delete {
			o.RenderedAfter = s.Object
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

// Changes reports whether anything would be written or run differently.
func (d Diff) Changes() bool { return d.count().changes() }

// isOnlyMoved reports whether the change is that the object has another name in the chart, or is of another
// chart or directory, and nothing else.
func (o Object) isOnlyMoved() bool {
	return o.Action == plan.Unchanged && o.Moved != nil && !o.Moved.Known
}

// counts is the number of objects for each action.
type counts struct {
	Create    int `json:"create"`
	Update    int `json:"update"`
	Replace   int `json:"replace"`
	Delete    int `json:"delete"`
	Keep      int `json:"keep"`
	Unchanged int `json:"unchanged"`
	Hooks     int `json:"hooks"` // changed hooks
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
		if changes(h) {
			c.Hooks++
		}
	}
	return c
}

func changes(o Object) bool { return o.Action != plan.Unchanged && o.Action != plan.Keep }

func (c counts) changes() bool { return c.Create+c.Update+c.Replace+c.Delete+c.Hooks > 0 }

// Format is an output format of helm-diff. The zero value is [Text].
type Format string

// The formats.
const (
	Text       Format = "diff"       // changed lines, object by object
	Simple     Format = "simple"     // one line for each object
	JSON       Format = "json"       // array with the objects' names
	Template   Format = "template"   // Options.Template executed with the same array
	Dyff       Format = "dyff"       // changed fields, for people
	Structured Format = "structured" // changed fields, as JSON
)

// Formats returns all formats, the default first.
func Formats() []Format { return []Format{Text, Simple, JSON, Template, Dyff, Structured} }

// String implements pflag.Value.
func (f *Format) String() string {
	if *f == "" {
		return string(Text)
	}
	return string(*f)
}

// Set implements pflag.Value.
func (f *Format) Set(s string) error {
	for _, known := range Formats() {
		if s == string(known) {
			*f = known
			return nil
		}
	}
	return errors.New("must be one of diff, simple, json, template, dyff and structured " +
		"(-o json and -o yaml are the document)")
}

// Type implements pflag.Value.
func (f *Format) Type() string { return "format" }

// Write prints d to s.Out. It returns ctx.Err() if ctx is done.
func Write(ctx context.Context, s term.Streams, f Format, d Diff, o Options) error {
	switch f {
	case Simple:
		return d.simple(s, o)
	case JSON, Template:
		return d.writeTemplate(s.Out, f, o)
	case Dyff:
		return d.writeDyff(ctx, s, o)
	case Structured:
		return d.structured(s.Out, o)
	}
	return d.text(s.Out, s.Style(s.Out), o)
}

// WriteDocument prints all details of d to s.Out, in the format f, JSON or YAML. Fields of the
// document are never removed.
func WriteDocument(s term.Streams, f output.Format, d Diff, o Options) error {
	return f.Write(s.Out, d.document(o), nil)
}
