// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

func newVerify(f *cmdutil.Factory) *cobra.Command {
	var keyring cmdutil.VerifyFlags
	cmd := &cobra.Command{
		Use:   "verify PATH",
		Short: "Verify the signature of a plugin's archive",
		Long: `Check the archive of a plugin against PATH.prov, the provenance file beside it, and
print who signed it. It fails where that file is missing, was altered, or is not
signed by a key of the keyring.`,
		Args: cmdutil.Args(1, 1, "the path of an archive"),
		RunE: func(_ *cobra.Command, args []string) error {
			signer, err := f.VerifyArchive(args[0], keyring.Keyring, nil)
			if err != nil {
				return err
			}
			return say(f, "%s", inPluginsWords(signer))
		},
	}
	keyring.BindKeyring(cmd.Flags(), f)
	return cmd
}
