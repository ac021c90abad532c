// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/internal/ui"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/plan"
)

// textWriter prints reports for people.
type textWriter struct {
	b    strings.Builder
	st   term.Style
	o    Options
	ages bool // times as ages: "5m ago"
}

func writeText(s term.Streams, reports []Report, o Options) error {
	w := &textWriter{st: s.Style(s.Out), o: o, ages: output.OnScreen(s)}
	for _, r := range reports {
		w.release(r)
	}
	w.summary(reports)
	_, err := io.WriteString(s.Out, ui.Screen(s, s.Out, w.b.String()))
	return err
}

func (w *textWriter) line(indent int, text string) {
	w.b.WriteString(strings.Repeat("  ", indent) + text + "\n")
}

// release prints a release, unless one of many has nothing to show.
func (w *textWriter) release(r Report) {
	var shown []plan.ObjectDrift
	for _, o := range r.Objects {
		if o.Drifted() || w.o.Allowed && differs(o) {
			shown = append(shown, o)
		}
	}
	if len(shown) == 0 && r.Err == nil && !w.o.One {
		return
	}
	name := w.st.Bold(term.SafeLine(r.Name)) + " in namespace " + term.SafeLine(r.Namespace)
	switch {
	case r.Err != nil:
		failed := "could not be checked: "
		if r.Drifted() {
			failed = "could not be repaired: "
		}
		first, _, _ := strings.Cut(r.Err.Error(), "\n") // the command's error has the rest
		w.line(0, name+": "+w.st.Red(failed+term.SafeLine(first)))
	case r.Drifted():
		w.line(0, fmt.Sprintf("%s, revision %d: %s", name, r.Revision, w.outcome(r)))
	default:
		w.line(0, fmt.Sprintf("%s, revision %d: %s", name, r.Revision, w.st.Green("no drift")))
	}
	for _, o := range shown {
		w.object(r, o)
	}
}

// outcome says how many objects have drifted, and whether that was repaired.
func (w *textWriter) outcome(r Report) string {
	n := 0
	for _, o := range r.Objects {
		if o.Drifted() {
			n++
		}
	}
	switch r.Repaired {
	case Revision:
		return w.st.Green(fmt.Sprintf("the drift of %s was repaired", plural.Count(n, "object")))
	case InPlace:
		return w.st.Green(fmt.Sprintf("the drift of %s was repaired in place", plural.Count(n, "object")))
	}
	if r.Planned != "" {
		return w.st.Yellow(fmt.Sprintf("the drift of %s would be repaired", plural.Count(n, "object")))
	}
	return w.st.Yellow(plural.Count(n, "object") + " drifted")
}

func (w *textWriter) object(r Report, o plan.ObjectDrift) {
	namespace := o.Namespace
	if namespace == r.Namespace {
		namespace = ""
	}
	w.line(1, term.SafeLine(kube.ObjectName(o.Kind, namespace, o.Name)))
	switch {
	case o.Missing:
		w.difference(plan.DriftMissing, "the object does not exist", o.Allowed)
	case o.Deleted != "":
		w.difference(plan.DriftChanged, "the object is being deleted since "+w.time(o.Deleted), o.Allowed)
	}
	for _, f := range o.Fields {
		if f.Allowed == "" || w.o.Allowed {
			w.difference(f.Kind, f.Path+w.values(f)+w.by(f.Manager), f.Allowed)
		}
	}
}

// difference prints a line: its kind, and what differs.
func (w *textWriter) difference(kind plan.DriftKind, text, allowed string) {
	word := fmt.Sprintf("%-8s", kind)
	if allowed != "" {
		w.line(2, w.st.Dim(term.SafeLine(fmt.Sprintf("%-8s", "allowed")+text+": "+allowed)))
		return
	}
	switch kind {
	case plan.DriftMissing:
		word = w.st.Red(word)
	case plan.DriftAdded:
		word = w.st.Green(word)
	default:
		word = w.st.Yellow(word)
	}
	w.line(2, word+term.SafeLine(text))
}

// values returns the values of a field, to follow its path.
func (w *textWriter) values(f plan.DriftedField) string {
	switch {
	case f.Secret:
		return ""
	case f.Kind == plan.DriftMissing:
		return ", installed as " + shorten(f.Want)
	case f.Kind == plan.DriftAdded:
		return " is " + shorten(f.Have)
	}
	return " is " + shorten(f.Have) + ", installed as " + shorten(f.Want)
}

// by returns who has made a change, and when, to follow it.
func (w *textWriter) by(m plan.Manager) string {
	if m.Name == "" {
		return ""
	}
	parts := []string{m.Name}
	if m.Subresource != "" {
		parts = append(parts, "subresource "+m.Subresource)
	}
	if m.Time != "" {
		parts = append(parts, w.time(m.Time))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func (w *textWriter) time(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || !w.ages {
		return text
	}
	return output.Ago(at, w.o.Now)
}

// shorten returns a value as a single line of limited length.
func shorten(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "(unreadable)"
	}
	return truncate.Runes(string(text), 80, "...")
}

// summary counts what was found. A single release needs only the differences that are not shown.
func (w *textWriter) summary(reports []Report) {
	drifted, repaired, failed, allowed := 0, 0, 0, 0
	for _, r := range reports {
		if r.Drifted() {
			drifted++
		}
		switch {
		case r.Repaired != "":
			repaired++
		case r.Err != nil:
			failed++
		}
		for _, o := range r.Objects {
			if differs(o) && (o.Missing || o.Deleted != "") && o.Allowed != "" {
				allowed++
			}
			allowed += len(o.Fields) - len(o.Drift())
		}
	}
	if !w.o.One {
		text := fmt.Sprintf("%s checked, %d drifted", plural.Count(len(reports), "release"), drifted)
		if repaired > 0 {
			text += fmt.Sprintf(", %d repaired", repaired)
		}
		if failed > 0 {
			text += fmt.Sprintf(", %d failed", failed)
		}
		w.line(0, text)
	}
	if allowed > 0 && !w.o.Allowed {
		is := " are"
		if allowed == 1 {
			is = " is"
		}
		w.line(0, w.st.Dim(plural.Count(allowed, "difference")+is+" allowed: --show-allowed lists what and why"))
	}
}
