// SPDX-License-Identifier: Apache-2.0

// Package report prints a release for people and for machines: what install,
// status and get show of it.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// timeLayout is how people read times of a release.
const timeLayout = time.ANSIC

// View says what of a release is shown.
type View struct {
	// Manifest shows hooks and manifest too, as a dry run does.
	Manifest bool
	// Values, where not nil, are the values in force, which are shown with the user's.
	Values map[string]any
	// HideNotes leaves the notes out.
	HideNotes bool
	// NoDescription leaves the description out.
	NoDescription bool
	// Resources are the live objects as [Resources] prints them, "" for none.
	Resources string
	// WithoutChart leaves the chart out of JSON and YAML.
	WithoutChart bool
}

// Write prints rel to s.Out in the given format.
func (v View) Write(s term.Streams, f output.Format, rel *release.Release) error {
	var value any = rel
	if f != output.Table && v.WithoutChart {
		bare := rel.Clone()
		bare.SetChart(nil)
		value = bare
	}
	return f.Write(s.Out, value, func(w io.Writer) error { return v.table(w, s.Style(w), rel) })
}

func (v View) table(w io.Writer, st term.Style, rel *release.Release) error {
	// Colours are ours; what the chart and the record say is untrusted.
	safe := func(text string) string { return text }
	if term.IsTerminal(w) {
		safe = term.Safe
	}
	var b strings.Builder
	fmt.Fprintf(&b, "NAME: %s\n", safe(rel.Name))
	if !rel.Info.LastDeployed.IsZero() {
		fmt.Fprintf(&b, "LAST DEPLOYED: %s\n", Time(rel.Info.LastDeployed))
	}
	fmt.Fprintf(&b, "NAMESPACE: %s\n", safe(rel.Namespace))
	fmt.Fprintf(&b, "STATUS: %s\n", Status(st, release.Status(safe(string(rel.Info.Status)))))
	fmt.Fprintf(&b, "REVISION: %d\n", rel.Revision)
	if !v.NoDescription {
		fmt.Fprintf(&b, "DESCRIPTION: %s\n", safe(rel.Info.Description))
	}
	if v.Resources != "" {
		fmt.Fprintf(&b, "RESOURCES:\n%s\n", v.Resources)
	}
	Tests(&b, rel, safe)
	if v.Values != nil {
		if err := v.values(&b, w, rel); err != nil {
			return err
		}
	}
	if v.Manifest {
		b.WriteString("HOOKS:\n")
		for _, h := range rel.Hooks {
			fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", safe(h.Path), safe(h.Manifest))
		}
		fmt.Fprintf(&b, "MANIFEST:\n%s\n", safe(rel.Manifest))
	}
	if rel.Info.Notes != "" && !v.HideNotes {
		fmt.Fprintf(&b, "NOTES:\n%s\n", safe(strings.TrimRight(rel.Info.Notes, "\n")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// values writes the user's values, and those in force.
func (v View) values(b *strings.Builder, w io.Writer, rel *release.Release) error {
	user := rel.Config
	if user == nil {
		user = map[string]any{}
	}
	for _, part := range []struct {
		title  string
		values map[string]any
	}{{"USER-SUPPLIED VALUES", user}, {"COMPUTED VALUES", v.Values}} {
		text, err := output.YAMLFor(w, part.values)
		if err != nil {
			return fmt.Errorf("write values: %w", err)
		}
		fmt.Fprintf(b, "%s:\n%s\n", part.title, text)
	}
	return nil
}

// Tests writes how the release's test hooks ran last; safe makes text printable.
func Tests(b *strings.Builder, rel *release.Release, safe func(string) string) {
	if !slices.ContainsFunc(rel.Hooks, func(h *release.Hook) bool { return h.On(release.Test) }) {
		b.WriteString("TEST SUITE: None\n")
		return
	}
	for _, h := range rel.Hooks {
		if !h.On(release.Test) || h.LastRun.StartedAt.IsZero() {
			continue
		}
		fmt.Fprintf(b, "TEST SUITE:     %s\nLast Started:   %s\nLast Completed: %s\nPhase:          %s\n", safe(h.Name),
			Time(h.LastRun.StartedAt), Time(h.LastRun.CompletedAt), safe(string(h.LastRun.Phase)))
	}
}

// Status is a status in its colour.
func Status(st term.Style, s release.Status) string {
	switch {
	case s == release.Deployed:
		return st.Green(string(s))
	case s == release.Failed:
		return st.Red(string(s))
	case s.Pending() || s == release.Uninstalling:
		return st.Yellow(string(s))
	}
	return string(s)
}

// HideSecrets replaces the Secrets in a release's manifest and hooks by a line
// that says so.
func HideSecrets(rel *release.Release) error {
	const hidden = "# HIDDEN: The Secret output has been suppressed"
	objs, err := manifest.ParseManifest(rel.Manifest)
	if err != nil {
		return fmt.Errorf("hide Secrets: %w", err)
	}
	for _, o := range objs {
		if secret(o) {
			o.Raw = hidden
		}
	}
	rel.Manifest = manifest.Format(objs)
	hooks := make([]*release.Hook, len(rel.Hooks))
	for i, h := range rel.Hooks {
		if h.Kind == "Secret" || h.Kind == "SecretList" || h.Kind == "List" {
			shown := *h
			shown.Manifest = hidden
			h = &shown
		}
		hooks[i] = h
	}
	rel.Hooks = hooks
	return nil
}

// secret reports whether an object is a Secret or a list that holds one.
func secret(o *manifest.Object) bool {
	if o.Kind == "Secret" || o.Kind == "SecretList" {
		return true
	}
	m, err := o.Map()
	if err != nil {
		return false
	}
	items, _ := m["items"].([]any)
	for _, item := range items {
		if obj, _ := item.(map[string]any); obj["kind"] == "Secret" {
			return true
		}
	}
	return false
}

// ChartName is how lists name a chart: name and version in one word.
func ChartName(name, version string) string {
	switch {
	case name == "":
		return "MISSING"
	case version == "":
		return name
	}
	return name + "-" + version
}

// Time is how people read a time of a release.
func Time(t time.Time) string { return t.Local().Format(timeLayout) }
