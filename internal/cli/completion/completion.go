// SPDX-License-Identifier: Apache-2.0

// Package completion provides the commands that print completion scripts.
package completion

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// New creates the command and its subcommands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion",
		Short: "Generate completion scripts",
		Long: `Generate a script for your shell that completes helm's commands, flags, releases,
revisions, charts, versions, namespaces, contexts and plugins.

To complete in every new shell, add the line of your shell to ~/.bashrc, to ~/.zshrc after
compinit, to ~/.config/fish/config.fish or to $PROFILE:

  bash        source <(helm completion bash)
  zsh         source <(helm completion zsh)
  fish        helm completion fish | source
  powershell  helm completion powershell | Out-String | Invoke-Expression`,
		Example: `  # Complete helm's commands in this shell
  source <(helm completion bash)`,
		Args: cmdutil.Group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, shell := range []struct {
		name    string
		example string
		write   func(root *cobra.Command, w io.Writer, descriptions bool) error
	}{
		{"bash", "source <(helm completion bash)", bash},
		{"zsh", "source <(helm completion zsh)", func(r *cobra.Command, w io.Writer, d bool) error {
			if d {
				return r.GenZshCompletion(w)
			}
			return r.GenZshCompletionNoDesc(w)
		}},
		{"fish", "helm completion fish | source", func(r *cobra.Command, w io.Writer, d bool) error { return r.GenFishCompletion(w, d) }},
		{"powershell", "helm completion powershell | Out-String | Invoke-Expression", func(r *cobra.Command, w io.Writer, d bool) error {
			if d {
				return r.GenPowerShellCompletionWithDesc(w)
			}
			return r.GenPowerShellCompletion(w)
		}},
	} {
		var plain bool
		leaf := &cobra.Command{
			Use:               shell.name,
			Short:             "Generate the completion script for " + shell.name,
			Example:           "  " + shell.example,
			Args:              cmdutil.Args(0, 0, ""),
			ValidArgsFunction: cobra.NoFileCompletions,
			RunE: func(cmd *cobra.Command, _ []string) error {
				if err := shell.write(cmd.Root(), f.Out, !plain); err != nil {
					return fmt.Errorf("write completion for %s: %w", shell.name, err)
				}
				return nil
			},
		}
		leaf.Flags().BoolVar(&plain, "no-descriptions", false, "complete without descriptions")
		cmd.AddCommand(leaf)
	}
	return cmd
}

// Bash writes the completion script for bash.
func Bash(root *cobra.Command, w io.Writer) error { return bash(root, w, true) }

func bash(root *cobra.Command, w io.Writer, descriptions bool) error {
	if _, err := io.WriteString(w, bashWords); err != nil {
		return err
	}
	return root.GenBashCompletionV2(w, descriptions)
}
