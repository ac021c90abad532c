// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/moonhelm/moonhelm/internal/file"
)

// maxKeyring is the largest size of a keyring, in bytes. The keyring of a whole distribution
// has about thirty million.
const maxKeyring = 64 << 20

// Keyring is a set of trusted keys, which may include secret keys for signing. The zero value
// has no keys: every signature is invalid. Once Now is set, a Keyring is safe for concurrent use.
type Keyring struct {
	// Now returns the time for checking the expiry of keys; nil is time.Now.
	Now func() time.Time

	path string
	keys []*certificate
}

// Load reads the keyring at path: GnuPG's old format, its keybox, or exported keys, binary or
// armored. If path is GnuPG's old keyring (pubring.gpg, secring.gpg) and does not exist, the
// keybox in the same directory is read. Keys of unknown types are skipped; several copies of a
// key are merged. ctx limits reading from a pipe. The error is a [*KeyringError].
func Load(ctx context.Context, path string) (*Keyring, error) {
	data, used, err := readKeyring(ctx, path)
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

func readKeyring(ctx context.Context, path string) (data []byte, used string, err error) {
	if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeDevice != 0 {
		return nil, path, &file.KindError{Kind: info.Mode().Type()}
	}
	data, err = file.ReadInput(ctx, path, maxKeyring)
	if base := filepath.Base(path); errors.Is(err, fs.ErrNotExist) && (base == "pubring.gpg" || base == "secring.gpg") {
		box := filepath.Join(filepath.Dir(path), "pubring.kbx")
		if data, err := file.Read(box, maxKeyring); !errors.Is(err, fs.ErrNotExist) {
			return data, box, err
		}
	}
	return data, path, err
}

// Read is [Load] for the content of a keyring. An empty keyring is not an error: no signature
// is valid with it.
func Read(data []byte) (*Keyring, error) {
	var found certificates
	var err error
	switch {
	case len(data) == 0:
	case isKeybox(data):
		err = found.addKeybox(data)
	case isArmoured(data):
		err = found.addArmoured(data)
	default:
		err = found.addPackets(data)
	}
	if err != nil {
		return nil, err
	}
	return &Keyring{keys: found.list}, nil
}

func (cs *certificates) addPackets(data []byte) error {
	if p, _, err := nextPacket(data); err != nil || p.tag != tagPublicKey && p.tag != tagSecretKey {
		return errNoKeyring // clearer than the error about the first byte
	}
	if err := cs.add(data); err != nil {
		return err
	}
	return cs.some()
}

var errNoKeyring = errors.New("this is not an OpenPGP keyring, or has no key of a supported type")

// some returns an error if there is no usable key.
func (cs *certificates) some() error {
	if !slices.ContainsFunc(cs.list, func(c *certificate) bool { return c.key() != nil }) {
		return errNoKeyring
	}
	return nil
}

// begin is the start of an armored block of any type.
const begin = "-----BEGIN PGP "

func isArmoured(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data[:min(len(data), 4096)], " \t\r\n"), []byte(begin))
}

// addArmoured reads all armored blocks, because exports are often concatenated.
func (cs *certificates) addArmoured(data []byte) error {
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
			return errors.New("one of its blocks is damaged or does not contain keys")
		}
		keys, err := io.ReadAll(block.Body)
		if err == nil {
			err = cs.add(keys)
		}
		if err != nil {
			return fmt.Errorf("one of its blocks cannot be read: %w", err)
		}
	}
	return cs.some()
}

// entities returns the usable keys.
func (k *Keyring) entities() openpgp.EntityList {
	var list openpgp.EntityList
	for _, c := range k.keys {
		if e := c.key(); e != nil {
			list = append(list, e)
		}
	}
	return list
}

// withID returns the usable keys that have the id, or a subkey with it.
func (k *Keyring) withID(id uint64) openpgp.EntityList {
	var list openpgp.EntityList
	for _, c := range k.keys {
		if c.has(id) {
			if e := c.key(); e != nil {
				list = append(list, e)
			}
		}
	}
	return list
}

// Path returns the path of the keyring file, which is that of GnuPG's keybox if [Load] read
// it instead.
func (k *Keyring) Path() string { return k.path }

func (k *Keyring) now() time.Time {
	if k.Now == nil {
		return time.Now()
	}
	return k.Now()
}

// A KeyringError is returned for a keyring that cannot be read.
type KeyringError struct {
	Path string
	Err  error
}

func (e *KeyringError) Error() string {
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		return fmt.Sprintf("keyring %s: no such file or directory", e.Path)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("keyring %s: permission denied", e.Path)
	}
	if pathErr, ok := errors.AsType[*fs.PathError](e.Err); ok { // the message has the path already
		return fmt.Sprintf("keyring %s: %v", e.Path, pathErr.Err)
	}
	return fmt.Sprintf("keyring %s: %v", e.Path, e.Err)
}

func (e *KeyringError) Unwrap() error { return e.Err }
