// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/provenance"
)

// Verifier returns a verifier of provenance with the public keys of keyring, which is read at the
// first use.
func (f *Factory) Verifier(keyring string) fetch.Verifier {
	return verifier{keys: sync.OnceValues(func() (*provenance.Keyring, error) { return f.keyring(keyring) })}
}

type verifier struct {
	keys func() (*provenance.Keyring, error)
}

// Verify implements fetch.Verifier. It returns the signer in Helm's format: several lines, without
// a final newline, with control characters escaped.
func (v verifier) Verify(name string, r io.Reader, prov []byte) (string, error) {
	keys, err := v.keys()
	if err != nil {
		return "", err
	}
	sig, err := keys.Verify(name, r, prov)
	if err != nil {
		return "", err
	}
	return term.Safe(sig.String()), nil
}

func (f *Factory) keyring(path string) (*provenance.Keyring, error) {
	keys, err := provenance.Load(f.Context, path)
	if err == nil {
		keys.Now = f.Now
	}
	return keys, err
}

// VerifyArchive verifies the archive at path with the provenance file beside it, and returns the
// signer as [Factory.Verifier] does. It copies the verified data to w, unless that is nil.
func (f *Factory) VerifyArchive(path, keyring string, w io.Writer) (string, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", &action.ChartNotFoundError{Ref: path}
	}
	sig, err := provenance.VerifyFile(path, w, func() (*provenance.Keyring, error) { return f.keyring(keyring) })
	if err != nil {
		return "", err
	}
	return term.Safe(sig.String()), nil
}

// Signer returns a signer of archives with the key in keyring that key names. The passphrase is the
// first line of passphraseFile ("-" for standard input). If passphraseFile is "" and the key needs
// one, Signer asks for it at the terminal.
func (f *Factory) Signer(keyring, key, passphraseFile string) (*provenance.Signer, error) {
	keys, err := f.keyring(keyring)
	if err != nil {
		return nil, err
	}
	s, err := keys.Signer(key)
	if err != nil {
		return nil, err
	}
	if passphraseFile != "" {
		s.Passphrase = sync.OnceValues(func() ([]byte, error) { return f.passphrase(passphraseFile) })
		return s, nil
	}
	s.Stdin = f.In
	if f.Interactive() {
		s.Ask = func(ctx context.Context, key string) ([]byte, error) {
			text, err := f.AskSecretUntil(ctx, fmt.Sprintf("Passphrase for the key of %s: ", term.SafeLine(key)))
			if errors.Is(err, io.EOF) {
				err = errors.New("no passphrase given")
			}
			return []byte(text), err
		}
	}
	return s, nil
}

// maxPassphrase is the length of the longest passphrase, in bytes.
const maxPassphrase = 64 << 10

// passphrase returns the first line of a file.
func (f *Factory) passphrase(path string) ([]byte, error) {
	line, err := term.Until(f.Context, func() ([]byte, error) {
		in := f.In
		if path != "-" {
			file, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			defer file.Close()
			in = file
		}
		if in == nil {
			in = strings.NewReader("")
		}
		return bufio.NewReader(io.LimitReader(in, maxPassphrase)).ReadBytes('\n')
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("--passphrase-file: %w", err)
	}
	return []byte(strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")), nil
}
