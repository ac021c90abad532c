// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
)

// listOptions are the flags of `helm dependency list`.
type listOptions struct {
	Path  string
	Width uint
	given bool // Width is set
}

func newList(f *cmdutil.Factory) *cobra.Command {
	o := listOptions{Path: "."}
	cmd := &cobra.Command{
		Use:     "list [CHART]",
		Aliases: []string{"ls"},
		Short:   "List the dependencies of a chart and their state",
		Long: `List the dependencies and libraries of a chart, a directory or an archive,
and the state of each in charts/ and library/:

  ok                an archive with a matching version
  unpacked          a directory with a matching version
  missing           not there (helm dependency update fetches it)
  wrong version     no matching version
  too many matches  other archives too, which match nothing
  misnamed          an archive of this name that contains another chart
  corrupt           an unreadable archive or directory
  invalid version   the wanted version is not a version or range`,
		Example: `  helm dependency list ./umbrella`,
		Args:    cmdutil.Args(0, 1, "the path of a chart, default the current directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Path = args[0]
			}
			o.given = cmd.Flags().Changed("max-col-width")
			return o.run(f)
		},
	}
	cmd.Flags().UintVar(&o.Width, "max-col-width", 80, "maximum width of table columns, 0 for no limit")
	return cmd
}

// run prints a table, then warnings, both to standard output as in Helm.
func (o listOptions) run(f *cmdutil.Factory) error {
	v, err := f.Vendored(o.Path)
	if err != nil {
		return err
	}
	found, unlisted := action.DependencyList{}.Run(v)
	if len(found) == 0 {
		_, err := fmt.Fprintf(f.Out, "WARNING: no dependencies at %s\n",
			term.SafeLine(filepath.Join(o.Path, chart.DirCharts)))
		return err
	}
	rows := make([][]string, len(found))
	for i, d := range found {
		name := d.Name
		if d.Library {
			name = chart.DirLibrary + "/" + name
		}
		rows[i] = []string{name, d.Version, dependency.RedactURL(d.Repository), string(d.Status)}
		if o.given || !output.OnScreen(f.Streams) { // on a terminal, its width is the limit
			for j, cell := range rows[i] {
				rows[i][j] = truncate(cell, int(min(o.Width, 1<<20)))
			}
		}
	}
	g := output.Grid{Header: []string{"NAME", "VERSION", "REPOSITORY", "STATUS"}, Rows: rows}
	if output.OnScreen(f.Streams) {
		g.Style = statusStyle(f.Style(f.Out))
	}
	if err := g.Write(f.Streams); err != nil {
		return err
	}
	fmt.Fprintln(f.Out)
	for _, h := range unlisted {
		problem := "is not in " + chart.FileMetadata
		if h.Err != nil {
			problem = "is not a chart"
		}
		fmt.Fprintf(f.Out, "WARNING: %q %s.\n", term.SafeLine(filepath.Join(o.Path, filepath.FromSlash(h.Path()))), problem)
	}
	return nil
}

// statusColumn is the column of the table with the state of a dependency.
const statusColumn = 3

// statusStyle colours the states.
func statusStyle(st term.Style) func(row, column int, cell string) string {
	return func(row, column int, cell string) string {
		switch {
		case row < 0 || column != statusColumn:
			return st.Header(row, column, cell)
		case cell == string(action.DependencyOK), cell == string(action.DependencyUnpacked):
			return st.Green(cell)
		}
		return st.Red(cell)
	}
}

// truncate shortens text to width characters, as in Helm; width 0 means no limit.
func truncate(text string, width int) string {
	runes := []rune(text)
	if width == 0 || len(runes) <= width {
		return text
	}
	if width < 3 {
		return string(runes[:width])
	}
	return string(runes[:width-3]) + "..."
}
