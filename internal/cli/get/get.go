// SPDX-License-Identifier: Apache-2.0

// Package get provides the commands that print a part of a release's record.
package get

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// Options are the flags of all commands in the group.
type Options struct {
	Name     string
	Revision int
	Output   output.Format
	All      bool
	Origin   bool
	Template string
}

// New creates the command and its subcommands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get",
		Short: "Print parts of a release record",
		Long: `Print a part of the record of a release revision: its values,
manifest, hooks, notes or metadata, or all of it.`,
		Example: `  helm get values web
  helm get manifest web --revision 1`,
		Args: cmdutil.Group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		leaf(f, "all", "Print the whole record", "helm get all web --template '{{.Release.Name}}'", printAll,
			func(c *cobra.Command, o *Options) {
				c.Flags().StringVar(&o.Template, "template", "", "Go template to print the release with, such as {{.Release.Name}}")
			}),
		leaf(f, "hooks", "Print the hooks", "helm get hooks web", printHooks, nil),
		leaf(f, "manifest", "Print the manifest", "helm get manifest web --revision 2", printManifest, nil),
		leaf(f, "metadata", "Print name, chart, revision and other metadata", "helm get metadata web -o json", printMetadata,
			withOutput),
		leaf(f, "notes", "Print the notes", "helm get notes web", printNotes, nil),
		leaf(f, "patches", "Print the user-supplied patches",
			"helm get patches web\n  helm get patches web --revision 2 > patches.yaml", printPatches, withOutput),
		leaf(f, "values", "Print the user-supplied values",
			"helm get values web --all\n  helm get values web --revision 2 --origin", printValues,
			func(c *cobra.Command, o *Options) {
				withOutput(c, o)
				c.Flags().BoolVarP(&o.All, "all", "a", false, "print all values, chart defaults included")
				c.Flags().BoolVar(&o.Origin, "origin", false, "show which file, line or flag set each value")
			}),
	)
	return cmd
}

func withOutput(c *cobra.Command, o *Options) {
	o.Output.Bind(c.Flags())
	output.Complete(c)
}

type printer func(f *cmdutil.Factory, o Options, rel *release.Release) error

func leaf(f *cmdutil.Factory, name, short, example string, p printer,
	flags func(*cobra.Command, *Options)) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:               name + " NAME",
		Short:             short,
		Example:           "  " + example,
		Args:              cmdutil.Args(1, 1, "the name of a release"),
		ValidArgsFunction: f.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			rel, err := read(cmd.Context(), f, o)
			if err != nil {
				return err
			}
			return p(f, o, rel)
		},
	}
	cmd.Flags().IntVar(&o.Revision, "revision", 0, "print this revision instead of the newest")
	// the flag exists: it is registered one line above
	_ = cmd.RegisterFlagCompletionFunc("revision", f.CompleteRevisions)
	if flags != nil {
		flags(cmd, &o)
	}
	return cmd
}

func read(ctx context.Context, f *cmdutil.Factory, o Options) (*release.Release, error) {
	if err := action.CheckName(o.Name); err != nil {
		return nil, err
	}
	records, err := f.Records(f.Namespace())
	if err != nil {
		return nil, err
	}
	return records.Get(ctx, o.Name, o.Revision)
}

func printManifest(f *cmdutil.Factory, _ Options, rel *release.Release) error {
	_, err := fmt.Fprintln(term.SafeWriter(f.Out), rel.Manifest)
	return err
}

func printNotes(f *cmdutil.Factory, _ Options, rel *release.Release) error {
	if rel.Info.Notes == "" {
		return nil
	}
	_, err := fmt.Fprintf(term.SafeWriter(f.Out), "NOTES:\n%s\n", rel.Info.Notes)
	return err
}

func printHooks(f *cmdutil.Factory, _ Options, rel *release.Release) error {
	_, err := io.WriteString(term.SafeWriter(f.Out), hooks(rel))
	return err
}

func hooks(rel *release.Release) string {
	var b strings.Builder
	for _, h := range rel.Hooks {
		fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", h.Path, h.Manifest)
	}
	return b.String()
}

// printOrigins prints values with where they came from.
func printOrigins(f *cmdutil.Factory, o Options, rel *release.Release) error {
	vals, origins, err := action.RecordedValues(rel, o.All)
	if err != nil {
		return err
	}
	if origins == nil && len(vals) > 0 {
		f.Report().Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf("revision %d of release %s does not record "+
			"where its values came from: Helm or an older version of Moonhelm wrote the record", rel.Revision, rel.Name)})
	}
	return o.Output.Write(f.Out, report.OriginValues(vals, origins), func(w io.Writer) error {
		if len(vals) == 0 {
			return output.WriteYAML(w, vals)
		}
		return report.WriteOrigins(w, vals, origins)
	})
}

func printValues(f *cmdutil.Factory, o Options, rel *release.Release) error {
	if o.Origin {
		return printOrigins(f, o, rel)
	}
	vals := rel.Config
	title := "USER-SUPPLIED VALUES:"
	if o.All {
		title = "COMPUTED VALUES:"
		var err error
		if vals, err = action.ComputedValues(rel); err != nil {
			return err
		}
	}
	return o.Output.Write(f.Out, vals, func(w io.Writer) error {
		text, err := output.YAMLFor(w, vals)
		if err != nil {
			return fmt.Errorf("write values: %w", err)
		}
		_, err = fmt.Fprintf(w, "%s\n%s", title, text)
		return err
	})
}

// templateView is the release in templates of --template.
type templateView struct {
	Name, Namespace, Manifest string
	Info                      release.Info
	Chart                     *chart.Chart
	Config                    map[string]any
	Hooks                     []*release.Hook
	Version                   int
	Labels                    map[string]string
}

// methodOf returns the methods of a release and its chart that templates may call.
func methodOf(v any, name string) any {
	switch v := v.(type) {
	case release.Status:
		if name == "String" {
			return func() string { return string(v) }
		}
	case *chart.Chart:
		return chartMethod(v, name)
	}
	return nil
}

func chartMethod(c *chart.Chart, name string) any {
	switch name {
	case "Name":
		return c.Name
	case "Version":
		return c.Version
	case "AppVersion":
		return c.AppVersion
	case "IsLibrary":
		return c.IsLibrary
	case "IsRoot":
		return c.IsRoot
	case "Parent":
		return c.Parent
	case "Root":
		return c.Root
	case "Dependencies":
		return c.Dependencies
	case "ChartPath":
		return c.ChartPath
	case "FullPath", "ChartFullPath":
		return c.FullPath
	case "CRDs":
		return c.CRDs
	}
	return nil
}

func printAll(f *cmdutil.Factory, o Options, rel *release.Release) error {
	c, err := rel.Chart()
	if err != nil {
		return err
	}
	if o.Template != "" {
		// A missing key prints as "<no value>", as in Helm.
		v := map[string]any{"Release": templateView{rel.Name, rel.Namespace, rel.Manifest, rel.Info, c, rel.Config, rel.Hooks,
			rel.Revision, rel.Labels}}
		t := engine.Text{Name: "--template", Text: o.Template, Data: v, Methods: methodOf}
		return t.Execute(term.SafeWriter(f.Out))
	}
	computed, err := action.ComputedValues(rel)
	if err != nil {
		return err
	}
	user, err := output.YAMLFor(f.Out, rel.Config)
	if err != nil {
		return fmt.Errorf("write values: %w", err)
	}
	all, err := output.YAMLFor(f.Out, computed)
	if err != nil {
		return fmt.Errorf("write values: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "NAME: %s\nLAST DEPLOYED: %s\nNAMESPACE: %s\nSTATUS: %s\nREVISION: %d\n", rel.Name,
		report.Time(rel.Info.LastDeployed), rel.Namespace, rel.Info.Status, rel.Revision)
	if c != nil {
		fmt.Fprintf(&b, "CHART: %s\nVERSION: %s\nAPP_VERSION: %s\n", c.Name(), c.Version(), c.AppVersion())
	}
	fmt.Fprintf(&b, "DESCRIPTION: %s\n", rel.Info.Description)
	report.Tests(&b, rel, func(text string) string { return text }) // all of b is escaped below
	fmt.Fprintf(&b, "USER-SUPPLIED VALUES:\n%s\nCOMPUTED VALUES:\n%s\n", user, all)
	fmt.Fprintf(&b, "HOOKS:\n%s", hooks(rel))
	fmt.Fprintf(&b, "MANIFEST:\n%s\n", rel.Manifest)
	if rel.Info.Notes != "" {
		fmt.Fprintf(&b, "NOTES:\n%s\n", strings.TrimRight(rel.Info.Notes, "\n"))
	}
	_, err = io.WriteString(term.SafeWriter(f.Out), b.String())
	return err
}
