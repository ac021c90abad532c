// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// privateKeys is the directory in GnuPG's home directory for secret keys since GnuPG 2.1.
// They are in a format of gpg-agent, or references to a smart card.
const privateKeys = "private-keys-v1.d"

func keepsSecrets(home string) bool {
	info, err := os.Stat(filepath.Join(home, privateKeys))
	return err == nil && info.IsDir()
}

// signWithGnuPG signs text with the gpg program. gpg-agent unlocks the key: it caches
// passphrases, prompts for them, or waits for a smart card.
func (s *Signer) signWithGnuPG(ctx context.Context, text []byte) ([]byte, error) {
	program, err := exec.LookPath("gpg")
	if err != nil {
		return nil, &NoGnuPGError{Key: s.Key(), ID: fingerprint(s.entity)}
	}
	file, remove, err := temporary(append(bytes.Clone(text), '\n')) // an empty line at the end, as Helm writes
	if err != nil {
		return nil, err
	}
	defer remove()
	home, err := filepath.Abs(s.home)
	if err != nil {
		return nil, err
	}
	args := []string{"--homedir", home, "--batch", "--quiet", "--no-comments", "--no-emit-version", "--armor",
		"--digest-algo", "SHA512", "--local-user", fingerprint(s.entity), "--output", "-"}
	cmd := exec.CommandContext(ctx, program)
	cmd.Stdin = s.Stdin
	if s.Passphrase != nil {
		pass, err := s.Passphrase()
		if err != nil {
			return nil, err
		}
		args = append(args, "--pinentry-mode", "loopback", "--passphrase-fd", "0")
		cmd.Stdin = bytes.NewReader(append(bytes.Clone(pass), '\n'))
	}
	cmd.Args = append(cmd.Args, append(args, "--clear-sign", file)...)
	cmd.WaitDelay = 5 * time.Second // gpg-agent may keep the pipes open
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &GnuPGError{Key: s.Key(),
			Output: strings.TrimSpace(strings.ReplaceAll(complaint.String(), file+": ", "")), Err: err}
	}
	return out.Bytes(), nil
}

// temporary writes text to a temporary file: gpg's standard input is the passphrase or the
// terminal.
func temporary(text []byte) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "helm-sign-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // the text is not secret
	path = filepath.Join(dir, "text")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}

// A NoGnuPGError is returned if GnuPG has the secret key and the program gpg is not in
// PATH.
type NoGnuPGError struct{ Key, ID string }

func (e *NoGnuPGError) Error() string {
	return fmt.Sprintf("GnuPG has the secret key of %s, and the program gpg is not in PATH to sign with it", e.Key)
}

// A GnuPGError is returned if gpg fails to sign. Output is its standard error.
type GnuPGError struct {
	Key    string
	Output string
	Err    error
}

func (e *GnuPGError) Error() string {
	if e.Output == "" {
		return fmt.Sprintf("gpg did not sign with the key of %s: %v", e.Key, e.Err)
	}
	return fmt.Sprintf("gpg did not sign with the key of %s:\n%s", e.Key, e.Output)
}

func (e *GnuPGError) Unwrap() error { return e.Err }
