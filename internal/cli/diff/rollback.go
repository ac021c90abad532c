// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// rollbackFlags are the flags of `helm diff rollback`.
type rollbackFlags struct {
	show
	save
	cmdutil.WaitFlags
	cmdutil.ApplyFlags
	cmdutil.ScriptFlags
	undo     cmdutil.RollbackFlags
	threeWay bool
}

func rollback(factory *cmdutil.Factory, planning bool) *cobra.Command {
	var f rollbackFlags
	cmd := &cobra.Command{
		Use:   "rollback NAME [REVISION]",
		Short: "Preview the changes of a rollback",
		Long: `Show the changes of helm rollback with the same arguments. With
--three-way-merge=false the manifests of the two revisions are compared instead,
as helm-diff does; live objects are not read.`,
		Example: `  helm diff rollback web
  helm diff rollback web 1`,
		Args:              cmdutil.Args(1, 2, "the name of a release, and optionally a revision"),
		ValidArgsFunction: factory.CompleteReleaseAndRevision,
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := revisions(cmd, args[1:])
			if err != nil {
				return err
			}
			if err := f.prepare(cmd.Context(), factory, cmd.Flags()); err != nil {
				return err
			}
			plan := func(dryRun bool) (*action.Change, error) {
				return f.plan(cmd.Context(), factory, args[0], append(numbers, 0)[0], dryRun)
			}
			change, err := plan(true)
			if err != nil && f.refuses(err) {
				return f.writeRefused(cmd.Context(), factory, err, func() (*action.Change, error) { return plan(false) })
			}
			if err != nil {
				return err
			}
			if change.Kept != nil {
				change.Kept.Options.NoValidation = f.NoValidation()
			}
			return f.save.around(cmd.Context(), factory, change.Kept, func() error {
				return f.show.write(cmd.Context(), factory, change, "")
			})
		},
	}
	fs := cmd.Flags()
	f.WaitFlags.Bind(fs, true)
	f.ApplyFlags.Bind(fs)
	f.BindOwnership(fs)
	f.ScriptFlags.Bind(fs)
	f.BindOff(fs)
	f.undo.Bind(fs, factory)
	cmdutil.BindRecreatePods(fs)
	if planning {
		cmd.Short, cmd.Example = "Plan a rollback", "  helm plan rollback web\n  helm plan rollback web 1 --save plan.json"
	} else {
		ofDiff.hide(fs, "cleanup-on-fail", "history-max", "description", "wait", "wait-for-jobs", "timeout",
			"readiness-timeout")
	}
	fs.Lookup("no-hooks").Usage = "do not compare hooks"
	bindThreeWay(cmd, &f.threeWay)
	cmdutil.CompleteChoices(cmd)
	f.show.bind(cmd)
	f.save.bind(cmd, factory, false)
	return cmd
}

func (f *rollbackFlags) prepare(ctx context.Context, factory *cmdutil.Factory, fs *pflag.FlagSet) error {
	if err := f.show.prepare(ctx, factory, fs); err != nil {
		return err
	}
	if err := f.save.prepare(factory, fs); err != nil {
		return err
	}
	f.options.NoHooks = f.undo.NoHooks
	if err := (variables{factory, fs}).toggle(&f.threeWay, "three-way-merge", "HELM_DIFF_THREE_WAY_MERGE"); err != nil {
		return err
	}
	return errors.Join(f.ApplyFlags.Check(), f.WaitFlags.Check())
}

// plan returns the changes of a rollback to revision, or to the previous one if it is 0, with or
// without a dry run of the API server.
func (f *rollbackFlags) plan(ctx context.Context, factory *cmdutil.Factory, name string, revision int,
	dryRun bool) (*action.Change, error) {
	verb, err := f.undo.Rollbacker(factory, f.ApplyFlags, f.ScriptFlags, f.Timeout)
	if err != nil {
		return nil, err
	}
	writing := f.ApplyOptions()
	writing.ReportConflicts = true
	change, err := verb.Plan(ctx, action.RollbackRequest{
		Name: name, Revision: revision, ApplyOptions: writing, NoHooks: f.undo.NoHooks, ServerDryRun: dryRun,
		Recorded: !f.threeWay, Keep: f.save.wanted(), Description: f.undo.Description, WaitOptions: f.WaitOptions(),
		CleanupOnFail: f.undo.CleanupOnFail, MaxHistory: f.undo.MaxHistory,
	})
	if err != nil || f.threeWay {
		return change, err
	}
	return action.Compare(change.From, change.To)
}
