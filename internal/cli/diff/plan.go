// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// group is the command that a preview of an upgrade belongs to.
type group int

const (
	ofDiff    group = iota // helm diff upgrade
	ofPlan                 // helm plan upgrade
	ofInstall              // helm plan install
)

// describe changes the help of `helm diff upgrade` to that of the group.
func (g group) describe(cmd *cobra.Command) {
	switch g {
	case ofPlan:
		cmd.Short = "Plan an upgrade"
		cmd.Long = `Show what helm upgrade would change with the same arguments, as helm diff upgrade
does, and keep it with --save: helm apply does exactly that, or refuses.`
		cmd.Example = `  # Plan, review, and do exactly that
  helm plan upgrade web ./mychart -f production.yaml --wait --save plan.json
  helm plan show plan.json
  helm apply plan.json

  # Seal the manifest and the values, and let the plan expire
  helm plan upgrade web ./mychart --save plan.json --seal-for "$RECIPIENT" --valid-for 24h`
	case ofInstall:
		cmd.Use, cmd.Short = "install NAME CHART", "Plan an install"
		cmd.Long = `Show what helm install would create with the same arguments, and keep it with
--save: helm apply does exactly that, or refuses.`
		cmd.Example = `  helm plan install blog ./mychart --create-namespace --save plan.json`
	}
}

// hide hides flags that are accepted, so that the flags of the operation work.
func (group) hide(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = fs.MarkHidden(name) // the flags exist
	}
}

// NewPlan creates `helm plan`, the short name of `helm diff` for plans that are kept.
func NewPlan(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Plan an operation, for review and helm apply",
		Long: `Show what an operation would change, as helm diff does, and keep it in a file with
--save. The file is JSON: what becomes of each object and hook, and what that rests
on. helm apply does exactly that, with another identity if need be, and refuses
before its first write if anything that the plan rests on has changed.

Nothing is written to the cluster.`,
		Example: `  helm plan upgrade web ./mychart -f production.yaml --save plan.json
  helm plan show plan.json -o markdown
  helm apply plan.json`,
		Args:        cmdutil.Group,
		Annotations: map[string]string{cmdutil.NotInHelm: "", builtIn: "true"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	bindColor(cmd.PersistentFlags(), f)
	cmd.AddCommand(upgrade(f, ofPlan), upgrade(f, ofInstall), rollback(f, true), uninstall(f, true), showPlan(f))
	return cmd
}
