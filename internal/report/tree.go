// SPDX-License-Identifier: Apache-2.0

package report

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
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube/status"
)

// maxShown is the maximum number of children of one node in a table. Those that are not ready come
// first if there are more.
const maxShown = 20

// treeValue is the tree in JSON and YAML, see docs/formats/status-tree.schema.json.
type treeValue struct {
	Name      string         `json:"name"`
	Namespace string         `json:"namespace"`
	Revision  int            `json:"revision"`
	Status    string         `json:"status"`
	Objects   []*status.Node `json:"objects"`
	Notes     []string       `json:"notes,omitempty"`
}

// WriteTree prints a release with the tree of its objects at the time now.
func WriteTree(s term.Streams, f output.Format, t *action.ReleaseTree, now time.Time) error {
	return f.Write(s.Out, newTreeValue(t), func(io.Writer) error {
		_, err := io.WriteString(s.DrawingWriter(s.Out), TreeText(s, t, now))
		return err
	})
}

func newTreeValue(t *action.ReleaseTree) treeValue {
	v := treeValue{
		Name: t.Release.Name, Namespace: t.Release.Namespace, Revision: t.Release.Revision,
		Status: string(t.Release.Info.Status), Objects: t.Tree.Objects, Notes: t.Tree.Notes,
	}
	if v.Objects == nil {
		v.Objects = []*status.Node{}
	}
	return v
}

// TreeText returns the table that [WriteTree] prints. On a terminal no line is wider than that.
func TreeText(s term.Streams, t *action.ReleaseTree, now time.Time) string {
	st, rel := s.Style(s.Out), t.Release
	var b strings.Builder
	columns := 1 << 20 // programs get whole cells
	if output.OnScreen(s) {
		columns = term.Width(s.Out)
	}
	head := term.SafeLine(fmt.Sprintf("%s in namespace %s, revision %d", rel.Name, rel.Namespace, rel.Revision))
	room := columns - len(", ") - len(rel.Info.Status)
	b.WriteString(st.Bold(term.Fit(head, room)) + ", " + Status(st, rel.Info.Status) + "\n\n")
	w := treeWriter{style: st, now: now}
	for _, n := range t.Tree.Objects {
		w.add(n, "", "")
	}
	g := output.Grid{
		Header: []string{"OBJECT", "READY", "AGE", "STATUS"}, Rows: w.rows, Style: w.paint, Spare: []int{2, 1},
		Below: func(row int) string { return w.below[row] },
	}
	b.WriteString(g.Fit(columns))
	for _, note := range t.Tree.Notes {
		b.WriteString(st.Yellow(term.Fit("note: "+term.SafeLine(note), columns)) + "\n")
	}
	b.WriteString("\n" + summary(st, t.Tree) + "\n")
	return b.String()
}

// summary returns the last line: "3 of 4 objects are ready".
func summary(st term.Style, t *status.Tree) string {
	ready, failing := 0, false
	for _, n := range t.Objects {
		if n.State.OK() {
			ready++
		}
		failing = failing || n.State == status.Failing || n.State == status.Missing
	}
	text := fmt.Sprintf("%d of %d objects are ready", ready, len(t.Objects))
	switch {
	case ready == len(t.Objects):
		return st.Green(text)
	case failing:
		return st.Red(text)
	}
	return st.Yellow(text)
}

// treeWriter collects the rows of a tree.
type treeWriter struct {
	style  term.Style
	now    time.Time
	rows   [][]string
	states []status.State
	below  []string // the branches that go on below a row
}

// add adds the row of n, after the branch to it, and those of its children.
func (w *treeWriter) add(n *status.Node, branch, below string) {
	name := n.Kind + "/" + n.Name
	if strings.HasSuffix(n.Kind, "ontainer") {
		name = n.Name
	}
	children, left := shownChildren(n)
	going := below
	if len(children) > 0 {
		going += "│"
	}
	w.row(n.State, going, branch+name, n.Ready, age(n.Created, w.now), statusText(n))
	for i, child := range children {
		if i == len(children)-1 && left == 0 {
			w.add(child, below+"└─ ", below+"   ")
		} else {
			w.add(child, below+"├─ ", below+"│  ")
		}
	}
	if left > 0 {
		w.row("", below, fmt.Sprintf("%s└─ and %d more", below, left), "", "", "")
	}
}

func (w *treeWriter) row(s status.State, below string, cells ...string) {
	w.rows, w.states, w.below = append(w.rows, cells), append(w.states, s), append(w.below, below)
}

// shownChildren returns the children to show, and the number of others.
func shownChildren(n *status.Node) (shown []*status.Node, left int) {
	if len(n.Children) <= maxShown {
		return n.Children, 0
	}
	shown = slices.Clone(n.Children)
	slices.SortStableFunc(shown, func(a, b *status.Node) int { return cmp.Compare(urgency(a.State), urgency(b.State)) })
	return shown[:maxShown], len(shown) - maxShown
}

func urgency(s status.State) int {
	switch {
	case s.OK():
		return 2
	case s == status.Progressing:
		return 1
	}
	return 0
}

func age(created *time.Time, now time.Time) string {
	if created == nil || now.Before(*created) {
		return ""
	}
	return duration.ShortHumanDuration(now.Sub(*created))
}

// statusText returns the state of n, or the reason why it is not ready.
func statusText(n *status.Node) string {
	text := string(n.State)
	if n.Reason != "" {
		text = n.Reason
	}
	if n.Restarts > 0 && n.Kind != "Pod" {
		text += ", restarted " + strconv.Itoa(n.Restarts) + "x"
	}
	return text
}

// paint is the style of the table: the status, and the count if it is not reached.
func (w *treeWriter) paint(row, column int, cell string) string {
	switch {
	case row < 0:
		return w.style.Dim(cell)
	case column == 3:
		return colored(w.style, w.states[row], cell)
	case column == 1 && !w.states[row].OK():
		return w.style.Yellow(cell)
	}
	return cell
}

func colored(st term.Style, s status.State, text string) string {
	switch {
	case s.OK():
		return st.Green(text)
	case s == status.Progressing:
		return st.Yellow(text)
	case s == "":
		return st.Dim(text)
	}
	return st.Red(text)
}
