// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// NewDisown creates `helm disown`.
func NewDisown(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "disown RELEASE KIND/NAME...",
		Short: "Take objects out of a release and keep them",
		Long: `Take objects out of a release, as a new revision of it. They stay in the cluster as
they are, without the label and the annotations that say which release they belong
to, and later upgrades and an uninstall leave them alone.

The change is shown first, and made when it is confirmed, or with --yes.

Take the objects out of the chart too: an upgrade with a chart that contains them
stops, because they are not the release's own. --take-ownership takes them back.`,
		Example: `  helm disown web persistentvolumeclaim/data

  # Show what would change
  helm disown web configmap/settings secret/token --dry-run`,
		Args:              cmdutil.Args(2, -1, "the name of a release, and objects"),
		ValidArgsFunction: f.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.disown(cmd, f, args)
		},
	}
	o.bind(cmd, f)
	return cmd
}

func (o *Options) disown(cmd *cobra.Command, f *cmdutil.Factory, args []string) error {
	objects, err := names(cmd, args[1:])
	if err != nil {
		return err
	}
	config, err := o.config(f)
	if err != nil {
		return err
	}
	d, req := action.Disown{Config: config}, action.DisownRequest{Name: args[0], Objects: objects}
	req.TransferOptions = o.options(f)
	return run(cmd.Context(), f, o, req, verb[action.DisownRequest]{
		plan: d.Plan, run: d.Run,
		done: func(t *action.Transfer) string {
			return fmt.Sprintf("took %s out of release %s, revision %d", count(t), args[0], t.From.To.Revision)
		},
	})
}
