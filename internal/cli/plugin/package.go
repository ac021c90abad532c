// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/plugin"
)

// packageOptions are the flags of `helm plugin package`.
type packageOptions struct {
	Keyring        cmdutil.VerifyFlags
	Sign           bool
	Key            string
	PassphraseFile string
	Destination    string
}

func newPackage(f *cmdutil.Factory) *cobra.Command {
	var o packageOptions
	cmd := &cobra.Command{
		Use:   "package PATH",
		Short: "Package a plugin into an archive",
		Long: `Package a plugin directory into an archive, <name>-<version>.tgz, and sign it.
"helm plugin install" verifies the provenance file <name>-<version>.tgz.prov.
Archives are reproducible: SOURCE_DATE_EPOCH sets the modification time of
their entries.`,
		Example: `  echo "$PASSPHRASE" | helm plugin package ./my-plugin --key ann --keyring secret.asc --passphrase-file -
  helm plugin package ./my-plugin --sign=false`,
		Args: cmdutil.Args(1, 1, "the path of a plugin directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), f, args[0])
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.Sign, "sign", true, "sign the archive")
	fs.StringVar(&o.Key, "key", "", "key to sign with: a part of its user id, or its fingerprint")
	o.Keyring.BindKeyring(fs, f)
	fs.Lookup("keyring").Usage =
		"keyring with the signing key: GnuPG's (pubring.gpg or pubring.kbx) or exported secret keys"
	fs.StringVar(&o.PassphraseFile, "passphrase-file", "",
		"file whose first line is the key's passphrase; - for standard input")
	fs.StringVarP(&o.Destination, "destination", "d", ".", "directory to write the archive to")
	return cmd
}

func (o *packageOptions) run(ctx context.Context, f *cmdutil.Factory, dir string) error {
	p, err := plugin.Load(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Destination, 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(o.Destination, ".package-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	name := filepath.Join(temp, p.ArchiveName())
	if err := o.pack(f, p, name); err != nil {
		return err
	}
	if o.Sign {
		err = o.sign(ctx, f, p, name)
	} else {
		warn(f, "Skipping plugin signing. This is not recommended for plugins intended for distribution.")
	}
	if err != nil {
		return err
	}
	saved := filepath.Join(o.Destination, p.ArchiveName())
	if err := os.Rename(name, saved); err != nil {
		return err
	}
	if o.Sign {
		if err := os.Rename(name+".prov", saved+".prov"); err != nil {
			return err
		}
		if err := say(f, "Successfully signed. Signature written to: %s.prov", saved); err != nil {
			return err
		}
	}
	return say(f, "Successfully packaged plugin and saved it to: %s", saved)
}

func (o *packageOptions) pack(factory *cmdutil.Factory, p *plugin.Plugin, name string) error {
	modTime, err := loader.ModTime(factory.Getenv) // SOURCE_DATE_EPOCH
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(plugin.Pack(p, modTime, f), f.Close())
}

func (o *packageOptions) sign(ctx context.Context, factory *cmdutil.Factory, p *plugin.Plugin, name string) error {
	signer, err := factory.Signer(o.Keyring.Keyring, o.Key, o.PassphraseFile)
	if err != nil {
		return err
	}
	metadata, err := p.Metadata()
	if err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	prov, err := signer.Sign(ctx, filepath.Base(name), f, metadata)
	if err != nil {
		return err
	}
	return os.WriteFile(name+".prov", prov, 0o644)
}
