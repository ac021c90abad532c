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
		Short: "Verify the signature of a plugin archive",
		Long: `Verify a plugin archive with its provenance file PATH.prov, and
print the signer. Fail if that file is missing, does not match the archive, or is not
signed by a key in the keyring.`,
		Example: `  helm plugin verify greet-1.2.3.tgz --keyring ann.asc`,
		Args:    cmdutil.Args(1, 1, "the path of an archive"),
		RunE: func(_ *cobra.Command, args []string) error {
			signer, err := f.VerifyArchive(args[0], keyring.Keyring, nil)
			if err != nil {
				return err
			}
			return say(f, "%s", pluginSigner(signer))
		},
	}
	keyring.BindKeyring(cmd.Flags(), f)
	return cmd
}
