// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// find returns the key for a name. As in Helm, name is a part of its user id. It may also be a
// fingerprint or its last eight or more digits, and a complete user id or email address has
// priority over parts of others.
func (k *Keyring) find(name string) (*openpgp.Entity, error) {
	for _, means := range []func(*openpgp.Entity, string) bool{hasFingerprint, hasUserID, hasPart} {
		var found openpgp.EntityList
		for _, e := range k.entities() {
			if means(e, name) {
				found = append(found, e)
			}
		}
		found = k.best(found)
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return nil, &KeyNameError{Name: name, Keyring: k.path, Found: titles(found)}
		}
	}
	return nil, &KeyNameError{Name: name, Keyring: k.path, Others: titles(k.best(k.entities()))}
}

// best removes keys that cannot sign and keys without a secret key, unless none would be
// left.
func (k *Keyring) best(keys openpgp.EntityList) openpgp.EntityList {
	now := k.now()
	for _, good := range []func(*openpgp.Entity) bool{
		func(e *openpgp.Entity) bool { _, ok := e.SigningKey(now); return ok },
		func(e *openpgp.Entity) bool { return secretOf(e, now) != nil },
	} {
		if some := slices.DeleteFunc(slices.Clone(keys), func(e *openpgp.Entity) bool { return !good(e) }); len(some) > 0 {
			keys = some
		}
	}
	return keys
}

func titles(keys openpgp.EntityList) []string {
	out := make([]string, len(keys))
	for i, e := range keys {
		out[i] = title(e)
	}
	return out
}

const shortID = 8

func hasFingerprint(e *openpgp.Entity, name string) bool {
	id := strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(name), "0x"), " ", ""))
	if len(id) < shortID || strings.Trim(id, "0123456789ABCDEF") != "" {
		return false
	}
	if strings.HasSuffix(fingerprint(e), id) {
		return true
	}
	return slices.ContainsFunc(e.Subkeys, func(s openpgp.Subkey) bool {
		return strings.HasSuffix(fmt.Sprintf("%X", s.PublicKey.Fingerprint), id)
	})
}

func hasUserID(e *openpgp.Entity, name string) bool {
	for id, identity := range e.Identities {
		if id == name || identity.UserId.Email == name && name != "" {
			return true
		}
	}
	return false
}

func hasPart(e *openpgp.Entity, name string) bool {
	for id := range e.Identities {
		if strings.Contains(id, name) {
			return true
		}
	}
	return false
}

// A KeyNameError is returned if a name matches no key of a keyring, or several.
type KeyNameError struct {
	Name    string
	Keyring string
	Found   []string // the matching keys
	Others  []string // if none matches, all keys
}

// shown is the maximum number of keys in an error.
const shown = 10

func (e *KeyNameError) Error() string {
	if len(e.Found) > 0 {
		return fmt.Sprintf("more than one key in %s contains %q:%s", e.Keyring, e.Name, list(e.Found))
	}
	if len(e.Others) == 0 {
		return fmt.Sprintf("there is no key %q in %s, which has no keys at all", e.Name, e.Keyring)
	}
	return fmt.Sprintf("there is no key %q in %s, which has:%s", e.Name, e.Keyring, list(e.Others))
}

func list(keys []string) string {
	var b strings.Builder
	for i, k := range keys {
		if i == shown {
			fmt.Fprintf(&b, "\n  and %d more", len(keys)-shown)
			break
		}
		fmt.Fprintf(&b, "\n  %s", k)
	}
	return b.String()
}

// An UnfitKeyError is returned for a key that cannot sign: it has expired, was revoked,
// or has no signing capability.
type UnfitKeyError struct{ Key string }

func (e *UnfitKeyError) Error() string {
	return fmt.Sprintf("the key of %s cannot sign: it has expired, was revoked, or is not a signing key", e.Key)
}

// A NoSecretError is returned if a keyring has only the public part of the signing key.
type NoSecretError struct{ Key, Keyring string }

func (e *NoSecretError) Error() string {
	return fmt.Sprintf("keyring %s does not have the secret key of %s, only the public one", e.Keyring, e.Key)
}

// A LockedKeyError is returned if a secret key needs a passphrase. Wrong is set if the
// passphrase is wrong.
type LockedKeyError struct {
	Key   string
	Wrong bool
}

func (e *LockedKeyError) Error() string {
	if e.Wrong {
		return fmt.Sprintf("wrong passphrase for the key of %s", e.Key)
	}
	return fmt.Sprintf("the key of %s needs a passphrase, and there is no terminal to ask for it", e.Key)
}
