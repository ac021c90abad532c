// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/plugin"
)

func newUninstall(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "uninstall PLUGIN...",
		Aliases: []string{"rm", "remove"},
		Short:   "Uninstall plugins",
		Long: `Run the delete hook of plugins and remove them. For a plugin installed
from a directory, only the link is removed.`,
		Example:           `  helm plugin uninstall my-plugin`,
		Args:              cmdutil.Args(1, -1, "the name of a plugin"),
		ValidArgsFunction: completeNames(f),
		RunE: func(cmd *cobra.Command, names []string) error {
			in := f.Installer(fetch.HostOptions{}, "", nil)
			return forEach(cmd.Context(), f, names, func(p *plugin.Plugin) error {
				if err := in.Uninstall(cmd.Context(), p); err != nil {
					return fmt.Errorf("failed to uninstall plugin %s: %w", p.Name, err)
				}
				if err := say(f, "Uninstalled plugin: %s", p.Name); err != nil {
					return err
				}
				if precedence(f, cmd, p) != cmdutil.PluginRuns {
					return nil
				}
				return say(f, "\"helm %s\" runs the built-in command again", p.Name)
			})
		},
	}
}
