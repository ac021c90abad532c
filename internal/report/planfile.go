// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/planfile"
)

// PlanSummary returns what a plan does in a few words: "2 to create, 1 to update, 1 hook".
func PlanSummary(doc *planfile.Document) string {
	counts := doc.Counts()
	var parts []string
	for _, a := range []plan.Action{plan.Create, plan.Update, plan.Replace, plan.Delete} {
		if n := counts[string(a)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n, a))
		}
	}
	if n := counts["hook"]; n > 0 {
		parts = append(parts, plural.Count(n, "hook"))
	}
	moved := 0
	for _, o := range doc.Objects {
		if isOnlyMoved(o) {
			moved++
		}
	}
	if moved > 0 {
		parts = append(parts, fmt.Sprintf("%d moved", moved))
	}
	if len(parts) == 0 {
		parts = append(parts, "no changes")
	}
	kept := 0
	for _, o := range doc.Objects {
		if o.Action == plan.Keep {
			kept++
		}
	}
	if kept > 0 {
		parts = append(parts, fmt.Sprintf("%d to keep", kept))
	}
	return strings.Join(parts, ", ")
}

// planTitle returns what a plan is for: "Plan to upgrade web in shop to revision 3".
func planTitle(doc *planfile.Document) string {
	text := fmt.Sprintf("Plan to %s %s in namespace %s", plannedVerb(doc), doc.Release.Name, doc.Release.Namespace)
	if doc.Operation != planfile.Uninstall {
		text += fmt.Sprintf(": revision %d", doc.Release.Revision)
		if doc.Release.Chart != "" {
			text += ", " + doc.Release.Chart
		}
	}
	return text
}

func plannedVerb(doc *planfile.Document) string {
	if doc.Operation == planfile.Rollback {
		return fmt.Sprintf("roll back, to revision %d,", doc.Release.Target)
	}
	return doc.Operation
}

// planFacts returns what else there is to know of a plan, as pairs of a name and a value.
func planFacts(doc *planfile.Document) [][2]string {
	base := "no release"
	if doc.Base.Revision > 0 {
		base = fmt.Sprintf("revision %d, %s", doc.Base.Revision, doc.Base.Status)
	}
	facts := [][2]string{{"starts from", base}, {"created", doc.Created.Format(time.RFC3339)}}
	if doc.Expires != nil {
		facts = append(facts, [2]string{"expires", doc.Expires.Format(time.RFC3339)})
	}
	for _, d := range [][2]string{{"chart", doc.Digests.Chart}, {"scripts", doc.Digests.Scripts},
		{"values", doc.Digests.Values}} {
		if d[1] != "" {
			facts = append(facts, [2]string{"digest of " + d[0], d[1]})
		}
	}
	if options := planOptions(doc.Options); options != "" {
		facts = append(facts, [2]string{"options", options})
	}
	switch {
	case doc.Sealed != "":
		facts = append(facts, [2]string{"manifest and values", "sealed"})
	case doc.Redacted:
		facts = append(facts, [2]string{"manifest and values", "left out: apply needs the chart and the values"})
	}
	return facts
}

// planOptions returns the flags that matter to who reviews a plan.
func planOptions(o planfile.Options) string {
	var out []string
	for _, f := range []struct {
		on   bool
		text string
	}{
		{o.Wait, "--wait"}, {o.WaitForJobs, "--wait-for-jobs"}, {o.Atomic, "--rollback-on-failure"},
		{o.CleanupOnFail, "--cleanup-on-fail"}, {o.CreateNamespace, "--create-namespace"}, {o.NoHooks, "--no-hooks"},
		{o.ForceReplace, "--force-replace"}, {o.TakeOwnership, "--take-ownership"}, {o.KeepHistory, "--keep-history"},
		{o.Conflicts != "", "--conflicts=" + o.Conflicts}, {o.CRDs != "", "--crds=" + o.CRDs},
		{o.MaxHistory > 0, fmt.Sprintf("--history-max=%d", o.MaxHistory)},
		{o.ServerSide != nil && *o.ServerSide, "--server-side"},
	} {
		if f.on {
			out = append(out, f.text)
		}
	}
	return strings.Join(out, " ")
}

// planEntry is an object, a definition or a hook of a plan.
type planEntry struct {
	sign, title string
	// fields is the number of fields that an update changes.
	fields int
	// lines are what becomes of it, with "-" and "+" where a value is replaced.
	lines []string
}

// planEntries returns what a plan writes and keeps, in the order of the writes.
func planEntries(doc *planfile.Document) []planEntry {
	var out []planEntry
	hooks := func(before bool) {
		for _, h := range doc.Hooks {
			is := slices.ContainsFunc(h.Events, func(e string) bool { return strings.HasPrefix(e, "pre-") })
			if is == before {
				out = append(out, planEntry{sign: "hook", lines: signed("+", h.Object),
					title: fmt.Sprintf("%s/%s at %s", h.Kind, h.Name, strings.Join(h.Events, ", "))})
			}
		}
	}
	objects := func(list []planfile.Object) {
		for _, o := range list {
			if o.Writes() || o.Action == plan.Keep || isOnlyMoved(o) {
				out = append(out, objectEntry(o, doc.Release.Namespace))
			}
		}
	}
	objects(doc.CRDs)
	hooks(true)
	objects(doc.Objects)
	hooks(false)
	return out
}

// isOnlyMoved reports whether an object is not changed, but is called otherwise by the chart.
func isOnlyMoved(o planfile.Object) bool { return o.Moved != nil && o.Action == plan.Unchanged }

func objectEntry(o planfile.Object, namespace string) planEntry {
	e := planEntry{sign: string(o.Action), title: fmt.Sprintf("%s/%s", o.Kind, o.Name)}
	if o.Namespace != "" && o.Namespace != namespace {
		e.title += " in " + o.Namespace
	}
	if o.Reason != "" {
		e.title += " (" + o.Reason + ")"
	}
	if o.Moved != nil && o.Action != plan.Delete {
		e.title += " (" + o.Moved.String() + ")"
	}
	if isOnlyMoved(o) {
		e.sign = "move"
	}
	if o.Changes != nil || o.After == nil {
		e.fields = len(o.Changes)
		for _, c := range o.Changes {
			if c.Hidden {
				e.lines = append(e.lines, "  "+c.String())
				continue
			}
			if c.From != nil {
				e.lines = append(e.lines, "- "+c.Path+": "+planfile.Value(c.From))
			}
			if c.To != nil {
				e.lines = append(e.lines, "+ "+c.Path+": "+planfile.Value(c.To))
			}
		}
	} else {
		e.lines = signed("+", o.After)
	}
	for _, c := range o.Drift {
		e.lines = append(e.lines, "  changed by another client: "+c.Path)
	}
	for _, c := range o.Conflicts {
		e.lines = append(e.lines, "  "+c)
	}
	return e
}

// signed returns the lines of an object with a sign before each.
func signed(sign string, object map[string]any) []string {
	text, err := manifest.Encode(object)
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = sign + " " + lines[i]
	}
	return lines
}

// PlanText returns a plan for people. All text of the plan is escaped: its file may be from anyone.
func PlanText(doc *planfile.Document, style term.Style) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", style.Bold(term.SafeLine(planTitle(doc))))
	for _, f := range planFacts(doc) {
		fmt.Fprintf(&b, "  %s: %s\n", f[0], term.SafeLine(f[1]))
	}
	for _, e := range planEntries(doc) {
		fmt.Fprintf(&b, "\n%s %s\n", term.SafeLine(e.sign), style.Bold(term.SafeLine(e.title)))
		for _, l := range e.lines {
			switch l = term.SafeLine(l); l[:1] {
			case "+":
				l = style.Green(l)
			case "-":
				l = style.Red(l)
			}
			fmt.Fprintf(&b, "  %s\n", l)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", PlanSummary(doc))
	return b.String()
}

// maxMarkdown is the size of the details in Markdown: GitHub takes descriptions of 65536 characters.
const maxMarkdown = 60_000

// PlanMarkdown returns a plan in Markdown, for the description of a pull request: a table, and the
// details of each object to unfold. Control characters are escaped.
func PlanMarkdown(doc *planfile.Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n**%s**\n\n", markdownText(planTitle(doc)), PlanSummary(doc))
	entries := planEntries(doc)
	if len(entries) > 0 {
		b.WriteString("| | object | fields |\n|---|---|---|\n")
		for _, e := range entries {
			fields := ""
			if e.fields > 0 {
				fields = fmt.Sprint(e.fields)
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", e.sign, markdownText(e.title), fields)
		}
		b.WriteString("\n")
	}
	left := 0
	for _, e := range entries {
		if len(e.lines) == 0 {
			continue
		}
		text := strings.Join(e.lines, "\n")
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		part := fmt.Sprintf("<details><summary>%s %s</summary>\n\n%sdiff\n%s\n%s\n\n</details>\n\n", e.sign,
			markdownText(e.title), fence, text, fence)
		if b.Len()+len(part) > maxMarkdown {
			left++
			continue
		}
		b.WriteString(part)
	}
	if left > 0 {
		fmt.Fprintf(&b, "The details of %d more are in the file of the plan.\n\n", left)
	}
	for _, f := range planFacts(doc) {
		fmt.Fprintf(&b, "- %s: %s\n", f[0], markdownText(f[1]))
	}
	return term.Safe(b.String())
}

// markdownText escapes text of a plan, which may come from anyone, for a line or a cell.
func markdownText(text string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "\n", " ", "`", "\\`", "*", "\\*",
		"[", "\\[", "_", "\\_", "@", "&#64;", "#", "\\#").Replace(text)
}
