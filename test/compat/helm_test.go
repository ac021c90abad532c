// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// root is the repository's top folder.
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
	helm4 = "helm.sh/helm/v4/cmd/helm@v4.3.1"
	helm3 = "helm.sh/helm/v3/cmd/helm@v3.22.0"
)

var building sync.Mutex

// peer builds one of Helm's own binaries through the Go module proxy, once per
// machine: it is kept in the user's cache folder.
func peer(t *testing.T, module string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(module, "@")
	dir := filepath.Join(cache, "moonhelm", "peers", version)
	bin := filepath.Join(dir, "helm")
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	t.Logf("building %s; this takes two minutes or so", module)
	build := exec.Command("go", "install", module)
	build.Env = append(os.Environ(), "GOBIN="+dir+".new", "GOFLAGS=-buildvcs=false")
	build.Dir = os.TempDir() // outside of any module
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", module, err, out)
	}
	if err := os.Rename(dir+".new", dir); err != nil {
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
