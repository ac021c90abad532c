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

// Signer signs archives with one key: by itself if the keyring has the secret key, or with the
// gpg program if GnuPG has it. It is not safe for concurrent use.
type Signer struct {
	// Passphrase returns the passphrase of the key. It is called once; it may be nil.
	Passphrase func() ([]byte, error)
	// Ask asks the user for the passphrase of a locked key if Passphrase is nil. If it is
	// nil too, a locked key is an error. GnuPG asks by itself.
	Ask func(ctx context.Context, key string) ([]byte, error)
	// Stdin is gpg's standard input, from which it determines the terminal. It may be
	// nil.
	Stdin io.Reader

	now    func() time.Time
	entity *openpgp.Entity
	home   string             // GnuPG's home directory if it has the secret key
	secret *packet.PrivateKey // otherwise
	ring   *Keyring           // to verify the result
}

// Signer returns a signer with the key for name: a part of its user id, or its fingerprint or
// the end of it. The error is a [*KeyNameError], an [*UnfitKeyError], or a [*NoSecretError] if
// there is no secret key.
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

// locate finds a secret key that is not in the keyring, but in the same directory: in GnuPG's
// agent since 2.1, which does not export it without a request, or in the older secring.gpg.
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

// secretOf returns the secret key with which e signs, or nil if there is none. It may be a
// signing subkey whose primary key is not included in the export.
func secretOf(e *openpgp.Entity, now time.Time) *packet.PrivateKey {
	key, ok := e.SigningKey(now)
	if !ok || key.PrivateKey == nil || key.PrivateKey.Dummy() {
		return nil
	}
	return key.PrivateKey
}

// Key returns the primary user id and the fingerprint of the key.
func (s *Signer) Key() string { return title(s.entity) }

func title(e *openpgp.Entity) string {
	return fmt.Sprintf("%s (%s)", userIDs(e)[0], fingerprint(e))
}

// SignChart is [Signer.Sign] for the archive of a chart with the metadata m.
func (s *Signer) SignChart(ctx context.Context, name string, archive io.Reader, m *chart.Metadata) ([]byte, error) {
	text, err := yaml.Marshal(m)
	if err != nil {
		return nil, err
	}
	return s.Sign(ctx, name, archive, text)
}

// Sign returns the provenance file of an archive. name is the base name of the archive,
// metadata its Chart.yaml. Sign verifies the result.
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

// check verifies a new provenance file.
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
		err = errors.New("it does not contain the hash of the archive")
	}
	if err != nil {
		return fmt.Errorf("the new signature cannot be verified: %w", err)
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

// withChecksum adds the optional checksum to the signature's armor: versions of gpg before 2.4
// reject armor without checksum and padding.
func withChecksum(message []byte) ([]byte, error) {
	start := bytes.LastIndex(message, []byte(begin))
	block, err := armor.Decode(bytes.NewReader(message[start:]))
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(message[:start:start])
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

// attempts is how often a user may enter a passphrase.
const attempts = 3

// unlock decrypts the secret key if needed.
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
