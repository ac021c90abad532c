// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
)

// verbs are how a heading says what becomes of an object.
type verbs func(plan.Action) string

func planned(a plan.Action) string {
	switch a {
	case plan.Create:
		return "will be created"
	case plan.Update:
		return "will be changed"
	case plan.Replace:
		return "will be deleted and created again"
	case plan.Delete:
		return "will be deleted"
	case plan.Keep:
		return "is no longer part of the release and stays"
	}
	return "stays as it is"
}

func compared(a plan.Action) string {
	switch a {
	case plan.Create:
		return "is added"
	case plan.Update, plan.Replace:
		return "is changed"
	case plan.Delete:
		return "is removed"
	case plan.Keep:
		return planned(a)
	}
	return "is the same"
}

// sentence sums a diff up, or says that there is nothing to do.
func (c counts) sentence(stored bool, title string) string {
	if !c.changes() && c.Keep == 0 {
		return "No changes."
	}
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	hooks := "hooks changed"
	if c.Hooks == 1 {
		hooks = "hook changed"
	}
	head, words := "Plan", []string{"to create", "to change", "to replace", "to delete"}
	if stored {
		head, words = "Difference", []string{"added", "changed", "replaced", "removed"}
	}
	add(c.Create, words[0])
	add(c.Update, words[1])
	add(c.Replace, words[2])
	add(c.Delete, words[3])
	add(c.Keep, "kept")
	add(c.Unchanged, "unchanged")
	add(c.Hooks, hooks)
	return cmp.Or(title, head) + ": " + strings.Join(parts, ", ")
}

// diffText prints objects. Nothing that a chart or a cluster says reaches the
// reader's terminal as it is: manifests are strangers' text.
type diffText struct {
	b         *strings.Builder
	st        term.Style
	o         DiffOptions
	namespace string
	verbs     verbs
}

func (t diffText) object(o DiffObject) {
	if o.Action == plan.Unchanged && !t.o.ShowUnchanged {
		return
	}
	t.b.WriteString(t.heading(o) + "\n")
	if o.Reason != "" {
		fmt.Fprintf(t.b, "  %s\n", term.SafeLine(o.Reason))
	}
	t.drift(o)
	if o.Action != plan.Unchanged && o.Action != plan.Keep {
		t.change(o)
	}
	t.b.WriteString("\n")
}

func (t diffText) heading(o DiffObject) string {
	line := o.String() + " (" + o.APIVersion + ")"
	if o.Namespace != "" && o.Namespace != t.namespace {
		line += " in namespace " + o.Namespace
	}
	line += " " + t.verbs(o.Action)
	paint := t.st.Dim
	switch o.Action {
	case plan.Create:
		paint = t.st.Green
	case plan.Update, plan.Replace:
		paint = t.st.Yellow
	case plan.Delete:
		paint = t.st.Red
	}
	line = paint(term.SafeLine(line))
	if o.Source != "" {
		line += t.st.Dim(": " + term.SafeLine(o.Source))
	}
	return line
}

// drift tells what somebody else has changed.
func (t diffText) drift(o DiffObject) {
	if !o.Drifted || t.o.hides(o) && len(o.Drift) == 0 {
		return
	}
	if len(o.Drift) == 0 {
		fmt.Fprintf(t.b, "  %s\n", t.st.Yellow("changed by somebody else since"))
	}
	for _, d := range o.Drift {
		values := term.SafeLine(brief(d.Want)) + " -> " + term.SafeLine(brief(d.Have))
		if (d.Secret || t.o.hides(o)) && !t.o.ShowSecrets {
			values = "(hidden)"
		}
		fmt.Fprintf(t.b, "  %s %s %s\n", t.st.Yellow("changed by somebody else since:"), term.SafeLine(d.Path), values)
	}
}

// brief is a value on one line, short enough to be read there.
func brief(v any) string {
	if v == nil {
		return "(nothing)"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "(unreadable)"
	}
	const enough = 60
	if runes := []rune(string(text)); len(runes) > enough {
		return string(runes[:enough]) + "..."
	}
	return string(text)
}

// change prints the lines that change.
func (t diffText) change(o DiffObject) {
	before, after := t.o.seen(o)
	var x, y []string
	if before != nil {
		x = lines(plan.Text(before))
	}
	if after != nil {
		y = lines(plan.Text(after))
	}
	found := hunks(x, y, t.o.context())
	if len(found) == 0 {
		fmt.Fprintf(t.b, "  %s\n", t.st.Dim("no field changes its value"))
	}
	for _, h := range found {
		if before != nil && after != nil {
			t.b.WriteString(t.st.Cyan("@@ "+term.SafeLine(h.path)+" @@") + "\n")
		}
		for _, l := range h.lines {
			text := term.Safe(l.text)
			switch l.sign {
			case '+':
				text = t.st.Green("+" + text)
			case '-':
				text = t.st.Red("-" + text)
			default:
				text = " " + text
			}
			t.b.WriteString(text + "\n")
		}
	}
}

// lines are the lines of a text without their ends.
func lines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
