// SPDX-License-Identifier: Apache-2.0

// Package verify is the command that checks who signed an archive.
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

// New makes the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "verify PATH",
		Short: "Verify the signature of a chart's archive",
		Long: `Check the archive at PATH against PATH.prov, the provenance file beside it, and
print who signed it. It fails where that file is missing, was altered, is about
another archive, or is not signed by a key of the keyring.

  helm verify web-1.2.3.tgz
  helm verify web-1.2.3.tgz --keyring ann.asc`,
		Args: cmdutil.Args(1, 1, "the path of an archive"),
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
