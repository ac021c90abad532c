// SPDX-License-Identifier: Apache-2.0

package provenance

const exportSecret = "gpg --export-secret-keys KEY > FILE writes secret keys to a file, for --keyring FILE"

// givePassphrase is the hint of errors that a passphrase would have prevented.
const givePassphrase = "--passphrase-file FILE gives the passphrase, --passphrase-file - takes it from standard input"

// Hint says what a user of the command line can do about it.
func (e *KeyringError) Hint() string {
	return "--keyring names a file with keys: gpg --export > FILE writes the public ones, gpg --export-secret-keys > " +
		"FILE those to sign with"
}

// Hint says what a user of the command line can do about it.
func (e *NoSecretError) Hint() string { return exportSecret }

// Hint says what a user of the command line can do about it.
func (e *NoGnuPGError) Hint() string { return "install GnuPG; or, where it is: " + exportSecret }

// Hint says what a user of the command line can do about it.
func (e *GnuPGError) Hint() string { return givePassphrase }

// Hint says what a user of the command line can do about it, "" for a wrong passphrase.
func (e *LockedKeyError) Hint() string {
	if e.Wrong {
		return ""
	}
	return givePassphrase
}

// Hint says what a user of the command line can do about it.
func (e *UnknownKeyError) Hint() string {
	return "if you trust that key, get it from its owner and gpg --import it, or give its file to --keyring"
}

// Hint says what a user of the command line can do about it.
func (e *MismatchError) Hint() string { return "do not use it; fetch it again, or ask who signed it" }
