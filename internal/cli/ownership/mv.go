// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// mvOptions are the flags of `helm mv`.
type mvOptions struct {
	Options
	ToNamespace string
}

// NewMv creates `helm mv`.
func NewMv(f *cmdutil.Factory) *cobra.Command {
	var o mvOptions
	cmd := &cobra.Command{
		Use:   "mv RELEASE KIND/NAME... OTHER",
		Short: "Move objects from one release to another",
		Long: `Move objects from one release to another. Both get a new revision. The objects are
neither deleted nor restarted: only the annotations change that say which release
they belong to.

With --to-namespace the other release is in another namespace. The objects stay in
theirs, and the record of the other release says so.

The change is shown first, and made when it is confirmed, or with --yes. It needs the
locks of both releases. If it is interrupted, the next helm command that changes one
of them finishes or undoes it.

Move the objects from one chart to the other too: an upgrade of the first release
with a chart that still contains them stops, and an upgrade of the other with a chart
that lacks them deletes them.`,
		Example: `  helm mv shop persistentvolumeclaim/data service/db db

  # A cluster role that belongs to a release in another namespace from now on
  helm mv shop clusterrole/reader access --to-namespace platform --yes`,
		Args:              cmdutil.Args(3, -1, "the name of a release, objects, and the name of the other release"),
		ValidArgsFunction: f.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.mv(cmd, f, args)
		},
	}
	o.bind(cmd, f)
	fs := cmd.Flags()
	fs.StringVar(&o.ToNamespace, "to-namespace", "", "namespace of the release that gets the objects")
	// The flag exists: it is registered one line above.
	_ = cmd.RegisterFlagCompletionFunc("to-namespace", f.CompleteNamespaces)
	return cmd
}

func (o *mvOptions) mv(cmd *cobra.Command, f *cmdutil.Factory, args []string) error {
	last := len(args) - 1
	objects, err := names(cmd, args[1:last])
	if err != nil {
		return err
	}
	config, err := o.config(f)
	if err != nil {
		return err
	}
	m := action.Move{Config: config}
	req := action.MoveRequest{Name: args[0], Objects: objects, To: args[last], ToNamespace: o.ToNamespace}
	req.TransferOptions = o.options(f)
	return run(cmd.Context(), f, &o.Options, req, verb[action.MoveRequest]{
		plan: m.Plan, run: m.Run,
		done: func(t *action.Transfer) string {
			return fmt.Sprintf("moved %s from release %s, revision %d, to release %s, revision %d", count(t), args[0],
				t.From.To.Revision, args[last], t.To.To.Revision)
		},
	})
}
