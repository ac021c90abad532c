// SPDX-License-Identifier: Apache-2.0

// Package plugin provides the commands that manage plugins: install, list, update, uninstall,
// package and verify.
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

// New creates the command and its subcommands.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Install, list, update and uninstall plugins",
		Long: `Manage plugins, which add commands to helm, download charts by other protocols,
and post-render charts. Plugins run with your permissions: install only plugins that
you trust.`,
		Example: `  helm plugin install ./my-plugin
  helm plugin list
  helm plugin uninstall my-plugin`,
		Args: cmdutil.Group,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newInstall(f), newList(f), newUpdate(f), newUninstall(f), newPackage(f), newVerify(f))
	return cmd
}

// completeNames completes the names of installed plugins, except for those in args.
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

// forEach calls do with each of the named plugins. It continues after an error, and returns all
// errors.
func forEach(ctx context.Context, f *cmdutil.Factory, names []string, do func(*plugin.Plugin) error) error {
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

// pluginSigner returns the text about a signer with "Plugin" instead of "Chart".
func pluginSigner(signer string) string {
	return strings.Replace(signer, "Chart Hash Verified", "Plugin Hash Verified", 1)
}
