// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/env"
)

// rollbackFlags are the flags of `helm diff rollback`.
type rollbackFlags struct {
	show
	env.ApplyFlags
	env.ScriptFlags
	undo     env.UndoFlags
	threeWay bool
}

func rollback(e *env.Env) *cobra.Command {
	var f rollbackFlags
	cmd := &cobra.Command{
		Use:   "rollback NAME [REVISION]",
		Short: "Preview the changes of a rollback",
		Long: `Show what helm rollback with the same arguments would do. With
--three-way-merge=false the manifests of the two revisions are compared instead,
as helm-diff does; live objects are not read.`,
		Args:              env.Args(1, 2, "the name of a release, and perhaps a revision"),
		ValidArgsFunction: e.CompleteReleaseAndRevision,
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := revisions(cmd, args[1:])
			if err != nil {
				return err
			}
			if err := f.prepare(cmd.Context(), e, cmd.Flags()); err != nil {
				return err
			}
			change, err := f.plan(cmd.Context(), e, args[0], append(numbers, 0)[0])
			if err != nil {
				return err
			}
			return f.write(cmd.Context(), e, change, "")
		},
	}
	fs := cmd.Flags()
	var ignored env.WaitFlags
	ignored.Bind(fs, true)
	f.ApplyFlags.Bind(fs)
	f.BindOwnership(fs)
	f.ScriptFlags.Bind(fs)
	f.BindOff(fs)
	f.undo.Bind(fs, e)
	env.BindRecreatePods(fs)
	for _, name := range []string{"cleanup-on-fail", "history-max", "description", "wait", "wait-for-jobs", "timeout"} {
		_ = fs.MarkHidden(name) // accepted, so that a rollback's flags can stand; the flags exist
	}
	fs.Lookup("no-hooks").Usage = "do not compare hooks"
	bindThreeWay(cmd, &f.threeWay)
	env.CompleteChoices(cmd)
	f.show.bind(cmd)
	return cmd
}

func (f *rollbackFlags) prepare(ctx context.Context, e *env.Env, fs *pflag.FlagSet) error {
	if err := f.show.prepare(ctx, e, fs); err != nil {
		return err
	}
	f.options.NoHooks = f.undo.NoHooks
	if err := (variables{e, fs}).toggle(&f.threeWay, "three-way-merge", "HELM_DIFF_THREE_WAY_MERGE"); err != nil {
		return err
	}
	return f.Check()
}

// plan is what a rollback to the revision, 0 for the one before, would do.
func (f *rollbackFlags) plan(ctx context.Context, e *env.Env, name string, revision int) (*action.Change, error) {
	verb, err := f.undo.Rollbacker(e, f.ApplyFlags, f.ScriptFlags, 0)
	if err != nil {
		return nil, err
	}
	writing := f.ApplyOptions()
	writing.ReportConflicts = true
	change, err := verb.Plan(ctx, action.RollbackRequest{
		Name: name, Revision: revision, ApplyOptions: writing, NoHooks: f.undo.NoHooks, ServerDryRun: true, Recorded: !f.threeWay,
	})
	if err != nil || f.threeWay {
		return change, err
	}
	return action.Compare(change.From, change.To)
}
