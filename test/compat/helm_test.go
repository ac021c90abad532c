// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/peertest"
	"github.com/moonhelm/moonhelm/test/compat/peers"
)

// root is the repository's top directory.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// ours is the binary that `make build` made, unless the variable names another.
func ours(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("MOONHELM_TEST_HELM")
	if bin == "" {
		bin = filepath.Join(root(t), "bin", "helm")
	}
	if _, err := os.Stat(bin); err != nil {
		t.Fatalf("bin/helm is not there; run make build: %v", err)
	}
	return bin
}

// The peers that releases are exchanged with.
const (
	helm4 = peers.Helm4
	helm3 = peers.Helm3
)

// peer builds one of Helm's own binaries, or finds the one that is there.
func peer(t *testing.T, module string) string {
	t.Helper()
	bin, err := peers.Helm(module)
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// result is what a program printed, and how it ended.
type result struct {
	stdout, stderr string
	err            error
}

// run runs a helm with a home of its own, so that no test sees the files of
// another or of the person who runs it.
func run(t *testing.T, bin, home string, args ...string) result {
	t.Helper()
	cmd := exec.Command(bin, args...)
	cmd.Env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC",
		"KUBECONFIG=" + os.Getenv("MOONHELM_TEST_KUBECONFIG"),
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return result{stdout.String(), stderr.String(), err}
}

// ask is run for a command of Helm's that makes no requests and changes nothing: its answer
// is remembered.
func ask(t *testing.T, bin, home string, args ...string) result {
	t.Helper()
	answer, err := peertest.Command{
		Bin: bin, Args: args, Reads: []string{home},
		Env: []string{
			"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC",
			"KUBECONFIG=" + os.Getenv("MOONHELM_TEST_KUBECONFIG"),
		},
	}.Run()
	if err == nil && answer.Code != 0 {
		err = fmt.Errorf("exit status %d", answer.Code)
	}
	return result{answer.Stdout, answer.Stderr, err}
}

// must is run for commands that have to succeed; it returns standard output.
func must(t *testing.T, bin, home string, args ...string) string {
	t.Helper()
	r := run(t, bin, home, args...)
	if r.err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(filepath.Dir(bin)), strings.Join(args, " "), r.err, r.stdout, r.stderr)
	}
	return r.stdout
}

func wantIn(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s lacks %q:\n%s", what, p, text)
		}
	}
}

func indent(text string) string {
	return fmt.Sprintf("    %s", strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    "))
}
