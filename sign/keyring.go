// SPDX-License-Identifier: Apache-2.0

package sign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
)

// maxKeyring is the largest keyring that is read, in bytes. That of a whole
// distribution has some ten million.
const maxKeyring = 256 << 20

// Keyring holds the keys that are trusted, and perhaps secret ones to sign with.
type Keyring struct {
	// Now is the clock that tells whether keys have expired; nil is time.Now.
	Now func() time.Time

	path string
	keys openpgp.EntityList
}

// Load reads the keyring at path: GnuPG's old format, its keybox, or exported
// keys, binary or armoured. Where GnuPG has no old keyring any more (pubring.gpg,
// secring.gpg), its keybox in the same folder is meant. Keys of kinds that are not
// known are left out. The error is a [*KeyringError].
func Load(path string) (*Keyring, error) {
	data, used, err := readKeyring(path)
	if err != nil {
		return nil, &KeyringError{Path: path, Err: err}
	}
	k, err := Read(data)
	if err != nil {
		return nil, &KeyringError{Path: used, Err: err}
	}
	k.path = used
	return k, nil
}

func readKeyring(path string) (data []byte, used string, err error) {
	data, err = readFile(path, maxKeyring)
	if base := filepath.Base(path); errors.Is(err, fs.ErrNotExist) && (base == "pubring.gpg" || base == "secring.gpg") {
		box := filepath.Join(filepath.Dir(path), "pubring.kbx")
		if data, err := readFile(box, maxKeyring); !errors.Is(err, fs.ErrNotExist) {
			return data, box, err
		}
	}
	return data, path, err
}

// readFile reads a file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return data, err
}

// Read is [Load] of a keyring's bytes. One without a single key is no error:
// nothing verifies with it.
func Read(data []byte) (*Keyring, error) {
	var err error
	k := &Keyring{}
	switch {
	case isKeybox(data):
		k.keys, err = readKeybox(data)
	case isArmoured(data):
		k.keys, err = readArmoured(data)
	default:
		k.keys, err = readPackets(data)
	}
	return k, err
}

func readPackets(data []byte) (openpgp.EntityList, error) {
	if len(data) == 0 {
		return nil, nil
	}
	keys, err := openpgp.ReadKeyRing(bytes.NewReader(data))
	if err != nil || len(keys) == 0 {
		return nil, errNoKeyring
	}
	return keys, nil
}

var errNoKeyring = errors.New("this is no OpenPGP keyring, or has no key of a kind that is known")

// begin is how a block of armour begins, whatever it holds.
const begin = "-----BEGIN PGP "

func isArmoured(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte(begin))
}

// readArmoured reads all blocks of keys, one after the other: people append
// one export to the next.
func readArmoured(data []byte) (openpgp.EntityList, error) {
	var keys openpgp.EntityList
	for rest := data; ; {
		i := bytes.Index(rest, []byte(begin))
		if i < 0 {
			break
		}
		rest = rest[i:]
		end := bytes.Index(rest[len(begin):], []byte(begin))
		if end < 0 {
			end = len(rest) - len(begin)
		}
		part := rest[:len(begin)+end]
		rest = rest[len(part):]
		block, err := armor.Decode(bytes.NewReader(part))
		if err != nil || block.Type != openpgp.PublicKeyType && block.Type != openpgp.PrivateKeyType {
			return nil, errors.New("a block in it is not one of keys, or is damaged")
		}
		more, err := openpgp.ReadKeyRing(block.Body)
		if err != nil {
			return nil, fmt.Errorf("a block in it is damaged: %w", err)
		}
		keys = append(keys, more...)
	}
	if len(keys) == 0 {
		return nil, errNoKeyring
	}
	return keys, nil
}

// Path is the file that the keyring was read from: another than asked for, where
// [Load] took GnuPG's keybox.
func (k *Keyring) Path() string { return k.path }

func (k *Keyring) now() time.Time {
	if k.Now == nil {
		return time.Now()
	}
	return k.Now()
}

// KeyringError tells that a keyring cannot be read.
type KeyringError struct {
	Path string
	Err  error
}

func (e *KeyringError) Error() string {
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		return fmt.Sprintf("keyring %s: there is no such file", e.Path)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("keyring %s may not be read by you", e.Path)
	}
	return fmt.Sprintf("keyring %s: %v", e.Path, e.Err)
}

func (e *KeyringError) Unwrap() error { return e.Err }
