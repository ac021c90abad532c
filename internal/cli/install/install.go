// SPDX-License-Identifier: Apache-2.0

// Package install provides the command that installs a chart.
package install

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
)

// Options are the flags of `helm install`.
type Options struct {
	cmdutil.DeployFlags
	cmdutil.NameFlags
	Output  output.Format
	Replace bool
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "install [NAME] CHART",
		Short: "Install a chart",
		Long: `Install a chart into a cluster as a release called NAME.

CHART is a directory, an archive, repository/name for an added repository, the
URL of an archive, or oci://host/path/name; --version is a version or a range.
Values come from the chart's values.yaml, then from --values files, then from
--set and related flags; later ones win, and null deletes a key.

If an object exists already and does not belong to the release, nothing is
written, unless --take-ownership is given. If the install fails halfway, the
release remains with the status failed: helm uninstall deletes its objects, and
--rollback-on-failure does so immediately.`,
		Example: `  # From a directory, from a repository that was added, from a registry
  helm install blog ./mychart
  helm install shop example/web --version ^1.2
  helm install news oci://registry.example.com/charts/web

  # With values, into another namespace, and wait until the objects are ready
  helm install blog ./mychart -f production.yaml --set replicaCount=3 -n prod --create-namespace --wait

  helm install --generate-name ./mychart

  # Show what would be installed, after the API server has checked it
  helm install demo ./mychart --dry-run=server --hide-secret`,
		Args:              cmdutil.NameAndChart,
		ValidArgsFunction: f.CompleteNameAndChart,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Resolve(args, f.Now()); err != nil {
				return cmdutil.Failed(cmdutil.Installation, err)
			}
			return cmdutil.Failed(cmdutil.Installation, run(cmd.Context(), f, o))
		},
	}
	o.DeployFlags.Bind(cmd, f)
	fs := cmd.Flags()
	o.NameFlags.Bind(fs)
	o.Output.Bind(fs)
	output.Complete(cmd)
	fs.BoolVar(&o.Replace, "replace", false, "reuse the name of a release that failed or was "+
		"uninstalled with --keep-history")
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	if o.Name == "" {
		return hint.With(errors.New("must either provide a name or specify --generate-name"),
			fmt.Sprintf("helm install NAME %s", o.ChartRef))
	}
	c, vals, err := o.Load(ctx, f, o.ChartRef)
	if err != nil {
		return err
	}
	req := o.Request(ctx, f, c, vals, o.Name)
	req.Replace = o.Replace
	verb, err := o.Installer(f)
	if err != nil {
		return err
	}
	view := report.DeployView{Format: o.Output, HideNotes: o.HideNotes}
	if o.DryRun != cmdutil.DryRunNone {
		view.DryRun = &report.DryRunView{Values: f.Settings.Debug, HideSecret: o.HideSecret, HideNotes: o.HideNotes}
	}
	return report.Deploy(ctx, f.Streams, verb, req, view)
}
