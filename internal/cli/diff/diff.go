// SPDX-License-Identifier: Apache-2.0

// Package diff is the group of commands that tell what a change would do, or
// has done, to a release's objects.
package diff

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/env"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/op"
)

// show are the flags that all members have.
type show struct {
	output   output.Format
	options  report.DiffOptions
	exitCode bool
}

func (s *show) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	s.output.Bind(fs)
	output.Complete(cmd)
	fs.IntVarP(&s.options.Context, "context", "C", 3, "lines of context around each change")
	fs.BoolVar(&s.options.ShowUnchanged, "show-unchanged", false, "name the objects too that stay as they are")
	fs.BoolVar(&s.options.ShowSecrets, "show-secrets", false, "print the contents of Secrets")
	fs.BoolVar(&s.exitCode, "exit-code", false, "end with exit code 2 where there are changes")
}

// print prints a change, and tells of it by the exit code where asked.
func (s *show) print(e *env.Env, change *op.Change) error {
	if s.options.Context == 0 {
		s.options.Context = report.NoContext
	}
	if err := report.Plan(e.Streams, s.output, change, s.options); err != nil {
		return err
	}
	if s.exitCode && report.Changes(change) {
		return &env.ExitError{Code: 2}
	}
	return nil
}

// New makes the group of commands.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Preview changes, object by object",
		Long: `Compare the objects of a release: with what an upgrade or a rollback would make of
them, revisions with each other, releases with each other. Secrets are redacted;
nothing is written.

  helm diff upgrade web ./mychart -f production.yaml
  helm diff rollback web 3
  helm diff revision web 3 4
  helm diff release web web-staging`,
		Args:        env.Group,
		Annotations: map[string]string{env.NotInHelm: ""},
		RunE:        func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(upgrade(e), rollback(e), revision(e), release(e))
	return cmd
}

func upgrade(e *env.Env) *cobra.Command {
	var s show
	var flags env.DeployFlags
	var reuse env.ReuseFlags
	var install bool
	cmd := &cobra.Command{
		Use:   "upgrade NAME CHART",
		Short: "Preview the changes of an upgrade",
		Long: `Show what helm upgrade with the same arguments would do: which objects it would
create, change, replace and delete, which hooks it would change, and which
objects other clients have changed since they were written. The API server is
asked what each change would come to, so that defaults and refusals show.`,
		Args:              env.Args(2, 2, "the name of a release and a chart"),
		ValidArgsFunction: e.CompleteReleaseAndChart,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.DryRun = env.DryRunServer
			if err := flags.Prepare(); err != nil {
				return err
			}
			change, err := planUpgrade(cmd.Context(), e, flags, reuse.Reuse(), install, args[0], args[1])
			if err != nil {
				return err
			}
			return s.print(e, change)
		},
	}
	flags.Bind(cmd, e)
	reuse.Bind(cmd.Flags())
	cmd.Flags().BoolVarP(&install, "install", "i", false, "where there is no release of that name, what an install would do")
	var ignored int
	env.BindHistoryMax(cmd.Flags(), e, &ignored)
	for _, name := range []string{"dry-run", "hide-secret", "hide-notes", "atomic", "rollback-on-failure", "cleanup-on-fail", "history-max", "wait", "wait-for-jobs", "timeout", "description", "labels", "create-namespace", "no-hooks", "render-subchart-notes"} {
		_ = cmd.Flags().MarkHidden(name) // accepted, so that an upgrade's flags can stand; the flags exist
	}
	s.bind(cmd)
	return cmd
}

func planUpgrade(ctx context.Context, e *env.Env, flags env.DeployFlags, reuse op.Reuse, install bool, name, ref string) (*op.Change, error) {
	vals, err := flags.Values(ctx, e)
	if err != nil {
		return nil, err
	}
	c, err := e.Chart(ctx, ref, &flags.ChartFlags)
	if err != nil {
		return nil, err
	}
	verb, err := flags.Upgrader(e)
	if err != nil {
		return nil, err
	}
	req := flags.Upgrade(e, c, vals, name)
	req.Reuse = reuse
	change, _, err := verb.Plan(ctx, req)
	var missing *op.NoReleaseError
	if !install || !errors.As(err, &missing) {
		return change, err
	}
	installer, err := flags.Installer(e)
	if err != nil {
		return nil, err
	}
	first := flags.Install(e, c, vals, name)
	first.ReuseName = true
	change, _, err = installer.Plan(ctx, first)
	return change, err
}

func rollback(e *env.Env) *cobra.Command {
	var s show
	var apply env.ApplyFlags
	var scripts env.ScriptFlags
	var undo env.UndoFlags
	cmd := &cobra.Command{
		Use:               "rollback NAME [REVISION]",
		Short:             "Preview the changes of a rollback",
		Long:              `Show what helm rollback with the same arguments would do.`,
		Args:              env.Args(1, 2, "the name of a release, and perhaps a revision"),
		ValidArgsFunction: e.CompleteReleaseAndRevision,
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := revisions(cmd, args[1:])
			if err != nil {
				return err
			}
			if err := apply.Check(); err != nil {
				return err
			}
			verb, err := undo.Rollbacker(e, apply, scripts, 0)
			if err != nil {
				return err
			}
			req := op.RollbackRequest{Name: args[0], Writing: apply.Writing(), Predict: true}
			if len(numbers) > 0 {
				req.Revision = numbers[0]
			}
			change, err := verb.Plan(cmd.Context(), req)
			if err != nil {
				return err
			}
			return s.print(e, change)
		},
	}
	apply.Bind(cmd.Flags())
	scripts.Bind(cmd.Flags())
	undo.Bind(cmd.Flags(), e)
	for _, name := range []string{"cleanup-on-fail", "history-max", "description", "no-hooks"} {
		_ = cmd.Flags().MarkHidden(name) // accepted, so that a rollback's flags can stand; the flags exist
	}
	env.CompleteChoices(cmd)
	s.bind(cmd)
	return cmd
}

func revision(e *env.Env) *cobra.Command {
	var s show
	cmd := &cobra.Command{
		Use:   "revision NAME [FROM] [TO]",
		Short: "Compare two revisions of a release",
		Long: `Compare the recorded objects of two revisions. Without numbers they are the
newest and the one before it; with one number, that revision and the newest.`,
		Args:              env.Args(1, 3, "the name of a release, and up to two revisions"),
		ValidArgsFunction: e.CompleteReleaseAndRevision,
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := revisions(cmd, args[1:])
			if err != nil {
				return err
			}
			numbers = append(numbers, 0, 0)
			records, err := e.Records(e.Namespace())
			if err != nil {
				return err
			}
			change, err := op.Diff{Releases: records}.Revisions(cmd.Context(), args[0], numbers[0], numbers[1])
			if err != nil {
				return err
			}
			return s.print(e, change)
		},
	}
	s.bind(cmd)
	return cmd
}

func release(e *env.Env) *cobra.Command {
	var s show
	var namespace string
	cmd := &cobra.Command{
		Use:               "release NAME OTHER",
		Short:             "Compare two releases",
		Long:              `Compare the recorded objects of the newest revisions of two releases.`,
		Args:              env.Args(2, 2, "the names of two releases"),
		ValidArgsFunction: e.CompleteReleases(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			records, err := e.Records(e.Namespace())
			if err != nil {
				return err
			}
			others := records
			if namespace != "" {
				if others, err = e.Records(namespace); err != nil {
					return err
				}
			}
			change, err := op.Diff{Releases: records}.Between(cmd.Context(), args[0], others, args[1])
			if err != nil {
				return err
			}
			return s.print(e, change)
		},
	}
	cmd.Flags().StringVar(&namespace, "other-namespace", "", "the namespace of the second release, where it is another")
	s.bind(cmd)
	return cmd
}

// revisions reads numbers of revisions.
func revisions(cmd *cobra.Command, args []string) ([]int, error) {
	var out []int
	for _, a := range args {
		n, err := strconv.Atoi(a)
		if err != nil || n < 0 {
			return nil, &env.UsageError{Command: cmd.CommandPath(), Usage: cmd.UseLine(), Problem: fmt.Sprintf("needs the number of a revision, %q is none", a)}
		}
		out = append(out, n)
	}
	return out, nil
}
