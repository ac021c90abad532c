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

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plugin"
)

// New makes the command with its children.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Install, list, update and uninstall plugins",
		Long: `Manage plugins. They add commands to helm, fetch charts by other protocols,
and change what charts render to. They are programs that run as you: install what
you trust.`,
		Args: cmdutil.Group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newInstall(f), newList(f), newUpdate(f), newUninstall(f), newPackage(f), newVerify(f))
	return cmd
}

// completeNames completes names of installed plugins that are not yet given.
func completeNames(f *cmdutil.Factory) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, p := range f.Plugins().Quietly() {
			if strings.HasPrefix(p.Name, toComplete) && !slices.Contains(args, p.Name) {
				names = append(names, p.Name+"\t"+p.Short)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// each does something with plugins by name, with the others where it fails with
// one.
func each(ctx context.Context, f *cmdutil.Factory, names []string, do func(*plugin.Plugin) error) error {
	var errs []error
	for _, name := range names {
		p, err := f.Plugins().Lookup(name)
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

func say(f *cmdutil.Factory, format string, args ...any) error {
	_, err := fmt.Fprintln(f.Out, term.Safe(fmt.Sprintf(format, args...)))
	return err
}

func warn(f *cmdutil.Factory, format string, args ...any) {
	fmt.Fprintf(f.Err, "%s %s\n", f.Style(f.Err).Yellow("WARNING:"), term.SafeLine(fmt.Sprintf(format, args...)))
}

// inPluginsWords tells who signed a plugin, where the words are those for charts.
func inPluginsWords(signer string) string {
	return strings.Replace(signer, "Chart Hash Verified", "Plugin Hash Verified", 1)
}
