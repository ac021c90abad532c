// SPDX-License-Identifier: Apache-2.0

// Package plugin is the group of commands that install, list, update and remove
// plugins, and pack and verify their archives.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/env"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plugin"
)

// New makes the command with its children.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Install, list, update and uninstall plugins",
		Long: `Manage plugins. They add commands to helm, fetch charts by other protocols,
and change what charts render to. They are programs that run as you: install what
you trust.`,
		Args: env.Group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newInstall(e), newList(e), newUpdate(e), newUninstall(e), newPackage(e), newVerify(e))
	return cmd
}

// completeNames completes names of installed plugins that are not yet given.
func completeNames(e *env.Env) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, p := range e.Plugins().Quietly() {
			if strings.HasPrefix(p.Name, toComplete) && !slices.Contains(args, p.Name) {
				names = append(names, p.Name+"\t"+p.Short)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// each does something with plugins by name, with the others where it fails with
// one.
func each(ctx context.Context, e *env.Env, names []string, do func(*plugin.Plugin) error) error {
	var errs []error
	for _, name := range names {
		p, err := e.Plugins().Lookup(name)
		if err == nil {
			err = do(p)
		}
		if errors.Is(err, context.Canceled) {
			return ctx.Err()
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func say(e *env.Env, format string, args ...any) error {
	_, err := fmt.Fprintln(e.Out, term.Safe(fmt.Sprintf(format, args...)))
	return err
}

func warn(e *env.Env, format string, args ...any) {
	fmt.Fprintf(e.Err, "%s %s\n", e.Style(e.Err).Yellow("WARNING:"), term.SafeLine(fmt.Sprintf(format, args...)))
}

// inPluginsWords tells who signed a plugin, where the words are those for charts.
func inPluginsWords(signer string) string {
	return strings.Replace(signer, "Chart Hash Verified", "Plugin Hash Verified", 1)
}
