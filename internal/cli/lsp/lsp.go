// SPDX-License-Identifier: Apache-2.0

// Package lsp provides the command that serves editors.
package lsp

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/build"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/lsp"
	"github.com/moonhelm/moonhelm/internal/term"
)

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Serve an editor while charts are written",
		Long: `Answer an editor's questions about charts, over standard input and output, in the
Language Server Protocol: completion and descriptions of values, functions, named
templates and scripts; where a value is set and used; and what "helm lint" finds,
values that nothing reads among it, while files are written.

An editor starts it; docs/editors.md has the configuration for some. Files are
read and never written, and no cluster is accessed.`,
		Example: `  # Neovim: vim.lsp.start({name = "helm", cmd = {"helm", "lsp"}, root_dir = "web"})
  helm lsp --stdio`,
		Annotations: map[string]string{cmdutil.NotInHelm: ""},
		Args:        cmdutil.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), f)
		},
	}
	cmd.Flags().Bool("stdio", true, "serve standard input and output, which is the only way; editors add this flag")
	return cmd
}

// A TerminalError is returned if a person started the command.
type TerminalError struct{}

func (TerminalError) Error() string { return "helm lsp talks to an editor, not to a terminal" }

// Hint returns what to do instead.
func (TerminalError) Hint() string {
	return `configure your editor to start it; "helm lint" prints what it would report`
}

func run(ctx context.Context, f *cmdutil.Factory) error {
	if term.IsTerminal(f.In) {
		return TerminalError{}
	}
	scripts, err := f.ScriptChecker(cmdutil.ScriptFlags{})
	if err != nil {
		return err
	}
	err = lsp.Server{
		Loader: f.Loader(), Scripts: scripts, Namespace: f.Namespace(), Version: build.Release(),
	}.Serve(ctx, f.In, f.Out)
	if errors.Is(err, lsp.ErrNoShutdown) {
		return &cmdutil.ExitError{Code: 1}
	}
	return err
}
