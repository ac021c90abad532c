// SPDX-License-Identifier: Apache-2.0

// Package rollback provides the command that restores an earlier revision of a release.
package rollback

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/report"
)

// Options are the flags of `helm rollback`.
type Options struct {
	cmdutil.WaitFlags
	cmdutil.ApplyFlags
	cmdutil.ScriptFlags
	cmdutil.RollbackFlags

	Name     string
	Revision int
	DryRun   cmdutil.DryRun
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	o := Options{DryRun: cmdutil.DryRunNone}
	cmd := &cobra.Command{
		Use:   "rollback NAME [REVISION]",
		Short: "Roll back a release to an earlier revision",
		Long: `Restore an earlier revision of a release as a new revision: its recorded objects,
values and hooks. The default is the previous
revision, or the only one; helm history lists the revisions. A release
uninstalled with --keep-history is restored.

Objects are changed by a three-way merge, as in an upgrade.`,
		Example: `  helm rollback web

  # Preview the changes, then roll back to revision 1 and wait until the objects are ready
  helm diff rollback web 1
  helm rollback web 1 --wait`,
		Args:              cmdutil.Args(1, 2, "the name of a release, and optionally a revision"),
		ValidArgsFunction: f.CompleteReleaseAndRevision,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			if len(args) > 1 {
				var err error
				if o.Revision, err = strconv.Atoi(args[1]); err != nil || o.Revision < 0 {
					return &cmdutil.UsageError{Command: cmd.CommandPath(), Usage: cmd.UseLine(),
						Problem: fmt.Sprintf("could not convert revision to a number: %q", args[1])}
				}
			}
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.WaitFlags.Bind(fs, true)
	o.ApplyFlags.Bind(fs)
	o.BindOwnership(fs)
	o.ScriptFlags.Bind(fs)
	o.BindOff(fs)
	o.RollbackFlags.Bind(fs, f)
	cmdutil.BindDryRun(fs, &o.DryRun)
	cmdutil.BindRecreatePods(fs)
	cmdutil.CompleteChoices(cmd)
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	if err := errors.Join(o.ApplyFlags.Check(), o.WaitFlags.Check()); err != nil {
		return err
	}
	verb, err := o.Rollbacker(f, o.ApplyFlags, o.ScriptFlags, o.Timeout)
	if err != nil {
		return err
	}
	req := action.RollbackRequest{
		Name: o.Name, Revision: o.Revision, Description: o.Description, WaitOptions: o.WaitOptions(),
		ApplyOptions: o.ApplyOptions(),
		NoHooks:      o.NoHooks, CleanupOnFail: o.CleanupOnFail, UndoCancelled: true, MaxHistory: o.MaxHistory,
		ServerDryRun: o.DryRun == cmdutil.DryRunServer,
	}
	if o.DryRun != cmdutil.DryRunNone {
		change, err := verb.Plan(ctx, req)
		if err != nil {
			return err
		}
		return report.Plan(ctx, f.Streams, change)
	}
	if _, err := verb.Run(ctx, req); err != nil {
		return err
	}
	_, err = fmt.Fprintln(f.Out, "Rollback was a success! Happy Helming!")
	return err
}
