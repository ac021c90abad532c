// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/internal/term"
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
  helm plan show plan.json --markdown
  helm apply plan.json`,
		Args:        cmdutil.Group,
		Annotations: map[string]string{cmdutil.NotInHelm: "", builtIn: "true"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	bindColor(cmd.PersistentFlags(), f)
	cmd.AddCommand(upgrade(f, ofPlan), upgrade(f, ofInstall), rollback(f, true), uninstall(f, true), showPlan(f))
	return cmd
}

// showPlan creates `helm plan show`.
func showPlan(f *cmdutil.Factory) *cobra.Command {
	var markdown, exitCode bool
	var keys cmdutil.VerifyFlags
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Show a plan that was saved",
		Long: `Show a plan that was saved with --save: what becomes of each object, and the values
that this rests on. No cluster is used, and a sealed plan need not be opened. The
file itself is the JSON form.`,
		Example: `  helm plan show plan.json

  # For the description of a pull request
  helm plan show plan.json --markdown > plan.md`,
		Args: cmdutil.Args(1, 1, "the file of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			doc, signer, err := cmdutil.ReadPlan(cmd.Context(), f, args[0], keys)
			if err != nil {
				return err
			}
			if signer != "" {
				if _, err := fmt.Fprintln(f.Err, signer); err != nil {
					return err
				}
			}
			text := report.PlanText(doc, f.Style(f.Out))
			if markdown {
				text = report.PlanMarkdown(doc)
			}
			if _, err := fmt.Fprint(f.Out, term.Safe(text)); err != nil {
				return err
			}
			if exitCode && doc.Changes() > 0 {
				return &cmdutil.ExitError{Code: 2}
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&markdown, "markdown", false, "print Markdown, for pull requests")
	fs.BoolVar(&exitCode, "detailed-exitcode", false, "exit with code 2 if the plan changes anything")
	keys.Bind(fs, f)
	fs.Lookup("verify").Usage = "verify the signature of the plan, FILE.prov"
	return cmd
}
