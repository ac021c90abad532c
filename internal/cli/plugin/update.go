// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/plugin"
)

// updateOptions are the flags of `helm plugin update`.
type updateOptions struct {
	cmdutil.AccessFlags
	Keyring cmdutil.VerifyFlags
}

func newUpdate(f *cmdutil.Factory) *cobra.Command {
	var o updateOptions
	cmd := &cobra.Command{
		Use:     "update PLUGIN...",
		Aliases: []string{"up"},
		Short:   "Update plugins",
		Long: `Update plugins from the source that they were installed from, and run their update
hook: to the newest commit of a git branch, the newest version in the installed
range, or the current archive at the URL. If that fails, the old version is kept.`,
		Example:           `  helm plugin update hello`,
		Args:              cmdutil.Args(1, -1, "the name of a plugin"),
		ValidArgsFunction: completeNames(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), f, args)
		},
	}
	fs := cmd.Flags()
	o.Keyring.BindKeyring(fs, f)
	fs.StringVar(&o.Username, "username", "", "user name for the plugin's host")
	fs.StringVar(&o.Password, "password", "", "password for the plugin's host")
	o.BindTLS(fs)
	o.BindPlain(fs)
	return cmd
}

func (o *updateOptions) run(ctx context.Context, f *cmdutil.Factory, names []string) error {
	in := f.Installer(o.HostOptions(), o.Keyring.Keyring, func(signer string) { _ = say(f, "%s", pluginSigner(signer)) })
	return forEach(ctx, f, names, func(p *plugin.Plugin) error {
		updated, err := in.Update(ctx, p)
		if err != nil {
			return fmt.Errorf("failed to update plugin %s: %w", p.Name, err)
		}
		if updated.Version == p.Version {
			return say(f, "Updated plugin: %s", p.Name)
		}
		return say(f, "Updated plugin: %s (%s to %s)", p.Name, p.Version, updated.Version)
	})
}
