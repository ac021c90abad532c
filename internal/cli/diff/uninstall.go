// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/kube/apply"
)

// uninstallFlags are the flags of `helm diff uninstall`.
type uninstallFlags struct {
	show
	save
	cmdutil.WaitFlags
	cmdutil.ScriptFlags
	removal cmdutil.RemovalFlags
}

func uninstall(factory *cmdutil.Factory, planning bool) *cobra.Command {
	var f uninstallFlags
	cmd := &cobra.Command{
		Use:   "uninstall NAME",
		Short: "Preview the changes of an uninstall",
		Long: `Show what helm uninstall would do with the same arguments: which objects it would
delete, with their content in the cluster, and which it would keep and why.
--save keeps the plan, and helm apply does exactly that.`,
		Example:           "  helm diff uninstall web\n  helm diff uninstall web --keep-history --save plan.json",
		Args:              cmdutil.Args(1, 1, "the name of a release"),
		ValidArgsFunction: factory.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.show.prepare(cmd.Context(), factory, cmd.Flags()); err != nil {
				return err
			}
			if err := f.save.prepare(factory, cmd.Flags()); err != nil {
				return err
			}
			return f.run(cmd.Context(), factory, args[0])
		},
	}
	if planning {
		cmd.Short, cmd.Example = "Plan an uninstall", "  helm plan uninstall web\n  helm plan uninstall web --save plan.json"
	}
	fs := cmd.Flags()
	f.WaitFlags.Bind(fs, false)
	f.ScriptFlags.Bind(fs)
	f.BindOff(fs)
	f.removal.Bind(cmd)
	f.show.bind(cmd)
	f.save.bind(cmd, factory, false)
	return cmd
}

func (f *uninstallFlags) run(ctx context.Context, factory *cmdutil.Factory, name string) error {
	if err := f.removal.Check(); err != nil {
		return err
	}
	f.options.NoHooks = f.removal.NoHooks
	config, err := factory.Config(f.ScriptFlags, cmdutil.ApplyFlags{}, f.Timeout)
	if err != nil {
		return err
	}
	change, err := action.Uninstall{Config: config}.Change(ctx, action.UninstallRequest{
		Name: name, KeepHistory: f.removal.KeepHistory, Description: f.removal.Description,
		Cascade: apply.Cascade(f.removal.Cascade), Wait: f.Wait(), Timeout: f.Timeout, Timeouts: f.Timeouts,
		GiveUpAfter: f.GiveUp.After, NoHooks: f.removal.NoHooks, TakeOwnership: f.removal.TakeOwnership,
	})
	if err != nil {
		return err
	}
	return f.save.around(ctx, factory, change.Kept, func() error {
		return f.show.write(ctx, factory, change, "Plan of the uninstall")
	})
}
