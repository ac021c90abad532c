// SPDX-License-Identifier: Apache-2.0

package peertest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The versions of programs that Moonhelm is compared with. Each is built once per machine and
// stored in the user's cache directory.
const (
	Helm4 = "helm.sh/helm/v4/cmd/helm@v4.3.1"
	Helm3 = "helm.sh/helm/v3/cmd/helm@v3.22.0"
	// Diff is the newest version of the helm-diff plugin in the Go module proxy.
	Diff = "github.com/databus23/helm-diff/v3@v3.9.11"
	// Unittest is the newest version of the helm-unittest plugin in the Go module proxy.
	Unittest = "github.com/helm-unittest/helm-unittest@v1.1.2"
	Docs     = "github.com/norwoodj/helm-docs@v1.14.2"
	// Kubeconform validates objects against JSON Schemas.
	Kubeconform = "github.com/yannh/kubeconform@v0.8.0"
)

// Moonhelm returns the path of the binary under test: MOONHELM_TEST_HELM, or bin/helm of
// `make build` in the repository, whose top directory is root.
func Moonhelm(t testing.TB, root string) string {
	t.Helper()
	bin := os.Getenv("MOONHELM_TEST_HELM")
	if bin == "" {
		bin = filepath.Join(root, "bin", "helm")
	}
	bin, err := filepath.Abs(bin)
	if err == nil {
		_, err = os.Stat(bin)
	}
	if err != nil {
		t.Fatalf("run make build: %v", err)
	}
	return bin
}

// Helm builds one of Helm's binaries through the Go module proxy and returns its path. This
// takes about two minutes the first time. The binary's version has only two numbers.
func Helm(module string) (string, error) {
	_, version, _ := strings.Cut(module, "@")
	return install(module, version)
}

// Released is like Helm, but the binary's version has three numbers like that of a released
// one, which callers parse.
func Released(module string) (string, error) {
	path, version, _ := strings.Cut(module, "@")
	path = strings.TrimSuffix(path, "/cmd/helm")
	return install(module, version+"-released", "-ldflags", "-X "+path+"/internal/version.version="+version)
}

// install builds one of Helm's binaries with linker flags and stores it in the directory name.
func install(module, name string, flags ...string) (string, error) {
	return buildOnce(name, "helm", func(fresh string) error {
		build := exec.Command("go", append(append([]string{"install"}, flags...), module)...)
		build.Env = append(os.Environ(), "GOBIN="+fresh, "GOFLAGS=-buildvcs=false")
		build.Dir = os.TempDir() // outside of any module
		return runBuild(module, build)
	})
}

// HelmDiff builds the plugin helm-diff and returns its path. This takes about two minutes the
// first time.
func HelmDiff() (string, error) { return buildProgram(Diff, "helm-diff", "") }

// HelmDocs builds helm-docs and returns its path.
func HelmDocs() (string, error) { return buildProgram(Docs, "helm-docs", "/cmd/helm-docs") }

// BuildKubeconform builds kubeconform and returns its path.
func BuildKubeconform() (string, error) {
	return buildProgram(Kubeconform, "kubeconform", "/cmd/kubeconform")
}

// buildProgram builds the package at path in a module with its version.
func buildProgram(versioned, name, path string) (string, error) {
	module, version, _ := strings.Cut(versioned, "@")
	return buildOnce(name+"-"+version, name, func(fresh string) error {
		// "go install" requires the list of versions, which the proxy does not have.
		text := fmt.Sprintf("module build\n\ngo 1.24\n\nrequire %s %s\n", module, version)
		if err := os.WriteFile(filepath.Join(fresh, "go.mod"), []byte(text), 0o600); err != nil {
			return err
		}
		build := exec.Command("go", "build", "-o", name, module+path)
		build.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false -mod=mod")
		build.Dir = fresh
		return runBuild(versioned, build)
	})
}

// HelmUnittest builds the plugin helm-unittest and returns its path. This takes about two minutes the
// first time.
func HelmUnittest() (string, error) {
	path, version, _ := strings.Cut(Unittest, "@")
	return buildOnce("helm-unittest-"+version, "helm-unittest", func(fresh string) error {
		// The replacement is the one of the plugin's own go.mod.
		module := fmt.Sprintf("module build\n\ngo 1.26\n\nrequire %s %s\n\nreplace %s => %s\n", path, version,
			"github.com/vmware-labs/yaml-jsonpath", "github.com/helm-unittest/yaml-jsonpath v0.4.0")
		if err := os.WriteFile(filepath.Join(fresh, "go.mod"), []byte(module), 0o600); err != nil {
			return err
		}
		build := exec.Command("go", "build", "-o", "helm-unittest", path+"/cmd/helm-unittest")
		build.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false -mod=mod")
		build.Dir = fresh
		return runBuild(Unittest, build)
	})
}

// UnittestSource returns the directory of helm-unittest's module, which has its test charts.
func UnittestSource() (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", Unittest)
	cmd.Dir = os.TempDir() // outside of any module
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("download %s: %w", Unittest, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", err
	}
	return module.Dir, nil
}

// buildOnce returns the path of the program in the directory name. If it does not exist, build
// creates it in the directory that it gets.
func buildOnce(name, program string, build func(fresh string) error) (string, error) {
	cache, err := programDirectory()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	bin := filepath.Join(dir, program)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	fresh, err := os.MkdirTemp(cache, "new-") // other tests may be building it at the same time
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if err := build(fresh); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return bin, os.Rename(filepath.Join(fresh, program), bin)
}

func runBuild(what string, build *exec.Cmd) error {
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", what, err, out)
	}
	return nil
}

// SDK builds test/compat/helm4, whose directory is source, and returns its path. The Go command
// checks whether it is up to date.
func SDK(source string) (string, error) {
	cache, err := programDirectory()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(cache, "helm4-sdk")
	build := exec.Command("go", "build", "-o", bin, ".")
	build.Dir = source
	return bin, runBuild(source, build)
}

// programDirectory returns the cache directory of programs.
func programDirectory() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "moonhelm", "peers")
	return dir, os.MkdirAll(dir, 0o755)
}

// EnvNumber returns the number in the environment variable name, such as the seed of a test with
// random cases, or def if it is not set.
func EnvNumber(t testing.TB, name string, def uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
