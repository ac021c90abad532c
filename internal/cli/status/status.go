// SPDX-License-Identifier: Apache-2.0

// Package status provides the command that shows the status of a release.
package status

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/kube/status"
)

// Options are the flags of `helm status`.
type Options struct {
	Output   output.Format
	Name     string
	Revision int
	Tree     bool
	Watch    bool
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show a release's state and objects",
		Long: `Show the status of a release: its deployment time, status and revision, its
objects in the cluster, the last run of its tests, and its notes.

With --tree, show the objects with all that they own, down to pods and containers,
what of them is ready, and the reason where something is not. --watch shows it again
whenever it changes, until it is interrupted; in a pipe it prints the changes only.`,
		Example: `  helm status web
  helm status web --tree
  helm status web --revision 1 -o json`,
		Args:              cmdutil.Args(1, 1, "the name of a release"),
		ValidArgsFunction: f.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			switch {
			case o.Watch && !o.Tree:
				return hint.With(errors.New("--watch works with --tree only"), "add --tree")
			case o.Tree:
				return runTree(cmd.Context(), f, o)
			}
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.Output.Bind(fs)
	output.Complete(cmd)
	fs.IntVar(&o.Revision, "revision", 0, "show this revision instead of the newest")
	// the flag exists: it is registered one line above
	_ = cmd.RegisterFlagCompletionFunc("revision", f.CompleteRevisions)
	fs.BoolVar(&o.Tree, "tree", false, "show the objects by owner, down to pods and containers, with their readiness")
	fs.BoolVarP(&o.Watch, "watch", "w", false, "with --tree, follow the changes until interrupted")
	for _, old := range []string{"show-desc", "show-resources"} {
		fs.Bool(old, true, "accepted for compatibility: it is always shown")
		_ = fs.MarkHidden(old) // the flag exists: it is registered one line above
	}
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	records, err := f.Records(f.Namespace())
	if err != nil {
		return err
	}
	cluster, err := f.Cluster()
	if err != nil {
		return err
	}
	st, err := action.Status{Releases: records, Cluster: status.New(cluster)}.Run(ctx, o.Name, o.Revision)
	if err != nil {
		return err
	}
	return report.WriteStatus(f.Streams, o.Output, st)
}
