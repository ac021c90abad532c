// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
)

// WriteStat prints a line for each object that changes, has moved or stays with the number of its
// changed lines, the summary, and what the change does: which pods restart, stop and start, what is
// deleted and created again, which data is deleted, and what the API server would refuse. It prints
// nothing if nothing changes and no object moves or leaves the release.
func WriteStat(s term.Streams, d Diff, o Options) error {
	list := d.entries(o)
	moved := slices.DeleteFunc(slices.Clone(d.Objects), func(o Object) bool { return !o.isOnlyMoved() })
	kept := d.kept()
	if len(list)+len(moved)+len(kept) == 0 {
		return nil
	}
	w := newStatWriter(s, d, o)
	w.lines(list, moved)
	for _, object := range kept {
		w.fold(" " + w.name(object.Ref) + " stays: " + term.SafeLine(object.Reason))
	}
	title := d.Title
	if title == "" {
		title = "Plan"
	}
	w.b.WriteString("\n" + w.st.Bold(w.d.summaryWithKept(title, list)) + "\n")
	w.effects(d.effects(o))
	_, err := io.WriteString(s.Out, w.b.String())
	return err
}

// statWriter writes a summary.
type statWriter struct {
	b       strings.Builder
	st      term.Style
	d       Diff
	columns int // width of the terminal, 0 if there is none
}

func newStatWriter(s term.Streams, d Diff, o Options) *statWriter {
	w := &statWriter{st: s.Style(s.Out), d: d, columns: o.Columns}
	if w.columns == 0 && term.IsTerminal(s.Out) {
		w.columns = term.Width(s.Out)
	}
	return w
}

// WriteEffects prints what d does, as [WriteStat] does below the summary. It prints nothing if there
// is nothing to say.
func WriteEffects(s term.Streams, d Diff, o Options) error {
	w := newStatWriter(s, d, o)
	w.effects(d.effects(o))
	_, err := io.WriteString(s.Out, w.b.String())
	return err
}

// statLine is the line of an object.
type statLine struct {
	name, change, count string
	added, removed      int
	paint               func(string) string
}

const (
	// widestGraph limits the graph of changed lines, narrowestGraph the space that names leave to it.
	widestGraph    = 40
	narrowestGraph = 8
)

// lines writes a line for each object. Those of moved have not changed.
func (w *statWriter) lines(list []entry, moved []Object) {
	var lines []statLine
	for _, e := range list {
		lines = append(lines, w.line(e))
	}
	for _, o := range moved {
		lines = append(lines, statLine{name: w.name(o.Ref), change: "moved", count: "0", paint: w.st.Dim})
	}
	name, change, count, most := 0, 0, 0, 0
	for _, l := range lines {
		name, change = max(name, displaywidth.String(l.name)), max(change, len(l.change))
		count, most = max(count, len(l.count)), max(most, l.added+l.removed)
	}
	graph := widestGraph
	if w.columns > 0 {
		// The last column is not used: terminals differ in the cursor position after it.
		room := w.columns - 1 - len("   |  ") - change - count
		name = max(min(name, room-narrowestGraph), narrowestGraph)
		graph = max(min(room-name, widestGraph), 0)
	}
	for _, l := range lines {
		text := l.name
		if w.columns > 0 {
			text = shortenName(text, name)
		}
		text += strings.Repeat(" ", max(name-displaywidth.String(text), 0))
		bars := w.st.Green(strings.Repeat("+", scale(l.added, most, graph))) +
			w.st.Red(strings.Repeat("-", scale(l.removed, most, graph)))
		line := fmt.Sprintf(" %s %s | %*s %s", text, l.paint(fmt.Sprintf("%-*s", change, l.change)), count, l.count, bars)
		w.b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func (w *statWriter) line(e entry) statLine {
	l := statLine{name: w.name(e.Ref), change: w.change(e), paint: paint(w.st, e)}
	for _, h := range e.hunks {
		for _, line := range h.lines {
			switch line.sign {
			case '+':
				l.added++
			case '-':
				l.removed++
			}
		}
	}
	l.count = fmt.Sprint(l.added + l.removed)
	if e.sealed != "" || e.change == suppressed {
		l.count = "-"
	}
	return l
}

// change describes the change of an object in a few words.
func (w *statWriter) change(e entry) string {
	word := "changed"
	switch {
	case e.Renamed != nil && w.d.other == "":
		word = "renamed"
	case e.Action == plan.Replace:
		word = "replaced"
	case e.change == added:
		word = "added"
	case e.change == removed:
		word = "removed"
	}
	if e.hook {
		return "hook " + word
	}
	return word
}

// name returns the object's name, with its namespace if it is not the release's.
func (w *statWriter) name(r plan.Ref) string {
	name := r.String()
	if r.Namespace != "" && r.Namespace != w.d.Namespace {
		name += " in namespace " + r.Namespace
	}
	return term.SafeLine(name)
}

// scale returns the length of a bar for n of at most most lines, at least 1 unless n is 0.
func scale(n, most, width int) int {
	if most <= width || n == 0 {
		return n
	}
	return max(n*width/most, min(1, width))
}

// shortenName removes the middle of a name that is wider than columns.
func shortenName(name string, columns int) string {
	const dots = "..."
	if displaywidth.String(name) <= columns {
		return name
	}
	tail := (columns - len(dots)) / 2
	head := displaywidth.TruncateString(name, columns-len(dots)-tail, "")
	rest := name[len(head):]
	if n := 16 * columns; len(rest) > n { // finding the tail takes quadratic time
		rest = strings.ToValidUTF8(rest[len(rest)-n:], "")
	}
	for rest != "" && displaywidth.String(rest) > tail {
		g := displaywidth.StringGraphemes(rest)
		g.Next()
		rest = rest[len(g.Value()):]
	}
	return head + dots + rest
}

// effectGroup is the heading of effects of a kind.
type effectGroup struct {
	kind    effectKind
	heading string // with %s for the number of pods, if they are counted
	grave   bool
}

func effectGroups() []effectGroup {
	return []effectGroup{
		{fails, "Will fail, because these fields are immutable:", true},
		{losesData, "Deletes data:", true},
		{recreates, "Deletes and creates again:", false},
		{restarts, "Restarts %s:", false},
		{stops, "Stops %s:", false},
		{starts, "Starts %s:", false},
		{defers, "Changes pods later:", false},
	}
}

// effects writes the effects, grouped by kind.
func (w *statWriter) effects(list []effect) {
	for _, g := range effectGroups() {
		var lines []effect
		for _, e := range list {
			if e.Kind == g.kind {
				lines = append(lines, e)
			}
		}
		if len(lines) == 0 {
			continue
		}
		heading := g.heading
		if strings.Contains(heading, "%s") {
			heading = fmt.Sprintf(heading, totalPods(lines))
		}
		if g.grave {
			heading = w.st.Red(heading)
		} else {
			heading = w.st.Yellow(heading)
		}
		w.b.WriteString("\n" + heading + "\n")
		for _, e := range lines {
			w.fold("  " + w.effect(e))
		}
	}
}

// effect returns the line of an effect.
func (w *statWriter) effect(e effect) string {
	var words []string
	switch e.Kind {
	case restarts, stops, starts:
		words = append(words, countPods(e.Pods))
	}
	if e.Reason != "" {
		words = append(words, term.SafeLine(e.Reason))
	}
	return w.name(e.Ref) + ": " + strings.Join(words, ", ")
}

// totalPods returns the sum of pods.
func totalPods(list []effect) string {
	var n int64
	known := true
	for _, e := range list {
		if e.Pods == nil {
			known = false
		} else if n <= math.MaxInt64-*e.Pods {
			n += *e.Pods
		}
	}
	switch {
	case known:
		return countPods(&n)
	case n > 0:
		return fmt.Sprintf("at least %d pods", n+1)
	}
	return "pods"
}

func countPods(n *int64) string {
	if n == nil {
		return "a pod on each node"
	}
	return plural.Count(*n, "pod")
}

// fold writes a line, on a terminal broken into lines that fit.
func (w *statWriter) fold(line string) {
	columns := max(w.columns-1, 2*narrowestGraph)
	for indent := ""; ; indent = "    " {
		if w.columns == 0 || displaywidth.String(indent+line) <= columns {
			w.b.WriteString(indent + line + "\n")
			return
		}
		head := displaywidth.TruncateString(line, columns-len(indent), "")
		if space := strings.LastIndexByte(strings.TrimRight(head, " "), ' '); space > len(head)/3 {
			head = head[:space]
		}
		w.b.WriteString(indent + head + "\n")
		line = strings.TrimPrefix(line[len(head):], " ")
	}
}

// statDocument is a summary in JSON or YAML. Fields are never removed.
type statDocument struct {
	Release   string         `json:"release"`
	Namespace string         `json:"namespace"`
	From      int            `json:"from"` // revision, 0 for none
	To        int            `json:"to"`
	Summary   counts         `json:"summary"`
	Objects   []statDocEntry `json:"objects"` // those that change
	Hooks     []statDocEntry `json:"hooks"`
	Effects   []effect       `json:"effects"`
}

type statDocEntry struct {
	plan.Ref
	Source  string      `json:"source,omitempty"`
	Action  plan.Action `json:"action"`
	Renamed *plan.Ref   `json:"renamedTo,omitempty"`
	// Added and Removed are the numbers of lines of the text.
	Added   int `json:"linesAdded"`
	Removed int `json:"linesRemoved"`
}

// WriteStatDocument prints what [WriteStat] does in the format f, JSON or YAML. Fields of the
// document are never removed.
func WriteStatDocument(s term.Streams, f output.Format, d Diff, o Options) error {
	doc := statDocument{
		Release: d.Release, Namespace: d.Namespace, From: d.From, To: d.To, Summary: d.count(),
		Objects: []statDocEntry{}, Hooks: []statDocEntry{}, Effects: append([]effect{}, d.effects(o)...),
	}
	w := statWriter{d: d}
	for _, e := range d.entries(o) {
		l := w.line(e)
		out := statDocEntry{Ref: e.Ref, Source: e.Source, Action: e.Action, Renamed: e.Renamed, Added: l.added,
			Removed: l.removed}
		if e.hook {
			doc.Hooks = append(doc.Hooks, out)
		} else {
			doc.Objects = append(doc.Objects, out)
		}
	}
	return f.Write(s.Out, doc, nil)
}
