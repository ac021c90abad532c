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
		Long: `Fetch the newest version of plugins from where they came, and run their update
hook: the newest commit of a git branch, the newest version in the range that was
asked for, or what is at the archive's URL now. If it fails, the old version stays.`,
		Args:              cmdutil.Args(1, -1, "the name of a plugin"),
		ValidArgsFunction: completeNames(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), f, args)
		},
	}
	fs := cmd.Flags()
	o.Keyring.BindKeyring(fs, f)
	fs.StringVar(&o.Username, "username", "", "user name at the plugin's host")
	fs.StringVar(&o.Password, "password", "", "password at the plugin's host")
	o.BindTLS(fs)
	o.BindPlain(fs)
	return cmd
}

func (o *updateOptions) run(ctx context.Context, f *cmdutil.Factory, names []string) error {
	in := f.Installer(o.HostOptions(), o.Keyring.Keyring, func(signer string) { _ = say(f, "%s", inPluginsWords(signer)) })
	return each(ctx, f, names, func(p *plugin.Plugin) error {
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
