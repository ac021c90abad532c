// SPDX-License-Identifier: Apache-2.0

// Package packaging provides the command that packages chart directories into archives.
package packaging

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/provenance"
)

// Options are the flags of `helm package`.
type Options struct {
	cmdutil.ScriptFlags

	Paths       []string
	Version     string
	AppVersion  string
	Destination string
	access      cmdutil.AccessFlags
	keys        cmdutil.VerifyFlags
	// Update fetches the dependencies before packaging a chart.
	Update bool
	// Sign writes a provenance file beside each archive, with the key in the keyring that Key
	// names.
	Sign           bool
	Key            string
	PassphraseFile string
	// DeriveSchema adds a derived schema to charts without one.
	DeriveSchema bool
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "package CHART...",
		Short: "Package charts into archives",
		Long: `Package chart directories into archives, <name>-<version>.tgz. Files in .helmignore
are omitted. Archives are reproducible: SOURCE_DATE_EPOCH
sets the modification time of their entries.

With --sign, write a provenance file <name>-<version>.tgz.prov beside the
archive, which "helm verify" and --verify check. --key selects
the key by a part of its user id or by its fingerprint. Keys in GnuPG's own keyring
are used through gpg, which asks for the passphrase; otherwise set --keyring to a
file written by "gpg --export-secret-keys".`,
		Example: `  helm package ./mychart
  helm package ./mychart --version 1.2.3 --app-version 2.0 --destination dist

  # Sign the archive
  echo "$PASSPHRASE" | helm package ./mychart --sign --key ann --keyring secret.asc --passphrase-file -`,
		Args: cmdutil.Args(1, -1, "the path of a chart directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Paths = args
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.ScriptFlags.Bind(fs)
	fs.StringVar(&o.Version, "version", "", "set the chart's version")
	fs.StringVar(&o.AppVersion, "app-version", "", "set the chart's appVersion")
	fs.StringVarP(&o.Destination, "destination", "d", ".", "directory to write the archive to")
	fs.BoolVar(&o.DeriveSchema, "derive-schema", false,
		"if the chart has no schema, add a values.schema.yaml derived from values.yaml (see helm "+
			"schema); Helm itself reads values.schema.json only")
	fs.BoolVar(&o.Sign, "sign", false, "write a provenance file, signed with --key")
	fs.StringVar(&o.Key, "key", "", "key to sign with: a part of its user id, or its fingerprint")
	fs.StringVar(&o.PassphraseFile, "passphrase-file", "",
		"file whose first line is the key's passphrase; - for standard input")
	fs.BoolVarP(&o.Update, "dependency-update", "u", false,
		"update the chart's dependencies before packaging (see helm dependency update)")
	fs.StringVar(&o.access.Username, "username", "", "user name for the registry or repository of the dependencies")
	fs.StringVar(&o.access.Password, "password", "", "password for the registry or repository of the dependencies")
	o.access.BindTLS(fs)
	o.access.BindPlain(fs)
	o.keys.BindKeyring(fs, f)
	fs.Lookup("keyring").Usage =
		"keyring with the signing key: GnuPG's (pubring.gpg or pubring.kbx) or exported secret keys"
	cmdutil.CompleteChoices(cmd)
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) (err error) {
	// Scripts parse the path from the output and use it in another directory: as in Helm, it is
	// absolute without --destination.
	if o.Destination == "" || o.Destination == "." {
		if o.Destination, err = os.Getwd(); err != nil {
			return err
		}
	}
	modTime, err := loader.ModTime(f.Getenv)
	if err != nil {
		return err
	}
	signer, err := o.signer(f)
	if err != nil {
		return err
	}
	verb := action.Package{}
	if verb.Events, err = f.Events(o.ScriptFlags); err != nil {
		return err
	}
	for _, p := range o.Paths {
		if o.Update {
			update := cmdutil.DependencyFlags{AccessFlags: o.access, VerifyFlags: cmdutil.VerifyFlags{Keyring: o.keys.Keyring},
				ScriptFlags: o.ScriptFlags}
			if err := f.UpdateDependencies(ctx, p, update, f.Err); err != nil {
				return err
			}
		}
		c, err := f.Chart(ctx, p, nil)
		if err != nil {
			return err
		}
		file, err := verb.Run(ctx, action.PackageRequest{
			Chart: c, Version: o.Version, AppVersion: o.AppVersion, DeriveSchema: o.DeriveSchema,
			Directory: o.Destination, ModTime: modTime, Signer: signer,
		})
		if err != nil {
			return fmt.Errorf("package %s: %w", p, err)
		}
		if _, err := fmt.Fprintf(f.Out, "Successfully packaged chart and saved it to: %s\n", file); err != nil {
			return err
		}
	}
	return nil
}

// signer returns the signer, or nil without --sign.
func (o Options) signer(f *cmdutil.Factory) (*provenance.Signer, error) {
	switch {
	case !o.Sign:
		return nil, nil
	case o.Key == "":
		return nil, hint.With(errors.New("--key is required for signing a package"),
			"gpg --list-secret-keys shows your keys; --key is a part of a user id, or a fingerprint")
	}
	return f.Signer(o.keys.Keyring, o.Key, o.PassphraseFile)
}
