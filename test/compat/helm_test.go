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
)

// root returns the top directory of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// ours returns the path of our binary.
func ours(t *testing.T) string {
	t.Helper()
	return peertest.Moonhelm(t, root(t))
}

// The versions of Helm with which releases are exchanged.
const (
	helm4 = peertest.Helm4
	helm3 = peertest.Helm3
)

// peer returns the path of one of Helm's binaries, which is built if necessary.
func peer(t *testing.T, module string) string {
	t.Helper()
	bin, err := peertest.Helm(module)
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// result is the output and the error of a command.
type result struct {
	stdout, stderr string
	err            error
}

// run runs a binary with the home directory home, so that tests do not share files.
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

// ask is like run for a command of Helm that makes no requests and changes no files: the result
// is cached.
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

// must is like run for commands that must succeed. It returns the standard output.
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
