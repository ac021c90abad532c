// SPDX-License-Identifier: Apache-2.0

// Package verify provides the command that verifies a chart archive.
package verify

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
)

// Options are the arguments and flags of `helm verify`.
type Options struct {
	Path  string
	Flags cmdutil.VerifyFlags
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "verify PATH",
		Short: "Verify the signature of a chart archive",
		Long: `Verify the chart archive at PATH with its provenance file PATH.prov, and print
the signer. Fail if that file is missing, does not match
the archive, or is not signed by a key in the keyring.`,
		Example: `  helm verify mychart-0.1.0.tgz --keyring ann.asc`,
		Args:    cmdutil.Args(1, 1, "the path of an archive"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Path = args[0]
			return run(f, o)
		},
	}
	o.Flags.BindKeyring(cmd.Flags(), f)
	return cmd
}

func run(f *cmdutil.Factory, o Options) error {
	signer, err := f.VerifyArchive(o.Path, o.Flags.Keyring, nil)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f.Out, term.Safe(signer))
	return err
}
