// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Signer signs archives with one key: by itself where the keyring has the secret
// key, and by way of the gpg program where GnuPG keeps it to itself. It is not
// safe for concurrent use.
type Signer struct {
	// Passphrase unlocks the key, where one was given; it is asked for once. nil
	// for none.
	Passphrase func() ([]byte, error)
	// Ask asks a person for the passphrase of a key that is locked, where none was
	// given. nil refuses such keys. GnuPG asks by itself.
	Ask func(ctx context.Context, key string) ([]byte, error)
	// Stdin is what gpg gets as its standard input, so that it finds the terminal
	// to ask at. nil is nothing.
	Stdin io.Reader

	now    func() time.Time
	entity *openpgp.Entity
	home   string             // GnuPG's, where it keeps the secret key
	secret *packet.PrivateKey // else
	ring   *Keyring           // to check what was signed
}

// Signer returns a signer with the key that name means: a part of its user id, a
// fingerprint, or the end of one. The error is a [*KeyNameError], an
// [*UnfitKeyError], or a [*NoSecretError] where the secret key cannot be had.
func (k *Keyring) Signer(name string) (*Signer, error) {
	e, err := k.find(name)
	if err != nil {
		return nil, err
	}
	s := &Signer{now: k.now, entity: e, ring: k}
	if _, ok := e.SigningKey(k.now()); !ok {
		return nil, &UnfitKeyError{Key: title(e)}
	}
	if s.secret = secretOf(e, k.now()); s.secret == nil {
		err = s.locate(k)
	}
	return s, err
}

// locate finds the secret key outside of the keyring, in its directory: with GnuPG
// since 2.1, which gives no secret keys away, or in the older secring.gpg.
func (s *Signer) locate(k *Keyring) error {
	missing := &NoSecretError{Key: title(s.entity), Keyring: k.path}
	if k.path == "" {
		return missing
	}
	dir := filepath.Dir(k.path)
	if keepsSecrets(dir) {
		s.home = dir
		return nil
	}
	data, err := file.Read(filepath.Join(dir, "secring.gpg"), maxKeyring)
	if err != nil {
		return missing
	}
	old, err := Read(data)
	if err != nil {
		return missing
	}
	for _, e := range old.withID(s.entity.PrimaryKey.KeyId) {
		if bytes.Equal(e.PrimaryKey.Fingerprint, s.entity.PrimaryKey.Fingerprint) {
			if s.secret = secretOf(e, s.now()); s.secret != nil {
				return nil
			}
		}
	}
	return missing
}

// secretOf is the secret key with which e signs, nil where it is not there. Of an
// exported key whose main part is kept elsewhere, a part for signing may be.
func secretOf(e *openpgp.Entity, now time.Time) *packet.PrivateKey {
	key, ok := e.SigningKey(now)
	if !ok || key.PrivateKey == nil || key.PrivateKey.Dummy() {
		return nil
	}
	return key.PrivateKey
}

// Key is the primary user id and the fingerprint of the key.
func (s *Signer) Key() string { return title(s.entity) }

func title(e *openpgp.Entity) string {
	return fmt.Sprintf("%s (%s)", userIDs(e)[0], fingerprint(e))
}

// SignChart is Sign for the archive of a chart with the metadata m.
func (s *Signer) SignChart(ctx context.Context, name string, archive io.Reader, m *chart.Metadata) ([]byte, error) {
	text, err := yaml.Marshal(m)
	if err != nil {
		return nil, err
	}
	return s.Sign(ctx, name, archive, text)
}

// Sign returns the provenance file of the archive that is called name (a base
// name) and read from archive. metadata is its Chart.yaml as YAML. What is
// returned was verified.
func (s *Signer) Sign(ctx context.Context, name string, archive io.Reader, metadata []byte) ([]byte, error) {
	hex, err := digest(archive)
	if err != nil {
		return nil, err
	}
	text, err := compose(name, "sha256:"+hex, metadata)
	if err != nil {
		return nil, err
	}
	prov, err := s.sign(ctx, text)
	if err != nil {
		return nil, err
	}
	if err := s.check(name, "sha256:"+hex, prov); err != nil {
		return nil, err
	}
	return prov, nil
}

// check verifies what was signed, before anybody relies on it.
func (s *Signer) check(name, digest string, prov []byte) error {
	m, err := parseMessage(prov)
	if err == nil {
		_, err = s.ring.checkSignature(m)
	}
	var files map[string]string
	if err == nil {
		files, err = listed(m.text)
	}
	if err == nil && files[name] != digest {
		err = errors.New("it does not say what was to be signed")
	}
	if err != nil {
		return fmt.Errorf("the signature made would not verify: %w", err)
	}
	return nil
}

func (s *Signer) sign(ctx context.Context, text []byte) ([]byte, error) {
	if s.home != "" {
		return s.signWithGnuPG(ctx, text)
	}
	if err := s.unlock(ctx); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := clearsign.Encode(&out, s.secret, &packet.Config{DefaultHash: crypto.SHA512, Time: s.now})
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil { // writes the signature
		return nil, err
	}
	return withChecksum(out.Bytes())
}

// withChecksum gives the signature's armour the checksum that it may do without:
// gpg before 2.4 trips over armour that has none and happens to need no padding.
func withChecksum(message []byte) ([]byte, error) {
	at := bytes.LastIndex(message, []byte(begin))
	block, err := armor.Decode(bytes.NewReader(message[at:]))
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(message[:at:at])
	w, err := armor.EncodeWithChecksumOption(out, block.Type, nil, true)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, block.Body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// attempts is how often a person may mistype a passphrase.
const attempts = 3

// unlock decrypts the secret key, once.
func (s *Signer) unlock(ctx context.Context) error {
	if !s.secret.Encrypted {
		return nil
	}
	locked := &LockedKeyError{Key: s.Key()}
	switch {
	case s.Passphrase != nil:
		text, err := s.Passphrase()
		if err != nil {
			return err
		}
		if s.secret.Decrypt(text) != nil {
			locked.Wrong = true
			return locked
		}
	case s.Ask != nil:
		for range attempts {
			text, err := s.Ask(ctx, s.Key())
			if err != nil {
				return err
			}
			if s.secret.Decrypt(text) == nil {
				return nil
			}
		}
		locked.Wrong = true
		return locked
	default:
		return locked
	}
	return nil
}
