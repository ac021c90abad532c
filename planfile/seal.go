// SPDX-License-Identifier: Apache-2.0

package planfile

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	"golang.org/x/crypto/scrypt"
)

// Digester makes the digests of one plan. What may have secrets that are easy to guess is digested
// with scrypt, so that a plan that shows none of them is not a list to guess from. Plans of the same
// revision have comparable digests.
type Digester struct{ salt []byte }

// NewDigester returns the digester for plans that make a revision of a release.
func NewDigester(r Release) Digester {
	salt := sha256.Sum256(fmt.Appendf(nil, "%s %s\x00%s\x00%d", APIVersion, Kind, r.Namespace+"/"+r.Name, r.Revision))
	return Digester{salt[:]}
}

// scryptCost takes some 20 ms and 16 MiB.
const scryptCost = 1 << 14

// Secret returns the digest of data that may be easy to guess, or "" for no data.
func (d Digester) Secret(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	sum := sha256.Sum256(data)
	text, err := scrypt.Key(sum[:], d.salt, scryptCost, 8, 1, 32)
	if err != nil {
		return "" // the parameters are valid
	}
	return "scrypt:" + hex.EncodeToString(text)
}

// Public returns the digest of data that anyone may see, or "" for no data.
func Public(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Redact leaves the payload out.
func (d *Document) Redact() {
	if d.Payload != nil {
		d.Payload, d.Redacted = nil, true
	}
}

// ParseRecipients reads recipients of age, such as "age1...".
func ParseRecipients(texts []string) ([]age.Recipient, error) {
	var out []age.Recipient
	for _, text := range texts {
		found, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, &RecipientError{Recipient: text, Err: err}
		}
		out = append(out, found...)
	}
	return out, nil
}

// Seal encrypts the payload for the recipients. A document without payload stays as it is.
func (d *Document) Seal(recipients ...age.Recipient) error {
	if d.Payload == nil {
		return nil
	}
	text, err := json.Marshal(d.Payload)
	if err != nil {
		return fmt.Errorf("seal the plan: %w", err)
	}
	var out bytes.Buffer
	armored := armor.NewWriter(&out)
	encrypted, err := age.Encrypt(armored, recipients...)
	if err != nil {
		return fmt.Errorf("seal the plan: %w", err)
	}
	packed := gzip.NewWriter(encrypted)
	_, err = packed.Write(text)
	if err := errors.Join(err, packed.Close(), encrypted.Close(), armored.Close()); err != nil {
		return fmt.Errorf("seal the plan: %w", err)
	}
	d.Payload, d.Sealed = nil, out.String()
	return nil
}

// maxPayload is the largest size that a sealed payload may unpack to.
const maxPayload = 4 * MaxSize

// Open decrypts a sealed payload with the identities in the text of an identity file of age. A
// document that is not sealed stays as it is. The error is a [*SealedError].
func (d *Document) Open(identityFile []byte) error {
	if d.Sealed == "" {
		return nil
	}
	identities, err := age.ParseIdentities(bytes.NewReader(identityFile))
	if err != nil {
		return &SealedError{Err: fmt.Errorf("read the identity: %w", err)}
	}
	decrypted, err := age.Decrypt(armor.NewReader(strings.NewReader(d.Sealed)), identities...)
	if err != nil {
		return &SealedError{Err: err}
	}
	unpacked, err := gzip.NewReader(decrypted)
	if err != nil {
		return &SealedError{Err: err}
	}
	text, err := io.ReadAll(io.LimitReader(unpacked, maxPayload+1))
	if err == nil && len(text) > maxPayload {
		err = fmt.Errorf("it unpacks to more than %d MiB", maxPayload>>20)
	}
	if err != nil {
		return &SealedError{Err: err}
	}
	payload := &Payload{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(payload); err != nil {
		return &SealedError{Err: err}
	}
	payload.restoreNumbers()
	d.Payload, d.Sealed = payload, ""
	return nil
}

// A RecipientError is returned for a recipient that is not one of age.
type RecipientError struct {
	Recipient string
	Err       error
}

func (e *RecipientError) Error() string {
	return fmt.Sprintf("%q is not a valid recipient: %s", e.Recipient, e.Err)
}

func (e *RecipientError) Unwrap() error { return e.Err }

// Hint says what a recipient is.
func (e *RecipientError) Hint() string {
	return "a recipient is the public key that age-keygen prints, such as age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
}

// A SealedError is returned if a sealed plan cannot be opened. With Err nil no identity was given.
type SealedError struct{ Err error }

func (e *SealedError) Error() string {
	if e.Err == nil {
		return "the plan is sealed"
	}
	return fmt.Sprintf("open the sealed plan: %s", e.Err)
}

func (e *SealedError) Unwrap() error { return e.Err }

// Hint says how to open it.
func (e *SealedError) Hint() string {
	return "--identity FILE names the file of age-keygen with the secret key of a recipient"
}
