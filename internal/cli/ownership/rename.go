// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// NewRename creates `helm rename`.
func NewRename(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "rename OLD NEW",
		Short: "Give a release another name",
		Long: `Give a release another name in its namespace: its records, history included, and the
annotations of its objects that say which release they belong to. The objects are
neither deleted nor restarted, and keep their names.

Most charts make the names of objects of the name of the release. With the next
upgrade such objects are created under other names, and the ones of today are
deleted; they are listed before the change is made, and so are those whose selectors
have the name, which no upgrade can change. A value like fullnameOverride keeps the
names in many charts.

The change is shown first, and made when it is confirmed, or with --yes. If it is
interrupted, the next helm command that changes one of the two releases finishes or
undoes it.`,
		Example: `  # Show which objects the next upgrade would create under other names
  helm rename web shop --dry-run

  helm rename web shop`,
		Args:              cmdutil.Args(2, 2, "the name of a release, and its new name"),
		ValidArgsFunction: f.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.rename(cmd, f, args[0], args[1])
		},
	}
	o.bind(cmd, f)
	return cmd
}

func (o *Options) rename(cmd *cobra.Command, f *cmdutil.Factory, name, newName string) error {
	config, err := o.config(f)
	if err != nil {
		return err
	}
	r, req := action.Rename{Config: config}, action.RenameRequest{Name: name, NewName: newName}
	req.TransferOptions = o.options(f)
	return run(cmd.Context(), f, o, req, verb[action.RenameRequest]{
		plan: r.Plan, run: r.Run,
		done: func(t *action.Transfer) string {
			return fmt.Sprintf("renamed release %s to %s, revision %d", name, newName, t.To.To.Revision)
		},
	})
}
