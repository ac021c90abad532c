// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// signedStory unpacks a signed package, and returns a command on it.
func signedStory(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	script, err := txtar.ParseFile(filepath.Join("testdata", "script", "provenance.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := txtar.Write(script, dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("helm", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "NO_COLOR=1", "TERM=dumb"}
	return cmd
}

var signAsBob = []string{"package", "web", "--sign", "--key", "bob", "--keyring", "bob.sec.asc"}

func TestPassphraseIsNotEchoed(t *testing.T) {
	cmd := signedStory(t, signAsBob...)
	got, err := atTerminal(t, cmd, "): ", "open sesame\n")
	if err != nil || strings.Contains(got, "sesame") || !strings.HasPrefix(got, "Passphrase for the key of Bob <bob@example.com> (") || !strings.HasSuffix(got, "\nSuccessfully packaged chart and saved it to: "+filepath.Join(cmd.Dir, "web-1.2.3.tgz")+"\n") {
		t.Errorf("%v:\n%s", err, got)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "web-1.2.3.tgz.prov")); err != nil {
		t.Error(err)
	}
}

func TestPassphraseInterrupt(t *testing.T) {
	cmd := signedStory(t, signAsBob...)
	got, err := atTerminal(t, cmd, "): ", "\x03")
	if err == nil || !strings.Contains(got, "interrupted") {
		t.Errorf("%v:\n%s", err, got)
	}
	if left, _ := filepath.Glob(filepath.Join(cmd.Dir, "*.tgz*")); len(left) > 0 {
		t.Errorf("leftover files: %v", left)
	}
}
