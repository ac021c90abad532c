// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// find is the key that name means. As in Helm, name is a part of its user id.
// Besides, a fingerprint or the end of one (an id of eight digits or more) is
// understood, and a whole user id or address wins over parts of others.
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

// best leaves out keys that cannot sign any more, and those whose secret part
// others have, as long as something is left.
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

// A KeyNameError is returned for a name that means no key of a keyring, or several.
type KeyNameError struct {
	Name    string
	Keyring string
	Found   []string // the keys that it could mean
	Others  []string // where it means none, the keys there are
}

// shown is the largest number of keys that an error lists.
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
// or is not made for signing.
type UnfitKeyError struct{ Key string }

func (e *UnfitKeyError) Error() string {
	return fmt.Sprintf("the key of %s cannot sign: it has expired, was revoked, or is not made for signing", e.Key)
}

// A NoSecretError is returned when a keyring has only the public part of the key to sign
// with.
type NoSecretError struct{ Key, Keyring string }

func (e *NoSecretError) Error() string {
	return fmt.Sprintf("keyring %s does not have the secret key of %s, only the public one", e.Keyring, e.Key)
}

// A LockedKeyError is returned when a secret key needs a passphrase. Wrong is set where
// one was given that does not open it.
type LockedKeyError struct {
	Key   string
	Wrong bool
}

func (e *LockedKeyError) Error() string {
	if e.Wrong {
		return fmt.Sprintf("the passphrase given does not open the key of %s", e.Key)
	}
	return fmt.Sprintf("the key of %s needs its passphrase, and there is no terminal to ask for it", e.Key)
}
