// SPDX-License-Identifier: Apache-2.0

// Package crds provides the command that shows which releases have brought which custom resource
// definitions.
package crds

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

// Options are the flags of `helm crds`.
type Options struct {
	Output        output.Format
	Name          string
	AllNamespaces bool
	NoHeaders     bool
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "crds [NAME]",
		Short: "List the definitions that releases have brought",
		Long: `List the custom resource definitions that the releases of a namespace have brought,
in crds/ or in templates, with the versions that the cluster has of each, and whether
the chart's definition is that of the cluster. NAME is a release or a definition.

Versions in parentheses are not served. The version in which objects are written has
a star, other versions in which objects may be stored a plus.

The definitions of subcharts' crds/ are known of releases that Moonhelm has installed
or upgraded: Helm does not record them.`,
		Example: `  helm crds
  helm crds --all-namespaces
  helm crds web -o json`,
		Args:              cmdutil.Args(0, 1, "the name of a release or a definition"),
		ValidArgsFunction: f.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Name = args[0]
			}
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.Output.Bind(fs)
	output.Complete(cmd)
	fs.BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "list the definitions of releases in all namespaces")
	fs.BoolVar(&o.NoHeaders, "no-headers", false, "omit the table's header")
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	namespace := f.Namespace()
	if o.AllNamespaces {
		namespace = ""
	}
	records, err := f.Records(namespace)
	if err != nil {
		return err
	}
	cluster, err := f.Cluster()
	if err != nil {
		return err
	}
	warn := func(text string) { f.Report().Send(progress.Event{Kind: progress.Warning, Text: text}) }
	found, err := action.Definitions{Releases: records, Cluster: cluster, Warn: warn}.Run(ctx,
		action.DefinitionsRequest{Name: o.Name})
	if err != nil {
		return err
	}
	if found == nil {
		found = []action.Definition{}
	}
	return o.Output.Write(f.Out, found, func(io.Writer) error { return o.table(f, found) })
}

// table prints a line for each definition of a release.
func (o Options) table(f *cmdutil.Factory, found []action.Definition) error {
	const chart, from = 3, 4
	g := output.Grid{Spare: []int{chart, from}, Below: func(int) string { return "" }}
	if !o.NoHeaders {
		g.Header = []string{"NAME", "VERSIONS", "RELEASE", "CHART", "FROM", "STATE"}
	}
	for _, d := range found {
		versions := describeVersions(d.Versions)
		if len(d.Sources) == 0 {
			g.Rows = append(g.Rows, []string{d.Name, versions, "-", "-", "-", "of no release"})
		}
		for _, s := range d.Sources {
			g.Rows = append(g.Rows, []string{term.SafeLine(d.Name), term.SafeLine(versions),
				term.SafeLine(s.Namespace + "/" + s.Release), term.SafeLine(s.Chart), place(s), state(d, s)})
		}
	}
	return g.Write(f.Streams)
}

// describeVersions returns versions in a line: "v1*, v1beta1+, (v1alpha1)".
func describeVersions(versions []action.DefinitionVersion) string {
	var out []string
	for _, v := range versions {
		text := v.Name
		switch {
		case v.Storage:
			text += "*"
		case v.Stored:
			text += "+"
		}
		if !v.Served {
			text = "(" + text + ")"
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

// place returns where the chart has the definition.
func place(s action.DefinitionSource) string {
	if s.Managed {
		return "templates/"
	}
	return "crds/"
}

// state describes a release's definition. If it is not that of the cluster, it names its versions.
func state(d action.Definition, s action.DefinitionSource) string {
	text := s.State
	if s.State == action.DefinitionDiffers {
		if versions := describeVersions(s.Versions); versions != describeVersions(withoutStored(d.Versions)) {
			text += ": " + versions
		}
	}
	if d.Disagree {
		text += ", charts disagree"
	}
	return term.SafeLine(text)
}

func withoutStored(versions []action.DefinitionVersion) []action.DefinitionVersion {
	out := make([]action.DefinitionVersion, len(versions))
	for i, v := range versions {
		v.Stored = false
		out[i] = v
	}
	return out
}
