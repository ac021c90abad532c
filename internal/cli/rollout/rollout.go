// SPDX-License-Identifier: Apache-2.0

// Package rollout provides the command that waits for what is under way of a release.
package rollout

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Options are the flags of `helm rollout`.
type Options struct {
	cmdutil.WatchFlags
	Output   output.Format
	Name     string
	Jobs     bool
	Timeout  time.Duration
	Timeouts map[string]time.Duration
	GiveUp   cmdutil.GiveUpFlag
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "rollout NAME",
		Short: "Wait until a release's objects are ready",
		Long: `Wait until the objects of a release's newest revision are ready, and print what was
ready when. Warnings about objects that are not ready are shown as they come, and with
--logs the logs of pods that are new or failing.

It takes no lock and changes nothing. While another process installs, upgrades or rolls
back the release, it waits for the end of that too; where that process fails, or the
objects cannot become ready, the exit code is 1.`,
		Example: `  # Watch an upgrade that a pipeline has begun
  helm rollout web --logs

  # Wait in a script, as long as it takes, and keep what was ready when
  helm rollout web --timeout 1h -o json`,
		Args:              cmdutil.Args(1, 1, "the name of a release"),
		ValidArgsFunction: f.CompleteReleases(1),
		Annotations:       map[string]string{cmdutil.NotInHelm: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.Output.Bind(fs)
	output.Complete(cmd)
	cmdutil.BindTimeout(fs, &o.Timeout, &o.Timeouts, "time to wait for all objects")
	fs.BoolVar(&o.Jobs, "wait-for-jobs", false, "wait until Jobs are complete too")
	o.GiveUp.Bind(fs)
	o.WatchFlags.Bind(fs)
	cmdutil.CompleteChoices(cmd)
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	if err := o.WatchFlags.Check(); err != nil {
		return err
	}
	cluster, err := f.Cluster()
	if err != nil {
		return err
	}
	records, err := f.Records(f.Namespace())
	if err != nil {
		return err
	}
	config := &action.Config{Cluster: action.NewCluster(cluster, apply.Options{}), Releases: records, Progress: f.Report(),
		Now: f.Now, Locker: lock.New(cluster, records, f.Namespace(), lock.Options{})}
	watch := o.Watch()
	if watch == nil {
		watch = &wait.Watch{}
	}
	options := action.WaitOptions{Jobs: o.Jobs, Timeout: o.Timeout, Timeouts: o.Timeouts, GiveUpAfter: o.GiveUp.After,
		Watch: watch}
	out, err := action.Rollout{Config: config}.Run(ctx, action.RolloutRequest{Name: o.Name, WaitOptions: options})
	if out == nil {
		return err
	}
	if werr := report.WriteRollout(f.Streams, o.Output, out, err); err == nil {
		err = werr
	}
	return err
}
