// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/repo"
)

// listOptions are the flags of `helm repo list`.
type listOptions struct {
	Output    output.Format
	NoHeaders bool
}

func newList(f *cmdutil.Factory) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List repositories",
		Example: `  helm repo list
  helm repo list -o json`,
		Args:              cmdutil.Args(0, 0, ""),
		ValidArgsFunction: cmdutil.NoArguments,
		RunE:              func(*cobra.Command, []string) error { return o.run(f) },
	}
	o.Output.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&o.NoHeaders, "no-headers", false, "omit the table's header")
	output.Complete(cmd)
	return cmd
}

// element is a repository in JSON and YAML. The keys are Helm's.
type element struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

func (o *listOptions) run(factory *cmdutil.Factory) error {
	f, err := factory.Collection().Load()
	if err != nil {
		return err
	}
	elements := make([]element, len(f.Entries))
	for i, r := range f.Entries {
		elements[i] = element{Name: r.Name, URL: r.URL}
	}
	return o.Output.Write(factory.Out, elements, func(io.Writer) error { return o.table(factory, f.Entries) })
}

// table omits passwords in URLs on a terminal, where bystanders can read them. Scripts that parse
// the table get the URLs in the file.
func (o *listOptions) table(f *cmdutil.Factory, entries []repo.Entry) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(f.Err, "no repositories to show")
		return err
	}
	header := []string{"NAME", "URL"}
	if o.NoHeaders {
		header = nil
	}
	rows := make([][]string, len(entries))
	for i, r := range entries {
		rows[i] = []string{r.Name, r.URL}
		if term.IsTerminal(f.Out) {
			rows[i][1] = r.RedactedURL()
		}
	}
	st := f.Style(f.Out)
	return output.Grid{Header: header, Rows: rows, Style: st.Header}.Write(f.Streams)
}
