// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube/status"
)

// interval is the time between two readings of --watch.
const interval = 2 * time.Second

func runTree(ctx context.Context, f *cmdutil.Factory, o Options) error {
	records, err := f.Records(f.Namespace())
	if err != nil {
		return err
	}
	cluster, err := f.Cluster()
	if err != nil {
		return err
	}
	read := action.StatusTree{Releases: records, Cluster: status.New(cluster)}
	if o.Watch {
		return watch(ctx, f, o, func() (*action.ReleaseTree, error) { return read.Run(ctx, o.Name, o.Revision) })
	}
	tree, err := read.Run(ctx, o.Name, o.Revision)
	if err != nil {
		return err
	}
	return report.WriteTree(f.Streams, o.Output, tree, f.Now())
}

// watch shows the tree until ctx ends, which is not an error: it is how a user ends it.
func watch(ctx context.Context, f *cmdutil.Factory, o Options, read func() (*action.ReleaseTree, error)) error {
	show := viewer(f, o)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		tree, err := read()
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = show(tree)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// viewer returns the function that shows a tree after the one before: in place on a terminal, else
// what has changed. JSON and YAML are whole documents.
func viewer(f *cmdutil.Factory, o Options) func(*action.ReleaseTree) error {
	table := o.Output.String() == string(output.Table)
	if table && f.Movable(f.Out) {
		s := screen{w: f.DrawingWriter(f.Out)}
		return func(t *action.ReleaseTree) error {
			columns, rows := term.Size(f.Out)
			return s.draw(report.TreeText(f.Streams, t, f.Now()), columns, rows)
		}
	}
	var before *action.ReleaseTree
	return func(t *action.ReleaseTree) error {
		changes := report.TreeChanges(f.Style(f.Out), before, t, f.Now())
		first := before == nil
		before = t
		switch {
		case len(changes) == 0:
			return nil
		case table:
			_, err := fmt.Fprintln(f.DrawingWriter(f.Out), strings.Join(changes, "\n"))
			return err
		case o.Output == output.YAML && !first:
			if _, err := fmt.Fprintln(f.Out, "---"); err != nil {
				return err
			}
		}
		return report.WriteTree(f.Streams, o.Output, t, f.Now())
	}
}

// screen draws text in place of what it has drawn before.
type screen struct {
	w       io.Writer
	lines   int // drawn lines
	columns int // width of the terminal then
	last    string
}

const (
	eraseRight = "\x1b[K"
	eraseBelow = "\x1b[J"
)

// draw shows text, whose lines fit the columns, on a terminal of the given size. Lines that do not
// fit its rows are left out in the middle: the first line names the release, the last is the
// summary.
func (s *screen) draw(text string, columns, rows int) error {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if most := max(rows-1, 3); len(lines) > most {
		left := fmt.Sprintf("... %d more lines", len(lines)-most+1)
		lines = append(append(lines[:most-2:most-2], term.Fit(left, columns)), lines[len(lines)-1])
	}
	text = strings.Join(lines, eraseRight+"\n") + eraseRight + "\n"
	if text == s.last && columns == s.columns {
		return nil
	}
	up := ""
	if s.lines > 0 && columns == s.columns { // at another width the lines may have wrapped: draw below them
		up = fmt.Sprintf("\r\x1b[%dA", s.lines)
	}
	s.last, s.lines, s.columns = text, len(lines), columns
	_, err := io.WriteString(s.w, up+text+eraseBelow)
	return err
}
