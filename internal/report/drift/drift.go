// SPDX-License-Identifier: Apache-2.0

// Package drift prints what releases' objects differ in from what was installed: as text, as a
// document, and in the forms of CI systems (JUnit) and Prometheus.
//
//	err := drift.Write(streams, drift.Text, reports, drift.Options{Now: time.Now()})
//
// It does not read the cluster.
package drift

import (
	"errors"
	"io"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
)

// Format is an output format. The zero value is [Text].
type Format string

// The formats.
const (
	Text       Format = "text"
	JSON       Format = "json"
	YAML       Format = "yaml"
	JUnit      Format = "junit"      // a suite for each release, a test for each object
	Prometheus Format = "prometheus" // for the textfile collector or a push gateway
)

// Formats returns all formats, the default first.
func Formats() []Format { return []Format{Text, JSON, YAML, JUnit, Prometheus} }

// String implements pflag.Value.
func (f *Format) String() string {
	if *f == "" {
		return string(Text)
	}
	return string(*f)
}

// Set implements pflag.Value. It accepts "table" too, which is the default of other commands.
func (f *Format) Set(s string) error {
	for _, known := range append(Formats(), Format(output.Table)) {
		if s == string(known) {
			*f = known
			return nil
		}
	}
	return errors.New("must be text, json, yaml, junit or prometheus")
}

// ForPeople reports whether the format is text.
func (f Format) ForPeople() bool { return f == "" || f == Text || f == Format(output.Table) }

// Type implements pflag.Value.
func (f *Format) Type() string { return "format" }

// A Repair is what was done about the drift of a release.
type Repair string

// The repairs. The zero value is none.
const (
	Revision Repair = "revision" // a new revision
	InPlace  Repair = "in-place"
)

// A Report is the drift of a release.
type Report struct {
	action.ReleaseDrift
	// Repaired says that the drift was undone. Revision is then the new revision, if there is one.
	Repaired Repair
	// Planned says that a dry run of this repair has succeeded.
	Planned Repair
}

// open reports whether the release has drift that was not repaired.
func (r Report) open() bool { return r.Repaired == "" && r.Drifted() }

// Open reports whether a release has drift that was not repaired.
func Open(reports []Report) bool {
	for _, r := range reports {
		if r.open() {
			return true
		}
	}
	return false
}

// Options configure the output.
type Options struct {
	// Now is the time of the check.
	Now time.Time
	// Allowed shows the differences that are no drift too, in text. Documents always have them.
	Allowed bool
	// One is set if a single release was asked for.
	One bool
}

// Write prints reports to s.Out.
func Write(s term.Streams, f Format, reports []Report, o Options) error {
	switch f {
	case JSON:
		return output.WriteJSON(s.Out, newDocument(reports))
	case YAML:
		return output.WriteYAML(s.Out, newDocument(reports))
	case JUnit:
		return writeJUnit(s.Out, reports, o)
	case Prometheus:
		_, err := io.WriteString(s.Out, metrics(reports, o))
		return err
	}
	return writeText(s, reports, o)
}

// document is the JSON form. Fields of it are never removed.
type document struct {
	Drifted  bool              `json:"drifted"`
	Releases []releaseDocument `json:"releases"`
}

type releaseDocument struct {
	Name      string           `json:"name"`
	Namespace string           `json:"namespace"`
	Revision  int              `json:"revision"`
	Drifted   bool             `json:"drifted"`
	Repaired  Repair           `json:"repaired,omitempty"`
	Planned   Repair           `json:"wouldRepair,omitempty"` // by a dry run
	Error     string           `json:"error,omitempty"`
	Objects   []objectDocument `json:"objects"` // those that differ
}

type objectDocument struct {
	plan.Ref
	Source   string          `json:"source,omitempty"`
	Drifted  bool            `json:"drifted"`
	Missing  bool            `json:"missing,omitempty"`
	Deleting string          `json:"deletingSince,omitempty"`
	Allowed  string          `json:"allowed,omitempty"` // why it may be missing
	Fields   []fieldDocument `json:"fields,omitempty"`
}

type fieldDocument struct {
	Path      string         `json:"path"`
	Kind      plan.DriftKind `json:"kind"`
	Installed any            `json:"installed,omitempty"` // the value of the release
	Live      any            `json:"live,omitempty"`
	Sensitive bool           `json:"sensitive,omitempty"` // the values are left out
	Manager   *plan.Manager  `json:"manager,omitempty"`   // who has set the live value, if known
	Allowed   string         `json:"allowed,omitempty"`   // why the difference is not drift
}

func newDocument(reports []Report) document {
	d := document{Releases: make([]releaseDocument, 0, len(reports))}
	for _, r := range reports {
		out := releaseDocument{Name: r.Name, Namespace: r.Namespace, Revision: r.Revision, Drifted: r.Drifted(),
			Repaired: r.Repaired, Planned: r.Planned, Objects: []objectDocument{}}
		if r.Err != nil {
			out.Error = r.Err.Error()
		}
		for _, o := range r.Objects {
			if differs(o) {
				out.Objects = append(out.Objects, newObjectDocument(o))
			}
		}
		d.Drifted = d.Drifted || r.open()
		d.Releases = append(d.Releases, out)
	}
	return d
}

// differs reports whether an object has any difference, allowed or not.
func differs(o plan.ObjectDrift) bool { return o.Missing || o.Deleted != "" || len(o.Fields) > 0 }

func newObjectDocument(o plan.ObjectDrift) objectDocument {
	out := objectDocument{Ref: o.Ref, Source: o.Source, Drifted: o.Drifted(), Missing: o.Missing, Deleting: o.Deleted,
		Allowed: o.Allowed}
	for _, f := range o.Fields {
		field := fieldDocument{Path: f.Path, Kind: f.Kind, Allowed: f.Allowed, Sensitive: f.Secret}
		if !f.Secret {
			field.Installed, field.Live = f.Want, f.Have
		}
		if f.Manager.Name != "" {
			field.Manager = &f.Manager
		}
		out.Fields = append(out.Fields, field)
	}
	return out
}
