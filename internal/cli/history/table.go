// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
)

// table prints revisions as a table.
type table struct {
	options Options
	streams term.Streams
	now     time.Time
	found   []release.Summary
	changes map[int]*action.RevisionChange
}

// column is a column of the table.
type column struct {
	name string
	cell func(release.Summary) string
	// spare is the order in which a narrow terminal goes without it, 0 for never.
	spare int
}

// columns returns the columns: for programs those of Helm, for people with more.
func (t *table) columns(screen bool) []column {
	all := []column{
		{"REVISION", func(s release.Summary) string { return strconv.Itoa(s.Revision) }, 0},
		{"UPDATED", func(s release.Summary) string { return t.time(s.Updated, screen) }, 0},
		{"STATUS", func(s release.Summary) string { return string(s.Status) }, 0},
		{"CHART", func(s release.Summary) string { return report.ChartName(s.Chart, s.ChartVersion) }, 0},
		{"APP VERSION", func(s release.Summary) string { return s.AppVersion }, 1},
		{"DESCRIPTION", func(s release.Summary) string { return description(s, screen) }, 4},
	}
	if t.options.Rollbacks {
		all = slices.Insert(all, 5, column{"ROLLBACK", rollback, 0})
	}
	took := column{"DURATION", took, 3}
	switch {
	case screen:
		all = slices.Insert(all, 2, took)
		if !t.options.Changes { // else they are below the line
			changes := func(s release.Summary) string { return brief(t.changes[s.Revision]) }
			all = slices.Insert(all, len(all)-1, column{"CHANGES", changes, 2})
		}
	case t.options.Changes:
		all = append(all, took, column{"CHANGES", func(s release.Summary) string {
			return strings.Join(details(t.changes[s.Revision]), "; ")
		}, 0})
	}
	return all
}

// write prints the table.
func (t *table) write() error {
	screen := output.OnScreen(t.streams)
	st := t.streams.Style(t.streams.Out)
	columns := t.columns(screen)
	g := output.Grid{Rows: make([][]string, len(t.found))}
	for _, c := range columns {
		g.Header = append(g.Header, c.name)
		for i, s := range t.found {
			g.Rows[i] = append(g.Rows[i], c.cell(s))
		}
	}
	if !screen {
		return g.Write(t.streams)
	}
	for order := range columns {
		if i := slices.IndexFunc(columns, func(c column) bool { return c.spare == order+1 }); i >= 0 {
			g.Spare = append(g.Spare, i)
		}
	}
	status := slices.Index(g.Header, "STATUS")
	g.Style = func(row, column int, cell string) string {
		if row >= 0 && column == status {
			return report.StatusText(st, t.found[row].Status, cell)
		}
		return st.Header(row, column, cell)
	}
	_, err := io.WriteString(t.streams.ScreenWriter(t.streams.Out), t.withDetails(g.Fit(term.Width(t.streams.Out)), st))
	return err
}

// withDetails adds the changes below the lines of a table with a header, if they are asked for.
func (t *table) withDetails(text string, st term.Style) string {
	if !t.options.Changes {
		return text
	}
	room := term.Width(t.streams.Out) - len(indent)
	var b strings.Builder
	for i, line := range slices.Collect(strings.Lines(text)) {
		b.WriteString(line)
		if i == 0 {
			continue
		}
		for _, d := range details(t.changes[t.found[i-1].Revision]) {
			b.WriteString(indent + st.Dim(term.Fit(term.SafeLine(d), room)) + "\n")
		}
	}
	return b.String()
}

const indent = "          "

// description returns the description of a revision. On a screen that of a failed one has no prefix,
// which repeats the status and leaves no room for the reason: Upgrade "web" failed.
func description(s release.Summary, screen bool) string {
	text := firstLine(s.Description)
	if !screen || s.Status != release.Failed {
		return text
	}
	for _, operation := range []string{"Release", "Upgrade", "Rollback"} {
		text = strings.TrimPrefix(text, fmt.Sprintf("%s %q failed: ", operation, s.Name))
	}
	return text
}

// firstLine returns the first line of a description for the table. A failure has more, such as the
// end of a log, which helm status and the JSON output show.
func firstLine(s string) string {
	line, _, more := strings.Cut(s, "\n")
	if more {
		line += " ..."
	}
	return line
}

// time formats a time as Helm's history does, or relative to now; the zero time is "-".
func (t *table) time(at time.Time, relative bool) string {
	switch {
	case at.IsZero():
		return "-"
	case relative:
		return output.Ago(at, t.now)
	}
	return at.Local().Format(time.ANSIC)
}

func rollback(s release.Summary) string {
	if s.RollbackRevision == 0 {
		return ""
	}
	return strconv.Itoa(s.RollbackRevision)
}

// took returns how long the deployment took, or "-" if the record does not say.
func took(s release.Summary) string {
	d := s.Completed.Sub(s.Updated)
	switch {
	case s.Completed.IsZero() || s.Updated.IsZero() || d < 0:
		return "-"
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return duration.HumanDuration(d)
}

// brief returns what a revision changed in a few words: "chart, 2 values, 1 image, 3 objects".
func brief(c *action.RevisionChange) string {
	if c == nil {
		return ""
	}
	var parts []string
	if c.Chart != nil {
		parts = append(parts, "chart")
	}
	for _, p := range []struct {
		n    int
		name string
	}{
		{len(c.Values), "value"}, {len(c.Images), "image"}, {len(c.Added) + len(c.Changed) + len(c.Removed), "object"},
		{len(c.Hooks), "hook"},
	} {
		if p.n > 0 {
			parts = append(parts, plural.Count(p.n, p.name))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// details returns what a revision changed, a line for each of chart, values, images, objects and
// hooks.
func details(c *action.RevisionChange) []string {
	if c == nil {
		return nil
	}
	var out []string
	add := func(title string, items []string) {
		if len(items) > 0 {
			out = append(out, title+": "+strings.Join(items, ", "))
		}
	}
	add("chart", transitions(c.Chart))
	add("app version", transitions(c.AppVersion))
	add("values", c.Values)
	var images []*action.Transition
	for i := range c.Images {
		images = append(images, &c.Images[i])
	}
	add("images", transitions(images...))
	add("added", c.Added)
	add("changed", c.Changed)
	add("removed", c.Removed)
	add("hooks", c.Hooks)
	if len(out) == 0 {
		return []string{"nothing changed"}
	}
	return out
}

func transitions(all ...*action.Transition) []string {
	var out []string
	for _, t := range all {
		if t != nil {
			out = append(out, cmp.Or(t.From, "none")+" -> "+cmp.Or(t.To, "none"))
		}
	}
	return out
}
