// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"bytes"
	"crypto"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// The limits of a keyring. The keyring of a whole distribution has about ten thousand
// packets, without signatures of other keys.
const (
	maxPackets        = 200_000 // in all
	maxParts          = 1_000   // user ids and subkeys of a key
	maxSelfSignatures = 1_000   // of a key on one of its components
)

// certificate is a key with its self-signatures: user ids, subkeys, revocations. All copies
// of a key in a keyring are merged into one certificate, because a later copy may revoke an
// earlier one.
type certificate struct {
	primary *component
	parts   []*component // user ids and subkeys, in the order of the keyring
	// key returns the certificate as the library's type, or nil if no part of it has a
	// valid signature. It is built on the first call.
	key func() *openpgp.Entity
}

// component is a primary key, a user id or a subkey, with the primary key's signatures on
// it.
type component struct {
	rawPacket
	key        *packet.PublicKey // nil for a user id
	secret     bool
	signatures []rawPacket
}

// certificates are the keys of a keyring, by fingerprint.
type certificates struct {
	list    []*certificate
	known   map[string]*certificate
	packets int
}

var errTooMuch = fmt.Errorf("it has more than %d packets of keys", maxPackets)

// add parses the packets of exported keys. It skips unknown keys and packets, and signatures
// of other keys, which have no effect on whether a key may sign.
func (cs *certificates) add(data []byte) error {
	var to *certificate // the current key
	var on *component   // the component of the following signatures
	for len(data) > 0 {
		p, rest, err := nextPacket(data)
		if err != nil {
			return err
		}
		data = rest
		switch p.tag {
		case tagPublicKey, tagSecretKey:
			to, on = cs.certificate(p)
		case tagUserID, tagPublicSubkey, tagSecretSubkey:
			if on = nil; to != nil {
				on = to.part(p)
			}
			if to != nil && len(to.parts) > maxParts {
				return fmt.Errorf("a key in it has more than %d user ids and subkeys", maxParts)
			}
		case tagAttribute:
			on = nil
		case tagSignature:
			if on == nil || !by(p.signature(), to.primary.key) {
				continue
			}
			if err := on.sign(p); err != nil {
				return err
			}
		default:
			continue
		}
		if cs.packets++; cs.packets > maxPackets {
			return errTooMuch
		}
	}
	return nil
}

// certificate returns the certificate whose key is p, or nil if the type of the key is
// unknown.
func (cs *certificates) certificate(p rawPacket) (*certificate, *component) {
	key, secret := p.key()
	if key == nil {
		return nil, nil
	}
	name := string(key.Fingerprint)
	c, ok := cs.known[name]
	if !ok {
		c = &certificate{primary: &component{rawPacket: p, key: key, secret: secret}}
		c.key = sync.OnceValue(c.build)
		if cs.known == nil {
			cs.known = map[string]*certificate{}
		}
		cs.known[name] = c
		cs.list = append(cs.list, c)
	}
	c.primary.take(p, secret)
	return c, c.primary
}

// part returns the component of c for p, which is new or from another copy.
func (c *certificate) part(p rawPacket) *component {
	next := &component{rawPacket: p}
	if p.tag != tagUserID {
		if next.key, next.secret = p.key(); next.key == nil {
			return nil
		}
	}
	for _, have := range c.parts {
		if have.same(next) {
			have.take(p, next.secret)
			return have
		}
	}
	c.parts = append(c.parts, next)
	return next
}

func (c *component) same(other *component) bool {
	if c.key == nil || other.key == nil {
		return c.key == nil && other.key == nil && bytes.Equal(c.body, other.body)
	}
	return bytes.Equal(c.key.Fingerprint, other.key.Fingerprint)
}

// take replaces the packet by p if only p has the secret key.
func (c *component) take(p rawPacket, secret bool) {
	if secret && !c.secret {
		c.rawPacket, c.secret = p, true
	}
}

func (c *component) sign(p rawPacket) error {
	if slices.ContainsFunc(c.signatures, func(have rawPacket) bool { return bytes.Equal(have.body, p.body) }) {
		return nil
	}
	if len(c.signatures) == maxSelfSignatures {
		return fmt.Errorf("a key in it has signed one of its parts more than %d times", maxSelfSignatures)
	}
	c.signatures = append(c.signatures, p)
	return nil
}

// by reports whether a signature claims to be made by key. Like GnuPG, it returns false if
// the signature is older than the key.
func by(s *packet.Signature, key *packet.PublicKey) bool {
	return s != nil && s.IssuerKeyId != nil && *s.IssuerKeyId == key.KeyId && !s.CreationTime.Before(key.CreationTime)
}

// has reports whether the key or one of its subkeys has that id.
func (c *certificate) has(id uint64) bool {
	return c.primary.key.KeyId == id || slices.ContainsFunc(c.parts, func(p *component) bool {
		return p.key != nil && p.key.KeyId == id
	})
}

// build returns the key with its effective signatures. Which signature is effective follows
// GnuPG's rules: on a user id or subkey the newest valid one, with its expiry; the revocation of
// a key or subkey always, even if there is a newer signature; the revocation of a user id until
// a newer signature. As in GnuPG, signatures with SHA-1 are accepted, because the key's owner
// chose the signed content. See docs/adr/0007-keyrings.md.
func (c *certificate) build() *openpgp.Entity {
	var out bytes.Buffer
	c.primary.write(&out, c.primarySignatures())
	var revoked []*component
	named := false
	for _, p := range c.parts {
		kept, gone := c.partSignatures(p)
		switch {
		case len(kept) == 0:
		case p.key == nil && gone:
			revoked = append(revoked, p)
		default:
			named = named || p.key == nil
			p.write(&out, kept)
		}
	}
	if !named { // without any user id, the library would not find the key revoked
		for _, p := range revoked {
			kept, _ := c.partSignatures(p)
			p.write(&out, kept)
		}
	}
	entity, err := openpgp.ReadEntity(packet.NewReader(&out))
	if err != nil {
		return nil
	}
	return entity
}

func (c *component) write(out *bytes.Buffer, signatures []rawPacket) {
	for _, p := range append([]rawPacket{c.rawPacket}, signatures...) {
		out.Write(p.framed())
	}
}

// primarySignatures returns the effective signatures on the primary key.
func (c *certificate) primarySignatures() []rawPacket {
	key := c.primary.key
	direct, _ := newest(c.primary.signatures, packet.SigTypeDirectSignature, key.VerifyDirectKeySignature)
	revocation, _ := newest(c.primary.signatures, packet.SigTypeKeyRevocation, key.VerifyRevocationSignature)
	return slices.Concat(revocation, direct)
}

// partSignatures returns the effective signatures on a component, or none if there is no
// valid one. revoked is set if the newest one is a revocation.
func (c *certificate) partSignatures(p *component) (kept []rawPacket, revoked bool) {
	if p.key != nil {
		kept, _ = newest(p.signatures, packet.SigTypeSubkeyBinding, func(s *packet.Signature) error {
			return c.primary.key.VerifyKeySignature(p.key, s)
		})
		revocation, _ := newest(p.signatures, packet.SigTypeSubkeyRevocation, func(s *packet.Signature) error {
			return c.primary.key.VerifySubkeyRevocationSignature(s, p.key)
		})
		if len(kept) == 0 {
			return nil, false
		}
		return slices.Concat(kept, revocation), len(revocation) > 0
	}
	verify := func(s *packet.Signature) error {
		return c.primary.key.VerifyUserIdSignature(string(p.body), c.primary.key, s)
	}
	var certified time.Time
	for _, kind := range []packet.SignatureType{
		packet.SigTypeGenericCert, packet.SigTypePersonaCert, packet.SigTypeCasualCert, packet.SigTypePositiveCert,
	} {
		if s, t := newest(p.signatures, kind, verify); len(s) > 0 && !t.Before(certified) {
			kept, certified = s, t
		}
	}
	revocation, gone := newest(p.signatures, packet.SigTypeCertificationRevocation, verify)
	if len(kept) == 0 || len(revocation) == 0 || gone.Before(certified) {
		return kept, false
	}
	return slices.Concat(kept, revocation), true
}

// newest returns the newest valid signature of a type, or none, and its creation time. Of
// signatures with the same time it returns the last one.
func newest(
	signatures []rawPacket, kind packet.SignatureType, verify func(*packet.Signature) error,
) ([]rawPacket, time.Time) {
	type dated struct {
		raw rawPacket
		sig *packet.Signature
	}
	var all []dated
	for _, p := range signatures {
		if s := p.signature(); s != nil && s.SigType == kind && (strong(s.Hash) || s.Hash == crypto.SHA1) {
			all = append(all, dated{p, s})
		}
	}
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b dated) int { return b.sig.CreationTime.Compare(a.sig.CreationTime) })
	for _, d := range all {
		if verify(d.sig) == nil {
			return []rawPacket{d.raw}, d.sig.CreationTime
		}
	}
	return nil, time.Time{}
}
