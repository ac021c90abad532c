// SPDX-License-Identifier: Apache-2.0

// Package search is the group of commands that look for charts. They share how
// results are shown.
package search

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
)

// New makes the command with its children.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "search",
		Short: "Search for charts",
		Long:  `Search for charts in the repositories that were added, or in a hub.`,
		Args:  group,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHub(f), newRepo(f))
	return cmd
}

// group tells who has left out where to look how to say that.
func group(cmd *cobra.Command, args []string) error {
	if err := cmdutil.Group(cmd, args); err != nil {
		word := strings.Join(args, " ")
		return hint.With(err, fmt.Sprintf("helm search repo %[1]s looks in the repositories that were added, helm "+
			"search hub %[1]s in a hub", word))
	}
	return nil
}

// results say how what was found is shown.
type results struct {
	Output   output.Format
	MaxWidth uint // of a column, 0 for any
	MustFind bool
}

func (r *results) bind(cmd *cobra.Command) {
	r.Output.Bind(cmd.Flags())
	cmd.Flags().UintVar(&r.MaxWidth, "max-col-width", 50, "cut what is wider in the table, 0 for nothing")
	cmd.Flags().BoolVar(&r.MustFind, "fail-on-no-result", false, "fail where nothing is found")
	output.Complete(cmd)
}

// write shows n results: value to machines, header and rows to people.
func (r *results) write(f *cmdutil.Factory, n int, value any, header []string, rows [][]string) error {
	if n == 0 && r.MustFind {
		return errors.New("no results found")
	}
	return r.Output.Write(f.Out, value, func(w io.Writer) error {
		if n == 0 {
			_, err := fmt.Fprintln(w, "No results found")
			return err
		}
		r.cut(header)
		for _, row := range rows {
			r.cut(row)
		}
		st := f.Style(f.Out)
		return output.StyledRows(w, header, rows, func(row, _ int, cell string) string {
			if row < 0 {
				return st.Bold(cell)
			}
			return cell
		})
	})
}

const dots = "..."

// cut shortens cells that are too wide.
func (r *results) cut(row []string) {
	most := int(r.MaxWidth)
	for i, cell := range row {
		cell = term.SafeLine(cell)
		if most == 0 || displaywidth.String(cell) <= most {
			row[i] = cell
			continue
		}
		row[i] = displaywidth.TruncateString(cell, max(most-len(dots), 1), "") + dots
	}
}
