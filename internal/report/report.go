// SPDX-License-Identifier: Apache-2.0

// Package report prints releases and changes of releases: the output of install, upgrade, rollback,
// status and get.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/ui"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// timeLayout is the layout of times in tables.
const timeLayout = time.ANSIC

// View configures the output of a release.
type View struct {
	// Manifest prints hooks and manifest too, as in a dry run.
	Manifest bool
	// Values are the computed values, printed after the user's; nil prints neither.
	Values map[string]any
	// HideNotes omits the notes.
	HideNotes bool
	// NoDescription omits the description.
	NoDescription bool
	// Resources is the text that [WriteStatus] prints for live objects.
	Resources string
	// WithoutChart omits the chart in JSON and YAML.
	WithoutChart bool
	// Now, if not zero, adds how long ago the release was deployed.
	Now time.Time
}

// time formats the time of the deployment.
func (v View) time(t time.Time) string {
	if v.Now.IsZero() {
		return Time(t)
	}
	return Time(t) + " (" + output.Ago(t, v.Now) + ")"
}

// Write prints rel to s.Out in the format f.
func (v View) Write(s term.Streams, f output.Format, rel *release.Release) error {
	return f.Write(s.Out, shown(rel, v.WithoutChart), func(io.Writer) error { return v.table(s, rel) })
}

// shown returns rel as JSON and YAML have it: with the keys of Helm's output only.
func shown(rel *release.Release, withoutChart bool) *release.Release {
	out := rel.Clone()
	out.Info.Completed = time.Time{}
	out.ValueOrigins, out.Lists, out.Patches = nil, nil, nil
	if withoutChart {
		out.SetChart(nil)
	}
	return out
}

func (v View) table(s term.Streams, rel *release.Release) error {
	w, st := s.Out, s.Style(s.Out)
	// Keep helm's own colours, but escape the text of charts and records.
	safe := func(text string) string { return text }
	if term.IsTerminal(w) {
		safe = term.Safe
	}
	var b strings.Builder
	fmt.Fprintf(&b, "NAME: %s\n", safe(rel.Name))
	if !rel.Info.LastDeployed.IsZero() {
		fmt.Fprintf(&b, "LAST DEPLOYED: %s\n", v.time(rel.Info.LastDeployed))
	}
	fmt.Fprintf(&b, "NAMESPACE: %s\n", safe(rel.Namespace))
	fmt.Fprintf(&b, "STATUS: %s\n", Status(st, release.Status(safe(string(rel.Info.Status)))))
	fmt.Fprintf(&b, "REVISION: %d\n", rel.Revision)
	if !v.NoDescription {
		b.WriteString(ui.Screen(s, w, fmt.Sprintf("DESCRIPTION: %s\n", safe(rel.Info.Description))))
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
	_, err := io.WriteString(s.ScreenWriter(w), b.String())
	return err
}

// values writes the user's and the computed values.
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

// Tests writes the last run of the release's test hooks. safe escapes text for the terminal.
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

// Status returns s in its colour.
func Status(st term.Style, s release.Status) string { return StatusText(st, s, string(s)) }

// StatusText returns text, such as a shortened status, in the colour of s.
func StatusText(st term.Style, s release.Status, text string) string {
	switch {
	case s == release.Deployed:
		return st.Green(text)
	case s == release.Failed:
		return st.Red(text)
	case s.Pending() || s == release.Uninstalling:
		return st.Yellow(text)
	}
	return text
}

// HideSecrets replaces the Secrets in a release's manifest and hooks with a comment.
func HideSecrets(rel *release.Release) error {
	const hidden = "# HIDDEN: The Secret output has been suppressed"
	objs, err := manifest.ParseManifest(rel.Manifest)
	if err != nil {
		return fmt.Errorf("hide Secrets: %w", err)
	}
	for _, o := range objs {
		if isSecret(o) {
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

// isSecret reports whether o is a Secret or a list that contains one.
func isSecret(o *manifest.Object) bool {
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

// ChartName returns the chart as it appears in lists: NAME-VERSION.
func ChartName(name, version string) string {
	switch {
	case name == "":
		return "MISSING"
	case version == "":
		return name
	}
	return name + "-" + version
}

// Time formats a time of a release for tables.
func Time(t time.Time) string { return t.Local().Format(timeLayout) }
