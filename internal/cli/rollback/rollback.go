// SPDX-License-Identifier: Apache-2.0

// Package rollback is the command that takes an earlier revision of a release
// up again.
package rollback

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/env"
	"github.com/moonhelm/moonhelm/internal/report"
)

// Options are the flags of `helm rollback`.
type Options struct {
	env.WaitFlags
	env.ApplyFlags
	env.ScriptFlags
	env.UndoFlags

	Name     string
	Revision int
	DryRun   env.DryRun
}

// New makes the command.
func New(e *env.Env) *cobra.Command {
	o := Options{DryRun: env.DryRunNone}
	cmd := &cobra.Command{
		Use:   "rollback NAME [REVISION]",
		Short: "Roll a release back to an earlier revision",
		Long: `Restore an earlier revision of a release, as a new revision: its objects as they
were recorded, its values, its hooks. Without a number it is the
revision before the newest, or the only one; helm history lists them. A release
that was uninstalled with its history kept comes back.

Objects are changed by a three-way merge, as upgrade does it.

  helm rollback web
  helm rollback web 3 --wait
  helm diff rollback web 3                        see first what it would do`,
		Args:              env.Args(1, 2, "the name of a release, and perhaps a revision"),
		ValidArgsFunction: e.CompleteReleaseAndRevision,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			if len(args) > 1 {
				var err error
				if o.Revision, err = strconv.Atoi(args[1]); err != nil || o.Revision < 0 {
					return &env.UsageError{Command: cmd.CommandPath(), Usage: cmd.UseLine(), Problem: fmt.Sprintf("could not convert revision to a number: %q is none", args[1])}
				}
			}
			return run(cmd.Context(), e, o)
		},
	}
	fs := cmd.Flags()
	o.WaitFlags.Bind(fs, true)
	o.ApplyFlags.Bind(fs)
	o.BindOwnership(fs)
	o.ScriptFlags.Bind(fs)
	o.BindOff(fs)
	o.UndoFlags.Bind(fs, e)
	env.BindDryRun(fs, &o.DryRun)
	env.BindRecreatePods(fs)
	env.CompleteChoices(cmd)
	return cmd
}

func run(ctx context.Context, e *env.Env, o Options) error {
	if err := o.ApplyFlags.Check(); err != nil {
		return err
	}
	verb, err := o.Rollbacker(e, o.ApplyFlags, o.ScriptFlags, o.Timeout)
	if err != nil {
		return err
	}
	req := action.RollbackRequest{
		Name: o.Name, Revision: o.Revision, Description: o.Description, WaitOptions: o.WaitOptions(), ApplyOptions: o.ApplyOptions(),
		NoHooks: o.NoHooks, CleanupOnFail: o.CleanupOnFail, UndoCancelled: true, MaxHistory: o.MaxHistory, ServerDryRun: o.DryRun == env.DryRunServer,
	}
	if o.DryRun != env.DryRunNone {
		change, err := verb.Plan(ctx, req)
		if err != nil {
			return err
		}
		return report.Plan(ctx, e.Streams, change)
	}
	if _, err := verb.Run(ctx, req); err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.Out, "Rollback was a success! Happy Helming!")
	return err
}
