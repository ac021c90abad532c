// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/plugin"
)

// installOptions are the flags of `helm plugin install`.
type installOptions struct {
	cmdutil.AccessFlags
	cmdutil.VerifyFlags
	Version string
	// VerifySet reports whether --verify is set explicitly.
	VerifySet bool
}

func newInstall(f *cmdutil.Factory) *cobra.Command {
	var o installOptions
	cmd := &cobra.Command{
		Use:     "install PATH|URL",
		Aliases: []string{"add"},
		Short:   "Install a plugin",
		Long: `Install a plugin and run its install hook. The source is one of these:

  ./my-plugin                           a directory, which is linked
  my-plugin-1.2.3.tgz                   an archive, or the URL of one
  oci://registry.example.com/plugins/p  a plugin in a registry
  https://example.com/ann/helm-hello    a git repository
  git@example.com:ann/helm-hello.git

--version selects a tag, a branch, a commit or a range of versions of a git
repository, and a version or a range in a registry.

An archive is installed only if its provenance file (.prov) is valid and signed by a
key in the keyring, unless --verify=false is given. Git repositories have none.`,
		Example: `  # A directory, which is linked
  helm plugin install ./my-plugin

  # A signed archive; an archive without a signature
  helm plugin install https://example.com/plugins/greet-1.2.3.tgz --keyring ann.asc
  helm plugin install other-1.2.3.tgz --verify=false

  # A tag of a git repository
  helm plugin install https://example.com/ann/helm-hello --version v1.2.3`,
		Args: cmdutil.Args(1, 1, "the path or the URL of a plugin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.VerifySet = cmd.Flags().Changed("verify")
			return o.run(cmd, f, args[0])
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Version, "version", "", "version to install, or a range; for git also a tag, a branch or a commit")
	fs.BoolVar(&o.Verify, "verify", true, "verify the archive's provenance file")
	o.BindKeyring(fs, f)
	fs.StringVar(&o.Username, "username", "", "user name for the plugin's host")
	fs.StringVar(&o.Password, "password", "", "password for the plugin's host")
	o.BindTLS(fs)
	o.BindPlain(fs)
	return cmd
}

func (o *installOptions) run(cmd *cobra.Command, f *cmdutil.Factory, from string) error {
	source, err := plugin.ParseSource(from)
	if err != nil {
		return err
	}
	verify := o.Verify
	switch {
	case source.Kind == plugin.Directory:
		if err := say(f, "Installing plugin from local directory (development mode)"); err != nil {
			return err
		}
	case source.Kind == plugin.Git && !o.VerifySet:
		warn(f, "git repositories have no provenance: the plugin is not verified")
		verify = false
	case !verify:
		warn(f, "Skipping plugin signature verification")
	default:
		if err := say(f, "Verifying plugin signature..."); err != nil {
			return err
		}
	}
	in := f.Installer(o.HostOptions(), o.Keyring, func(signer string) { _ = say(f, "%s", pluginSigner(signer)) })
	p, err := in.Install(cmd.Context(), plugin.InstallRequest{Source: source, Version: o.Version, Verify: verify})
	if errors.Is(err, context.Canceled) {
		return context.Canceled // nothing to clean up
	}
	if err != nil {
		return err
	}
	if err := say(f, "Installed plugin: %s", p.Name); err != nil {
		return err
	}
	return sayPrecedence(f, cmd, p)
}
