// SPDX-License-Identifier: Apache-2.0

package provenance

const exportSecret = "gpg --export-secret-keys KEY > FILE writes secret keys to a file, for --keyring FILE"

// givePassphrase is the hint for errors of a missing passphrase.
const givePassphrase = "--passphrase-file FILE reads the passphrase from a file, --passphrase-file - from " +
	"standard input"

// Hint returns advice for users of the command line.
func (e *KeyringError) Hint() string {
	return "--keyring takes a file with keys: gpg --export > FILE writes the public keys, gpg --export-secret-keys > " +
		"FILE the secret keys for signing"
}

// Hint returns advice for users of the command line.
func (e *NoSecretError) Hint() string { return exportSecret }

// Hint returns advice for users of the command line.
func (e *NoGnuPGError) Hint() string {
	return "install GnuPG, or on a machine with GnuPG: " + exportSecret
}

// Hint returns advice for users of the command line.
func (e *GnuPGError) Hint() string { return givePassphrase }

// Hint returns advice for users of the command line, or "" for a wrong passphrase.
func (e *LockedKeyError) Hint() string {
	if e.Wrong {
		return ""
	}
	return givePassphrase
}

// Hint returns advice for users of the command line.
func (e *UnknownKeyError) Hint() string {
	return "if you trust that key, get it from its owner, then gpg --import it or pass its file to --keyring"
}

// Hint returns advice for users of the command line.
func (e *MismatchError) Hint() string { return "do not use it; fetch it again, or ask the signer" }
