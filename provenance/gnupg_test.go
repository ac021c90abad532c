// SPDX-License-Identifier: Apache-2.0

package provenance

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/testdeps"
)

// gnuPG is a home directory of GnuPG with keys.
type gnuPG struct {
	t    *testing.T
	home string
}

// newGnuPG creates a home directory with keys of these names. Paula's passphrase is "open
// sesame", the others have none. Its path is short because of the agent's socket.
func newGnuPG(t *testing.T, names ...string) gnuPG {
	t.Helper()
	testdeps.Program(t, "gpg")
	home, err := os.MkdirTemp("", "g")
	if err != nil {
		t.Fatal(err)
	}
	g := gnuPG{t, home}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		_ = os.RemoveAll(home)
	})
	for _, name := range names {
		kind, pass := "ed25519", ""
		switch name {
		case "Rita":
			kind = "rsa2048"
		case "Dora":
			kind = "dsa2048"
		case "Paula":
			pass = "open sesame"
		}
		g.run("--pinentry-mode", "loopback", "--passphrase", pass, "--quick-gen-key", name+" <"+strings.ToLower(name)+"@example.com>", kind, "sign", "never")
	}
	return g
}

func (g gnuPG) run(args ...string) []byte {
	g.t.Helper()
	cmd := exec.Command("gpg", append([]string{"--homedir", g.home, "--batch", "--quiet"}, args...)...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		g.t.Fatalf("gpg %s: %v\n%s", args, err, complaint.String())
	}
	return out.Bytes()
}

// file writes data to a file outside of GnuPG's home directory.
func (g gnuPG) file(name string, data []byte) string {
	g.t.Helper()
	path := filepath.Join(g.t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		g.t.Fatal(err)
	}
	return path
}

func load(t *testing.T, path string) *Keyring {
	t.Helper()
	k, err := Load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Keys in all formats that GnuPG stores and exports sign and verify, and gpg verifies our
// signatures.
func TestGnuPG(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	everybody := []string{"Rita", "Edda", "Dora", "Paula"}
	g := newGnuPG(t, everybody...)
	pass := []string{"--pinentry-mode", "loopback", "--passphrase", "open sesame", "--export-secret-keys"}
	public := map[string]*Keyring{
		"its keybox": load(t, filepath.Join(g.home, "pubring.gpg")),
		"an export":  load(t, g.file("pub.gpg", g.run("--export"))),
		"armour":     load(t, g.file("pub.asc", g.run("--armor", "--export"))),
	}
	secret := map[string]*Keyring{
		"its agent":        public["its keybox"],
		"secret keys":      load(t, g.file("sec.gpg", g.run(pass...))),
		"armoured secrets": load(t, g.file("sec.asc", g.run(append([]string{"--armor"}, pass...)...))),
	}
	for from, ring := range secret {
		t.Run(from, func(t *testing.T) {
			for _, name := range everybody {
				s, err := ring.Signer(name)
				if err != nil {
					t.Errorf("%s: %s: %v", from, name, err)
					continue
				}
				s.Passphrase = func() ([]byte, error) { return []byte("open sesame"), nil }
				prov, err := s.Sign(t.Context(), "web-1.0.0.tgz", strings.NewReader(archiveText), []byte("name: web\nlist:\n- a\n"))
				if err != nil {
					t.Errorf("%s: %s: %v", from, name, err)
					continue
				}
				want := beginMessage + "\nHash: SHA512\n\nname: web\nlist:\n- - a\n\n...\nfiles:\n  web-1.0.0.tgz: " + hashOf(t, archiveText) + "\n\n-----BEGIN PGP SIGNATURE-----\n"
				if !strings.HasPrefix(string(prov), want) {
					t.Errorf("%s: %s: %s", from, name, prov)
				}
				for with, ring := range public {
					if _, err := ring.Verify("web-1.0.0.tgz", strings.NewReader(archiveText), prov); err != nil {
						t.Errorf("%s: %s: by %s: %v", from, name, with, err)
					}
				}
				g.run("--verify", g.file("web.prov", prov))
			}
		})
	}
}

func TestGnuPGErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	g := newGnuPG(t, "Paula")
	ring := load(t, filepath.Join(g.home, "pubring.kbx"))
	sign := func(ctx context.Context, passphrase string) error {
		t.Helper()
		s, err := ring.Signer("Paula")
		if err != nil {
			t.Fatal(err)
		}
		if passphrase != "" {
			s.Passphrase = func() ([]byte, error) { return []byte(passphrase), nil }
		}
		prov, err := s.Sign(ctx, "a.tgz", strings.NewReader("a"), []byte("name: a\n"))
		if err == nil || prov != nil {
			t.Errorf("signed: %s", prov)
		}
		return err
	}
	_ = exec.Command("gpgconf", "--homedir", g.home, "--kill", "all").Run() // the agent caches passphrases
	var failed *GnuPGError
	if err := sign(t.Context(), "guess"); !errors.As(err, &failed) || !strings.Contains(err.Error(), "gpg did not sign with the key of Paula <paula@example.com> (") || strings.Contains(err.Error(), "guess") || strings.Contains(err.Error(), "helm-sign") {
		t.Error(err)
	}
	if err := sign(t.Context(), ""); !errors.As(err, &failed) { // there is no terminal
		t.Error(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sign(done, "open sesame"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	var missing *NoGnuPGError
	if err := sign(t.Context(), "open sesame"); !errors.As(err, &missing) {
		t.Error(err)
	}
	exported := load(t, g.file("pub.gpg", packetsOf(ring)))
	var noSecret *NoSecretError
	if _, err := exported.Signer("Paula"); !errors.As(err, &noSecret) {
		t.Error(err)
	}
}

func packetsOf(k *Keyring) []byte {
	var b bytes.Buffer
	for _, e := range k.entities() {
		_ = e.Serialize(&b) // writing to a Buffer does not fail
	}
	return b.Bytes()
}

// Revoked keys and signing subkeys as GnuPG writes them.
func TestGnuPGOtherKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	g := newGnuPG(t, "Rita", "Edda")
	id := fingerprint(load(t, filepath.Join(g.home, "pubring.kbx")).entities()[1]) // Edda's
	g.run("--pinentry-mode", "loopback", "--passphrase", "", "--quick-add-key", id, "ed25519", "sign", "never")
	ring := load(t, filepath.Join(g.home, "pubring.kbx"))
	s, err := ring.Signer("Edda")
	if err != nil {
		t.Fatal(err)
	}
	prov, err := s.Sign(t.Context(), "a.tgz", strings.NewReader("a"), []byte("name: a\n"))
	if err != nil {
		t.Fatal(err)
	}
	sig, err := ring.Verify("a.tgz", strings.NewReader("a"), prov)
	if err != nil || sig.Fingerprint != id {
		t.Errorf("%v, %v", sig, err)
	}
	certificate, err := os.ReadFile(filepath.Join(g.home, "openpgp-revocs.d", id+".rev"))
	if err != nil {
		t.Fatal(err)
	}
	g.run("--import", g.file("revoked", bytes.Replace(certificate, []byte("\n:-----"), []byte("\n-----"), 1)))
	ring = load(t, filepath.Join(g.home, "pubring.kbx"))
	if _, err := ring.Verify("a.tgz", strings.NewReader("a"), prov); err == nil || !strings.Contains(err.Error(), "was revoked") {
		t.Error(err)
	}
	var unfit *UnfitKeyError
	if _, err := ring.Signer("Edda"); !errors.As(err, &unfit) {
		t.Error(err)
	}
}
