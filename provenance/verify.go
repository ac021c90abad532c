// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Signature is a valid signature.
type Signature struct {
	// Signers are the user ids of the signing key, the primary one first.
	Signers []string
	// Fingerprint is the fingerprint of the primary key.
	Fingerprint string
	// Digest is the archive's digest, "sha256:<hex>".
	Digest string
	// Time is the time of the signature according to the signer.
	Time time.Time
}

// String formats the signature like Helm, in several lines. The user ids were chosen by the
// signer: escape them before printing.
func (s *Signature) String() string {
	var b strings.Builder
	for _, name := range s.Signers {
		fmt.Fprintf(&b, "Signed by: %s\n", name)
	}
	fmt.Fprintf(&b, "Using Key With Fingerprint: %s\nChart Hash Verified: %s", s.Fingerprint, s.Digest)
	return b.String()
}

// Verify verifies that prov is signed by a key of the keyring and contains the hash of an
// archive, whose base name is name. Any other result is a [*VerifyError], which may wrap an
// [*UnknownKeyError], a [*MismatchError] or a [*NotListedError].
func (k *Keyring) Verify(name string, archive io.Reader, prov []byte) (*Signature, error) {
	sig, err := k.verify(name, archive, prov)
	if err != nil {
		return nil, &VerifyError{Name: name, Err: err}
	}
	return sig, nil
}

func (k *Keyring) verify(name string, archive io.Reader, prov []byte) (*Signature, error) {
	m, err := parseMessage(prov)
	if err != nil {
		return nil, fmt.Errorf("provenance file: %w", err)
	}
	sig, err := k.checkSignature(m)
	if err != nil {
		return nil, err
	}
	files, err := listed(m.text)
	if err != nil {
		return nil, fmt.Errorf("provenance file: %w", err)
	}
	entry, ok := files[name]
	if !ok {
		return nil, &NotListedError{Name: name, Listed: slices.Sorted(maps.Keys(files))}
	}
	want, err := sha256Of(entry)
	if err != nil {
		return nil, fmt.Errorf("provenance file: %w", err)
	}
	got, err := digest(archive)
	if err != nil {
		return nil, err
	}
	if got != want {
		return nil, &MismatchError{Listed: "sha256:" + want, Actual: "sha256:" + got}
	}
	sig.Digest = "sha256:" + got
	return sig, nil
}

func digest(archive io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, archive); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// strong reports whether a hash function is collision-resistant.
func strong(h crypto.Hash) bool {
	switch h {
	case crypto.SHA224, crypto.SHA256, crypto.SHA384, crypto.SHA512, crypto.SHA3_256, crypto.SHA3_512:
		return true
	}
	return false
}

// checkSignature verifies the first signature that claims to be made by a key of the keyring.
// If it is invalid, the others are not tried: an attacker who changed the text may have added
// them.
func (k *Keyring) checkSignature(m *message) (*Signature, error) {
	unknown := &UnknownKeyError{Keyring: k.path}
	for _, s := range m.signatures {
		if !strong(s.Hash) {
			return nil, fmt.Errorf("it is signed with a %v hash, which is not secure: it must be signed again", s.Hash)
		}
	}
	for _, s := range m.signatures {
		var keys openpgp.EntityList
		if s.IssuerKeyId != nil {
			keys = k.withID(*s.IssuerKeyId)
		}
		if s.IssuerKeyId == nil || len(keys.KeysByIdUsage(*s.IssuerKeyId, packet.KeyFlagSign)) == 0 {
			unknown.add(s)
			continue
		}
		return k.checkOne(m, s, keys)
	}
	return nil, unknown
}

func (k *Keyring) checkOne(m *message, s *packet.Signature, keys openpgp.EntityList) (*Signature, error) {
	var raw bytes.Buffer
	if err := s.Serialize(&raw); err != nil {
		return nil, err
	}
	now := k.now()
	_, signer, err := openpgp.VerifyDetachedSignature(keys, bytes.NewReader(m.signed), &raw,
		&packet.Config{Time: func() time.Time { return now }})
	if err == nil && signer == nil {
		err = pgperrors.ErrUnknownIssuer
	}
	if err != nil {
		return nil, explain(err, signer, s, now)
	}
	if made := creation(signer, *s.IssuerKeyId); s.CreationTime.Before(made) {
		return nil, fmt.Errorf("the signature is dated %s, before its key was created (%s): one of the dates is wrong",
			s.CreationTime.UTC().Format(time.DateTime), made.UTC().Format(time.DateTime))
	}
	return &Signature{Signers: userIDs(signer), Fingerprint: fingerprint(signer), Time: s.CreationTime}, nil
}

// creation returns the creation time of the key with the id, which is e's primary key or a
// subkey.
func creation(e *openpgp.Entity, id uint64) time.Time {
	for _, sub := range e.Subkeys {
		if sub.PublicKey.KeyId == id {
			return sub.PublicKey.CreationTime
		}
	}
	return e.PrimaryKey.CreationTime
}

// explain returns the error for an invalid signature of a trusted key.
func explain(err error, signer *openpgp.Entity, s *packet.Signature, now time.Time) error {
	who := "the key that signed it"
	if signer != nil {
		who = fmt.Sprintf("the key of %s (%s)", userIDs(signer)[0], fingerprint(signer))
	}
	expired := errors.Is(err, pgperrors.ErrKeyExpired) || errors.Is(err, pgperrors.ErrSignatureExpired)
	switch {
	case expired && s.CreationTime.After(now):
		return errors.New("the signature's time is in the future: check the clock")
	case errors.Is(err, pgperrors.ErrKeyExpired):
		return fmt.Errorf("%s has expired; its owner may have extended it", who)
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		return fmt.Errorf("%s was revoked", who)
	case errors.Is(err, pgperrors.ErrSignatureExpired):
		return errors.New("the signature has expired")
	}
	return fmt.Errorf("the signature does not match the text: the provenance file was altered (%w)", err)
}

// userIDs returns the user ids of a key, the primary one first. Line breaks are removed, so
// that a user id cannot fake a second "Signed by" line.
func userIDs(e *openpgp.Entity) []string {
	var names []string
	primary := e.PrimaryIdentity()
	for name := range e.Identities {
		if primary == nil || name != primary.Name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if primary != nil {
		names = append([]string{primary.Name}, names...)
	}
	if len(names) == 0 {
		names = []string{"someone without a name"}
	}
	for i, name := range names {
		names[i] = strings.NewReplacer("\r", " ", "\n", " ").Replace(name)
	}
	return names
}

func fingerprint(e *openpgp.Entity) string { return fmt.Sprintf("%X", e.PrimaryKey.Fingerprint) }

// A VerifyError is returned if an archive cannot be verified. Err is the reason.
type VerifyError struct {
	Name string
	Err  error
}

func (e *VerifyError) Error() string { return fmt.Sprintf("%s is not verified: %v", e.Name, e.Err) }

func (e *VerifyError) Unwrap() error { return e.Err }

// Archive returns the name of the archive.
func (e *VerifyError) Archive() string { return e.Name }

// An UnknownKeyError is returned if the keyring has none of the signing keys.
type UnknownKeyError struct {
	Keyring string
	// Keys are the fingerprints or ids of the signing keys.
	Keys []string
}

func (e *UnknownKeyError) add(s *packet.Signature) {
	switch {
	case len(s.IssuerFingerprint) > 0:
		e.Keys = append(e.Keys, fmt.Sprintf("%X", s.IssuerFingerprint))
	case s.IssuerKeyId != nil:
		e.Keys = append(e.Keys, fmt.Sprintf("%016X", *s.IssuerKeyId))
	}
}

func (e *UnknownKeyError) Error() string {
	who := strings.Join(e.Keys, ", ")
	if who == "" {
		who = "(unknown)"
	}
	in := "the keyring"
	if e.Keyring != "" {
		in = "keyring " + e.Keyring
	}
	return fmt.Sprintf("it is signed with key %s, which is not a signing key in %s", who, in)
}

// A MismatchError is returned if the digest of an archive is not the signed one. Both are
// "sha256:<hex>".
type MismatchError struct{ Listed, Actual string }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("the archive was altered: its hash is %s, the signed hash is %s", e.Actual, e.Listed)
}

// A NotListedError is returned if a valid provenance file does not contain the archive's
// name. Listed are the names that it contains.
type NotListedError struct {
	Name   string
	Listed []string
}

func (e *NotListedError) Error() string {
	return fmt.Sprintf("the provenance file contains %s, not this name: was it renamed?", strings.Join(e.Listed, ", "))
}
