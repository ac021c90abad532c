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

// privateKeys is the directory in GnuPG's home in which its agent keeps secret keys
// since 2.1, in a format of its own; those on a smart card it only points to.
const privateKeys = "private-keys-v1.d"

func keepsSecrets(home string) bool {
	info, err := os.Stat(filepath.Join(home, privateKeys))
	return err == nil && info.IsDir()
}

// signWithGnuPG has the gpg program sign text. The agent behind it unlocks the
// key: it remembers passphrases, asks for them, or waits for a smart card.
func (s *Signer) signWithGnuPG(ctx context.Context, text []byte) ([]byte, error) {
	program, err := exec.LookPath("gpg")
	if err != nil {
		return nil, &NoGnuPGError{Key: s.Key(), ID: fingerprint(s.entity)}
	}
	file, remove, err := temporary(append(bytes.Clone(text), '\n')) // an empty line at the end, as Helm has it
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
	cmd.WaitDelay = 5 * time.Second // its agent may hold on to the pipes
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

// temporary writes text to a file: gpg's standard input is for the passphrase or
// the terminal.
func temporary(text []byte) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "helm-sign-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // what stays is not a secret
	path = filepath.Join(dir, "text")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}

// A NoGnuPGError is returned when GnuPG keeps the secret key, and the program gpg is not
// found to sign with it.
type NoGnuPGError struct{ Key, ID string }

func (e *NoGnuPGError) Error() string {
	return fmt.Sprintf("GnuPG keeps the secret key of %s, and the program gpg is not in PATH to sign with it", e.Key)
}

// A GnuPGError is returned when gpg fails to sign. Output is what it printed.
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
