// SPDX-License-Identifier: Apache-2.0

// Package upgrade provides the command that upgrades a release to another chart or other values.
package upgrade

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
)

// Options are the flags of `helm upgrade`.
type Options struct {
	cmdutil.DeployFlags
	Output output.Format

	Name, ChartRef string
	Install        bool
	cmdutil.ReuseFlags
	MaxHistory int
	History    action.TemplateHistory
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "upgrade NAME CHART",
		Short: "Upgrade a release",
		Long: `Upgrade a release to another version of its chart, or to other values.

Each object is changed by a three-way merge of the old manifest, the live object and
the new manifest: fields that others have added are kept, manual changes
are reverted, and fields that the chart no longer sets are removed. An object that
would not change is not written. Objects that the chart no longer renders are deleted,
unless they have the annotation helm.sh/resource-policy: keep.

Without new values the release keeps its values. With new values, only
those are used, unless --reuse-values or --reset-then-reuse-values merges them into
the old ones. Its patches (--patch) are kept in the same way.`,
		Example: `  # Preview the changes, then upgrade
  helm diff upgrade web ./mychart --set replicaCount=3
  helm upgrade web ./mychart --set replicaCount=3

  # Keep the values, and change one
  helm upgrade web ./mychart --reuse-values --set image.tag=1.27

  # Install the release if it does not exist, and wait until the objects are ready
  helm upgrade blog ./mychart --install -f production.yaml --wait

  # Change a field that the chart has no value for; later upgrades keep the patch
  helm upgrade web ./mychart --patch tolerations.yaml

  # Let the chart see which versions the release had
  helm upgrade web ./mychart --release-history-max 3

  # Go back if the objects are not ready in two minutes
  helm upgrade web example/web --version ^1.2 --rollback-on-failure --timeout 2m`,
		Args:              cmdutil.Args(2, 2, "the name of a release and a chart"),
		ValidArgsFunction: f.CompleteReleaseAndChart,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.ChartRef = args[0], args[1]
			return run(cmd.Context(), f, o)
		},
	}
	o.DeployFlags.Bind(cmd, f)
	fs := cmd.Flags()
	o.Output.Bind(fs)
	output.Complete(cmd)
	o.ReuseFlags.Bind(fs)
	fs.BoolVarP(&o.Install, "install", "i", false, "install the chart if the release does not exist")
	cmdutil.BindHistoryMax(fs, f, &o.MaxHistory)
	cmdutil.BindTemplateHistory(fs, &o.History)
	cmdutil.BindRecreatePods(fs)
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	c, vals, err := o.Load(ctx, f, o.ChartRef)
	if err != nil {
		return err
	}
	err = upgrade(ctx, f, o, c, vals)
	var missing *action.NoReleaseError
	if o.Install && errors.As(err, &missing) {
		return install(ctx, f, o, c, vals)
	}
	return cmdutil.Failed(cmdutil.Upgrading, err)
}

func upgrade(ctx context.Context, f *cmdutil.Factory, o Options, c *chart.Chart, vals map[string]any) error {
	verb, err := o.Upgrader(f)
	if err != nil {
		return err
	}
	req := o.Request(ctx, f, c, vals, o.Name)
	req.Reuse, req.MaxHistory, req.TemplateHistory = o.Reuse(), o.MaxHistory, o.History
	req.ResetPatches = o.ResetPatches
	view := o.view(f)
	view.First = func() { o.printUpgraded(f) }
	if view.DryRun != nil {
		view.DryRun.Plan = o.DryRun == cmdutil.DryRunServer
	}
	return report.Deploy(ctx, f.Streams, verb, req, view)
}

// view returns the options of the output, for an upgrade and for an install with --install.
func (o Options) view(f *cmdutil.Factory) report.DeployView {
	v := report.DeployView{Format: o.Output, HideNotes: o.HideNotes}
	if o.DryRun != cmdutil.DryRunNone {
		v.DryRun = &report.DryRunView{Values: f.Settings.Debug, HideSecret: o.HideSecret, HideNotes: o.HideNotes}
	}
	return v
}

// printUpgraded prints Helm's first line. A dry run prints it too: scripts skip it.
func (o Options) printUpgraded(f *cmdutil.Factory) {
	if o.Output == output.Table {
		fmt.Fprintf(f.Out, "Release %q has been upgraded. Happy Helming!\n", o.Name)
	}
}

// install implements --install for a release that does not exist. A release uninstalled with its
// history kept continues that history.
func install(ctx context.Context, f *cmdutil.Factory, o Options, c *chart.Chart, vals map[string]any) error {
	if o.Output == output.Table {
		fmt.Fprintf(f.Out, "Release %q does not exist. Installing it now.\n", o.Name)
	}
	verb, err := o.Installer(f)
	if err != nil {
		return err
	}
	req := o.DeployFlags.Request(ctx, f, c, vals, o.Name)
	req.Replace, req.MaxHistory = true, o.MaxHistory
	view := o.view(f)
	if view.DryRun != nil {
		view.First = func() { o.printUpgraded(f) }
	}
	return report.Deploy(ctx, f.Streams, verb, req, view)
}
