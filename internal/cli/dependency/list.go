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
}

func newList(f *cmdutil.Factory) *cobra.Command {
	o := listOptions{Path: "."}
	cmd := &cobra.Command{
		Use:     "list [CHART]",
		Aliases: []string{"ls"},
		Short:   "List the dependencies of a chart and their state",
		Long: `List what the chart, a directory or an archive, names under dependencies: and
libraries:, and the state of each in charts/ and library/:

  ok                an archive in a version that is wanted
  unpacked          a directory in such a version
  missing           nothing (helm dependency update fetches it)
  wrong version     no version that is wanted
  too many matches  archives beside that nothing wants
  misnamed          an archive under its name that is another chart
  corrupt           an archive or a directory that cannot be read
  invalid version   what is wanted is not a version or a range`,
		Args: cmdutil.Args(0, 1, "the path of a chart, or none for the current directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Path = args[0]
			}
			return o.run(f)
		},
	}
	cmd.Flags().UintVar(&o.Width, "max-col-width", 80, "cut columns of the table that are wider, 0 for none")
	return cmd
}

// run prints what Helm prints: a table, then warnings, all on standard output.
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
		rows[i] = []string{name, d.Version, dependency.Shown(d.Repository), string(d.Status)}
		for j, cell := range rows[i] {
			rows[i][j] = cut(cell, int(min(o.Width, 1<<20)))
		}
	}
	if err := output.Rows(f.Out, []string{"NAME", "VERSION", "REPOSITORY", "STATUS"}, rows); err != nil {
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

// cut is text in at most width characters, as Helm cuts it.
func cut(text string, width int) string {
	runes := []rune(text)
	if width == 0 || len(runes) <= width {
		return text
	}
	if width < 3 {
		return string(runes[:width])
	}
	return string(runes[:width-3]) + "..."
}
