// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plugin"
)

// listOptions are the flags of `helm plugin list`.
type listOptions struct {
	Output output.Format
	Type   string // "" for all types
}

func newList(f *cmdutil.Factory) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List plugins",
		Long: `List the installed plugins. APIVERSION is "legacy" for plugins for Helm 3
and "v1" for those for Helm 4. PROVENANCE is "signed" for an archive installed
with a provenance file, "unsigned" for one without, "local dev" for a linked
directory, and "unknown" for others, such as git repositories.

If a plugin has the name of a built-in command, COMMAND says which of them
"helm NAME" runs: a plugin replaces a built-in command only if Helm does not have
that command, and HELM_BUILTIN does not contain it.`,
		Example: `  helm plugin list
  helm plugin list --type cli/v1 -o json`,
		Args:              cmdutil.Args(0, -1, ""),
		ValidArgsFunction: cmdutil.NoArguments,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(f, cmd) },
	}
	fs := cmd.Flags()
	o.Output.Bind(fs)
	fs.StringVar(&o.Type, "type", "", "list plugins of one type: cli/v1, getter/v1 or postrenderer/v1")
	output.Complete(cmd)
	// The only error is that the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc("type",
		cobra.FixedCompletions([]string{plugin.CLI, plugin.Getter, plugin.PostRenderer}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// element is a plugin in JSON and YAML.
type element struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Type       string `json:"type"`
	APIVersion string `json:"apiVersion"`
	Provenance string `json:"provenance"`
	Source     string `json:"source"`
	Summary    string `json:"description"`
	Path       string `json:"path"`
	// Command says what "helm NAME" runs: "plugin", or "built-in" if helm's own command has that
	// name and takes precedence. It is "" if the plugin has no command.
	Command string `json:"command,omitempty"`

	long string // the first line of the plugin's description
}

func (o *listOptions) run(f *cmdutil.Factory, cmd *cobra.Command) error {
	elements, shares := []element{}, false // shares a name with a built-in command
	for _, p := range f.Plugins().All() {
		if o.Type != "" && p.Type != o.Type {
			continue
		}
		el := element{
			Name: p.Name, Version: p.Version, Type: p.Type, APIVersion: "v1",
			Provenance: p.Provenance(), Source: p.Source(), Summary: p.Short, Path: p.Dir,
			Command: runner(f, cmd, p),
		}
		el.long, _, _ = strings.Cut(cmp.Or(p.Long, p.Short), "\n")
		if p.Legacy {
			el.APIVersion = "legacy"
		}
		elements = append(elements, el)
		shares = shares || precedence(f, cmd, p) != cmdutil.NoBuiltin
	}
	return o.Output.Write(f.Out, elements, func(io.Writer) error {
		if f.Settings.Compat == "3" {
			return helm3Table(f.Streams, elements)
		}
		return table(f.Streams, elements, shares)
	})
}

// table writes Helm 4's table, and a column COMMAND if a plugin shares its name with a built-in
// command.
func table(s term.Streams, elements []element, shares bool) error {
	head := []string{"NAME", "VERSION", "TYPE", "APIVERSION", "PROVENANCE", "SOURCE"}
	if shares {
		head = append(head, "COMMAND")
	}
	rows := make([][]string, len(elements))
	for i, p := range elements {
		rows[i] = []string{p.Name, p.Version, p.Type, p.APIVersion, p.Provenance, p.Source}
		if shares {
			rows[i] = append(rows[i], p.Command)
		}
	}
	return output.Grid{Header: head, Rows: rows, Spare: []int{5, 4, 3}}.Write(s)
}

// helm3Table writes Helm 3's table: callers written for it (Ansible's kubernetes.core) split each
// line into three columns.
func helm3Table(s term.Streams, elements []element) error {
	rows := make([][]string, len(elements))
	for i, p := range elements {
		rows[i] = []string{p.Name, p.Version, p.long}
	}
	return output.Grid{Header: []string{"NAME", "VERSION", "DESCRIPTION"}, Rows: rows}.Write(s)
}
