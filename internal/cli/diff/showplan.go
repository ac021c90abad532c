// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/planfile"
)

// showPlan creates `helm plan show`.
func showPlan(f *cmdutil.Factory) *cobra.Command {
	var format planFormat
	var exitCode bool
	var keys cmdutil.VerifyFlags
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Show a plan that was saved",
		Long: `Show a plan that was saved with --save: what becomes of each object, and the values
that this rests on. No cluster is used, and a sealed plan need not be opened. JSON and
YAML have what the file has, without the part that helm apply applies.`,
		Example: `  helm plan show plan.json

  # For the description of a pull request
  helm plan show plan.json -o markdown > plan.md

  # Which objects are deleted
  helm plan show plan.json -o json | jq '.objects[] | select(.action == "delete") | .name'`,
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
			if err := format.write(f, doc); err != nil {
				return err
			}
			if exitCode && doc.Changes() > 0 {
				return &cmdutil.ExitError{Code: 2}
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.VarP(&format, "output", "o", "output format: text, json, yaml or markdown, for pull requests")
	fs.BoolVar(&exitCode, "detailed-exitcode", false, "exit with code 2 if the plan changes anything")
	keys.Bind(fs, f)
	fs.Lookup("verify").Usage = "verify the signature of the plan, FILE.prov"
	// The only error is that the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(planFormats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// planFormat is a format of `helm plan show`. The zero value is text.
type planFormat string

const (
	planText     planFormat = "text"
	planJSON     planFormat = "json"
	planYAML     planFormat = "yaml"
	planMarkdown planFormat = "markdown"
)

// planFormats returns all formats, the default first.
func planFormats() []string {
	return []string{string(planText), string(planJSON), string(planYAML), string(planMarkdown)}
}

// String implements pflag.Value.
func (p *planFormat) String() string {
	if *p == "" {
		return string(planText)
	}
	return string(*p)
}

// Set implements pflag.Value. It accepts "table" too, which is the default of other commands.
func (p *planFormat) Set(text string) error {
	if !slices.Contains(append(planFormats(), string(output.Table)), text) {
		return errors.New("must be text, json, yaml or markdown")
	}
	*p = planFormat(text)
	return nil
}

// Type implements pflag.Value.
func (p *planFormat) Type() string { return "format" }

// write prints a plan.
func (p *planFormat) write(f *cmdutil.Factory, doc *planfile.Document) error {
	text := ""
	switch *p {
	case planJSON:
		return output.WriteJSON(f.Out, doc.Reviewed())
	case planYAML:
		return output.WriteYAML(f.Out, doc.Reviewed())
	case planMarkdown:
		text = report.PlanMarkdown(doc)
	default:
		text = report.PlanText(doc, f.Style(f.Out))
	}
	_, err := fmt.Fprint(f.Out, text)
	return err
}
