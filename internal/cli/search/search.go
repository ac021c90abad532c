// SPDX-License-Identifier: Apache-2.0

// Package search provides the commands that search for charts, and share the output of results.
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

// New creates the command and its subcommands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "search",
		Short: "Search for charts",
		Long:  `Search for charts in added repositories or in a hub.`,
		Example: `  helm search repo web
  helm search hub web`,
		Args: group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHub(f), newRepo(f))
	return cmd
}

// group validates the arguments of `helm search`; its hint names the subcommands.
func group(cmd *cobra.Command, args []string) error {
	if err := cmdutil.Group(cmd, args); err != nil {
		word := strings.Join(args, " ")
		return hint.With(err, fmt.Sprintf("helm search repo %[1]s searches added repositories, helm "+
			"search hub %[1]s a hub", word))
	}
	return nil
}

// results are the flags for the output of results.
type results struct {
	Output   output.Format
	MaxWidth uint // of a column, 0 for no limit
	MustFind bool

	given func() bool // reports whether --max-col-width is set
}

func (r *results) bind(cmd *cobra.Command) {
	r.Output.Bind(cmd.Flags())
	cmd.Flags().UintVar(&r.MaxWidth, "max-col-width", 50,
		"maximum width of table columns, 0 for no limit; a terminal fits them to its own")
	r.given = func() bool { return cmd.Flags().Changed("max-col-width") }
	cmd.Flags().BoolVar(&r.MustFind, "fail-on-no-result", false, "fail if there are no results")
	output.Complete(cmd)
}

// write writes n results: value as JSON or YAML, header and rows as a table.
func (r *results) write(f *cmdutil.Factory, n int, value any, header []string, rows [][]string) error {
	if n == 0 && r.MustFind {
		return errors.New("no results found")
	}
	return r.Output.Write(f.Out, value, func(w io.Writer) error {
		if n == 0 {
			_, err := fmt.Fprintln(w, "No results found")
			return err
		}
		if r.given() || !output.OnScreen(f.Streams) { // on a terminal, its width is the limit
			r.truncate(header)
			for _, row := range rows {
				r.truncate(row)
			}
		}
		return output.Grid{Header: header, Rows: rows, Style: f.Style(f.Out).Header}.Write(f.Streams)
	})
}

const dots = "..."

// truncate shortens cells that are too wide.
func (r *results) truncate(row []string) {
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
