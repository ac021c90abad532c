// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/testdeps"
)

// The chart's metadata contains characters that YAML and clear-signed texts escape.
const signedChart = `# a comment, which is not signed
apiVersion: v2
version: 0.1.0+build
name: web
description: "A <b>chart</b> & more: yes   "
home: https://x.example/?a=b&c=d
keywords: [a, "- b", "yes", "1e3"]
maintainers:
- {name: Ann, email: ann@example.com}
annotations:
  text: "bar\n- a list\n-----BEGIN PGP SIGNATURE-----\n...\n\nend  \n"
  "unicode": "grün 猫"
dependencies:
- {name: db, version: 1.x, repository: "https://x.example", condition: a.b, tags: [t], alias: x, import-values: [{child: a, parent: b}]}
kubeVersion: ">=1.20-0"
appVersion: "1.0"
unknown: field
type: application
`

// gnupg creates a GNUPGHOME with keys of Rita and Edda, with a short path because of its
// sockets, and returns it with a file of the secret keys.
func gnupg(t *testing.T) (home, secret string) {
	t.Helper()
	testdeps.Program(t, "gpg")
	home, err := os.MkdirTemp("", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		_ = os.RemoveAll(home)
	})
	gpg := func(args ...string) []byte {
		cmd := exec.Command("gpg", append([]string{"--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)...)
		var out, complaint bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &complaint
		if err := cmd.Run(); err != nil {
			t.Fatalf("gpg %s: %v\n%s", args, err, complaint.String())
		}
		return out.Bytes()
	}
	gpg("--quick-gen-key", "Rita <rita@example.com>", "rsa2048", "sign", "never")
	gpg("--quick-gen-key", "Edda <edda@example.com>", "ed25519", "sign", "never")
	secret = filepath.Join(t.TempDir(), "secret.gpg")
	filetest.WriteFile(t, secret, string(gpg("--export-secret-keys")))
	return home, secret
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestProvenance signs one chart with Helm 3, Helm 4 and ours, with keys in a file and, for
// ours, with keys of GnuPG. The signed texts are the same except for the archives' hashes, and
// each binary verifies all signatures with the same output.
func TestProvenance(t *testing.T) {
	keys, secret := gnupg(t)
	// Helm looks for the keyring in $HOME.
	home := t.TempDir()
	if err := os.Symlink(keys, filepath.Join(home, ".gnupg")); err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(keys, "pubring.kbx")
	chart := filepath.Join(t.TempDir(), "web")
	filetest.WriteFile(t, filepath.Join(chart, "Chart.yaml"), signedChart)
	filetest.WriteFile(t, filepath.Join(chart, "charts", "db", "Chart.yaml"), "apiVersion: v2\nname: db\nversion: 1.2.3\n")
	bins := map[string]string{"helm3": peer(t, helm3), "helm4": peer(t, helm4), "ours": ours(t)}

	hash := regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	var text string
	var archives []string
	for _, by := range []string{"helm4", "helm3", "ours", "ours through gpg"} {
		for _, key := range []string{"Rita", "Edda"} {
			dir := filepath.Join(t.TempDir(), "dist")
			if err := os.Mkdir(dir, 0o755); err != nil { // Helm does not create it
				t.Fatal(err)
			}
			bin, args := bins[by], []string{"package", chart, "--sign", "--key", key, "-d", dir, "--keyring", secret}
			if bin == "" {
				bin, args = bins["ours"], args[:len(args)-2]
			}
			must(t, bin, home, args...)
			archive := filepath.Join(dir, "web-0.1.0+build.tgz")
			archives = append(archives, archive)
			got, _, _ := strings.Cut(hash.ReplaceAllString(read(t, archive+".prov"), "HASH"), "-----BEGIN PGP SIGNATURE-----\n\n")
			if text == "" {
				text = got
			}
			if got != text {
				t.Errorf("%s signs\n%s\nwhere helm4 signs\n%s", by, got, text)
			}
			if out, err := exec.Command("gpg", "--homedir", keys, "--batch", "--verify", archive+".prov").CombinedOutput(); err != nil && strings.HasPrefix(by, "ours") {
				t.Errorf("gpg about what %s signed: %v\n%s", by, err, out)
			}
		}
	}
	for _, archive := range archives {
		want := must(t, bins["helm4"], home, "verify", archive, "--keyring", public)
		for by, bin := range bins {
			for _, args := range [][]string{{"verify", archive, "--keyring", public}, {"verify", archive, "--keyring", secret}, {"verify", archive}} {
				if by == "helm3" && args[len(args)-1] != secret {
					continue // Helm does not read keyboxes
				}
				if r := run(t, bin, home, args...); r.err != nil || r.stdout != want {
					t.Errorf("%s %s: %v\n%s%swhere helm4 says\n%s", by, args, r.err, indent(r.stdout), indent(r.stderr), indent(want))
				}
			}
		}
	}
}

// TestProvenanceInvalid compares the errors for invalid signatures.
func TestProvenanceInvalid(t *testing.T) {
	keys, secret := gnupg(t)
	home := t.TempDir()
	chart := filepath.Join(t.TempDir(), "web")
	filetest.WriteFile(t, filepath.Join(chart, "Chart.yaml"), signedChart)
	filetest.WriteFile(t, filepath.Join(chart, "charts", "db", "Chart.yaml"), "apiVersion: v2\nname: db\nversion: 1.2.3\n")
	must(t, ours(t), home, "package", chart, "--sign", "--key", "Rita", "--keyring", secret, "-d", home)
	archive, prov := read(t, filepath.Join(home, "web-0.1.0+build.tgz")), read(t, filepath.Join(home, "web-0.1.0+build.tgz.prov"))
	bins := map[string]string{"helm4": peer(t, helm4), "ours": ours(t)}
	for name, test := range map[string]struct{ file, archive, prov, keyring string }{
		"an archive that was altered":   {"web-0.1.0+build.tgz", archive + " ", prov, secret},
		"an archive that was renamed":   {"other-0.1.0.tgz", archive, prov, secret},
		"metadata that was altered":     {"web-0.1.0+build.tgz", archive, strings.Replace(prov, "Ann", "Eve", 1), secret},
		"a hash that was altered":       {"web-0.1.0+build.tgz", archive + " ", strings.Replace(prov, "sha256:", "sha256:0", 1), secret},
		"a provenance without anything": {"web-0.1.0+build.tgz", archive, "", secret},
		"a provenance without an end":   {"web-0.1.0+build.tgz", archive, prov[:len(prov)/2], secret},
		"a keyring without keys":        {"web-0.1.0+build.tgz", archive, prov, os.DevNull},
		"a keyring that is not there":   {"web-0.1.0+build.tgz", archive, prov, filepath.Join(keys, "nowhere.gpg")},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.file)
			filetest.WriteFile(t, path, test.archive)
			filetest.WriteFile(t, path+".prov", test.prov)
			for by, bin := range bins {
				if r := run(t, bin, home, "verify", path, "--keyring", test.keyring); r.err == nil || r.stdout != "" {
					t.Errorf("%s: got %v and the output %q, want an error and none", by, r.err, r.stdout)
				}
			}
		})
	}
}
