// SPDX-License-Identifier: Apache-2.0

// Package uninstall provides the command that uninstalls releases.
package uninstall

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/storage"
)

// Options are the flags of `helm uninstall`.
type Options struct {
	cmdutil.WaitFlags
	cmdutil.ScriptFlags
	cmdutil.RemovalFlags
	Names          []string
	DryRun         cmdutil.DryRun
	IgnoreNotFound bool
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	o := Options{DryRun: cmdutil.DryRunNone}
	cmd := &cobra.Command{
		Use:     "uninstall NAME...",
		Aliases: []string{"del", "delete", "un"},
		Short:   "Uninstall releases",
		Long: `Delete the objects of releases in reverse install order, and
then the release records. --keep-history keeps the records, so that the
release can be inspected and rolled back.

Objects with the annotation helm.sh/resource-policy: keep are kept, as are CRDs in
crds/ and objects with another release's ownership labels.`,
		Example: `  helm uninstall web
  helm uninstall shop --keep-history
  helm uninstall web-staging news --wait --cascade foreground`,
		Args:              cmdutil.Args(1, -1, "the name of a release"),
		ValidArgsFunction: f.CompleteReleases(-1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Names = args
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.WaitFlags.Bind(fs, false)
	o.ScriptFlags.Bind(fs)
	o.BindOff(fs)
	o.RemovalFlags.Bind(cmd)
	cmdutil.BindDryRun(fs, &o.DryRun)
	fs.BoolVar(&o.IgnoreNotFound, "ignore-not-found", false, "succeed if the release does not exist")
	cmdutil.CompleteChoices(cmd)
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	if err := o.RemovalFlags.Check(); err != nil {
		return err
	}
	if err := o.WatchFlags.Check(); err != nil {
		return err
	}
	config, err := f.Config(o.ScriptFlags, cmdutil.ApplyFlags{}, o.Timeout)
	if err != nil {
		return err
	}
	verb := action.Uninstall{Config: config}
	var errs []error
	for _, name := range o.Names {
		if err := uninstallOne(ctx, f, verb, o, name); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func uninstallOne(ctx context.Context, f *cmdutil.Factory, verb action.Uninstall, o Options, name string) error {
	if err := action.CheckName(name); err != nil {
		return err
	}
	req := action.UninstallRequest{
		Name: name, KeepHistory: o.KeepHistory, Description: o.Description,
		Cascade: apply.Cascade(o.Cascade), Wait: o.Wait(), Timeout: o.Timeout, Timeouts: o.Timeouts,
		GiveUpAfter: o.GiveUp.After, NoHooks: o.NoHooks, TakeOwnership: o.TakeOwnership, Watch: o.WatchFlags.Watch(),
	}
	do := verb.Run
	if o.DryRun != cmdutil.DryRunNone {
		do = verb.Plan
	}
	res, err := do(ctx, req)
	if errors.Is(err, storage.ErrNotFound) && o.IgnoreNotFound {
		_, err := fmt.Fprintf(f.Out, "release %q uninstalled\n", name) // as in Helm
		return err
	}
	if errors.Is(err, storage.ErrNotFound) { // Helm's message
		return fmt.Errorf("uninstall: Release not loaded: %s: %w", name, err)
	}
	failed, isHook := errors.AsType[*action.HookError](err)
	if isHook && failed.Event == release.PostDelete { // Helm's message
		return o.explain(fmt.Errorf("uninstallation completed with 1 error(s): uninstall %s: %w", name, err))
	}
	if _, waited := errors.AsType[*action.WaitError](err); waited && !isHook {
		return err // it names the operation and the release
	}
	if err != nil {
		return o.explain(fmt.Errorf("uninstall %s: %w", name, err))
	}
	return printResult(f, o, name, res)
}

// explain adds a hint if the release's own scripts prevent the uninstall.
func (o Options) explain(err error) error {
	var failed *script.Error
	var refused *script.PermissionError
	if errors.As(err, &failed) || errors.As(err, &refused) {
		return hint.With(err, "--no-scripts uninstalls the release without running its chart's scripts")
	}
	return err
}

func printResult(f *cmdutil.Factory, o Options, name string, res *action.Uninstalled) error {
	if len(res.Kept) > 0 {
		fmt.Fprintln(f.Out, "These resources were kept due to the resource policy:")
		for _, k := range res.Kept {
			fmt.Fprintf(f.Out, "[%s] %s\n", term.SafeLine(k.Kind), term.SafeLine(k.Name))
		}
		fmt.Fprintln(f.Out)
	}
	if o.DryRun != cmdutil.DryRunNone {
		for _, d := range res.Deleted {
			fmt.Fprintf(f.Out, "would delete [%s] %s\n", term.SafeLine(d.Kind), term.SafeLine(d.Name))
		}
		for _, name := range res.Definitions {
			fmt.Fprintf(f.Out, "would leave alone [CustomResourceDefinition] %s: definitions in crds/ are never deleted\n",
				term.SafeLine(name))
		}
		if res.Release.Info.Status == release.Uninstalled && !o.KeepHistory {
			fmt.Fprintln(f.Out, "would delete the rest of its history")
		}
		_, err := fmt.Fprintf(f.Out, "release %q would be uninstalled\n", name)
		return err
	}
	_, err := fmt.Fprintf(f.Out, "release %q uninstalled\n", name)
	return err
}
