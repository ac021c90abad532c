// SPDX-License-Identifier: Apache-2.0

// Package diff shows what becomes of a release's objects: as text with the lines that
// change, in the formats of the helm-diff plugin, and as a document with all that is
// known of each object.
//
//	d := diff.Of(change, options)
//	err := diff.Write(ctx, streams, diff.Text, d, options)
//
// It compares nothing but what it is given, and reads no cluster.
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

// Diff is a change of a release, or what two manifests differ in.
type Diff struct {
	Release, Namespace string
	// From and To are revisions, 0 for what has none: a release that is not
	// there yet, a chart that is not installed.
	From, To int
	// Stored compares manifests as they were rendered. Otherwise Before is what the
	// cluster has.
	Stored bool
	// Title is what the sum at the end is called, "" for "Plan".
	Title string
	// Objects are in the order in which they are changed.
	Objects []Object
	// Hooks are compared as they are written down: they are not objects of the
	// release.
	Hooks []Object
}

// Object is what becomes of one object.
type Object struct {
	plan.Ref
	Source string // the template, "" where not known
	Action plan.Action
	Reason string // why it is kept or replaced, "" for no reason
	// Drifted reports whether another client has changed fields that the release
	// sets, Drift which.
	Drifted bool
	Drift   []plan.Difference
	// Conflicts are the fields that other managers have set to other values.
	Conflicts []plan.Conflict
	// Renamed is what the object is called afterwards, nil for the same name.
	Renamed *plan.Ref
	// Note is one more thing to know, "" for none.
	Note string
	// Before and After are the object as it is and as it will be, nil where it
	// is not there. They are not changed.
	Before, After map[string]any
	// Was and Is are Before and After as they were rendered, nil where that is not
	// known.
	Was, Is *manifest.Object
}

// Options say what is compared and how it is shown. The zero value is the default.
type Options struct {
	// Context is how many lines that stay are shown around those that change: 0 for 3,
	// [NoContext] for none, [Whole] for all.
	Context int
	// ShowUnchanged shows the objects that stay as they are too.
	ShowUnchanged bool
	// ShowSecrets shows what Secrets hold. Otherwise their values appear
	// nowhere; that they change does. DecodeSecrets shows it decoded.
	ShowSecrets, DecodeSecrets bool
	// Normalize compares manifests by what they say, not by their text.
	Normalize bool
	// StripCR compares lines without carriage returns at their ends.
	StripCR bool
	// SuppressKinds are kinds whose contents are not shown.
	SuppressKinds []string
	// SuppressLines leaves the lines out that match one of them.
	SuppressLines []*regexp.Regexp
	// Renames takes two objects of one kind, of which one goes and one comes, for one
	// that is renamed where at most that part of their lines differs. 0 is never.
	Renames float64
	// IncludeTests compares test hooks too, NoHooks no hooks.
	IncludeTests, NoHooks bool
	// CRDNote is said of the definitions of crds/, "" for nothing.
	CRDNote string
	// Template is the text of a template for the format [Template], "" for the one of
	// [JSON].
	Template string
}

// The values of Options.Context that are not numbers of lines.
const (
	NoContext = -1
	Whole     = -2
)

const defaultContext = 3

// around is how many lines are shown around a change to an object with that many.
func (o Options) around(lines int) int {
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

// Of is a change as it is compared with the given options.
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
			d.Objects[i].Note = o.CRDNote
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
	return d.refined(o)
}

// refined is d with the differences of text and the renamed objects that o asks for.
func (d Diff) refined(o Options) Diff {
	for _, list := range [][]Object{d.Objects, d.Hooks} {
		for i := range list {
			if list[i].Action == plan.Unchanged && o.textDiffers(d, list[i]) {
				list[i].Action = plan.Update
			}
		}
	}
	if o.Renames > 0 {
		d.Objects = o.renamed(d, d.Objects)
	}
	return d
}

// objects are the steps of a plan as they are shown.
func objects(steps []plan.Step) []Object {
	out := make([]Object, 0, len(steps))
	for _, s := range steps {
		o := Object{
			Ref: s.Ref, Source: s.Source, Action: s.Action, Reason: s.Reason,
			Drifted: s.Drifted, Conflicts: s.Conflicts, Before: s.Live, After: s.After, Was: s.Former,
		}
		if s.Action != plan.Delete {
			o.Is = s.Object
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

// Changes reports whether anything would be written or run otherwise than before.
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
		if changes(h) {
			c.Hooks++
		}
	}
	return c
}

func changes(o Object) bool { return o.Action != plan.Unchanged && o.Action != plan.Keep }

func (c counts) changes() bool { return c.Create+c.Update+c.Replace+c.Delete+c.Hooks > 0 }

// Format is how a diff is written: the formats of helm-diff. The zero value is [Text].
type Format string

// The formats.
const (
	Text       Format = "diff"       // the lines that change, object by object
	Simple     Format = "simple"     // a line for each object
	JSON       Format = "json"       // an array with the objects' names
	Template   Format = "template"   // what a template makes of the same
	Dyff       Format = "dyff"       // the fields that change, for people
	Structured Format = "structured" // the fields that change, as JSON
)

// Formats are all formats, the default first.
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

// Write prints d to s.Out. It returns ctx.Err() once ctx is done.
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

// WriteDocument prints all that is known of d to s.Out, as JSON or YAML; f is one of
// the two. Fields of the document are only ever added.
func WriteDocument(s term.Streams, f output.Format, d Diff, o Options) error {
	return f.Write(s.Out, d.document(o), nil)
}
