// SPDX-License-Identifier: Apache-2.0

// Package peers builds what ours is compared with: Helm's own binaries, the helm-diff
// plugin, and the program that renders with Helm's SDK (../helm4). Each is built once per machine and kept in the
// user's cache directory.
package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The binaries that ours is compared with.
const (
	Helm4 = "helm.sh/helm/v4/cmd/helm@v4.3.1"
	Helm3 = "helm.sh/helm/v3/cmd/helm@v3.22.0"
	// Diff is the newest version of the helm-diff plugin that the Go module proxy gives out.
	Diff = "github.com/databus23/helm-diff/v3@v3.9.11"
)

// Helm builds one of Helm's binaries through the Go module proxy, and returns its path.
// It takes two minutes or so the first time. The binary knows the first two numbers of
// its version.
func Helm(module string) (string, error) {
	_, version, _ := strings.Cut(module, "@")
	return install(module, version)
}

// Released is Helm, but the binary says its whole version, as those that Helm publishes
// do: callers parse it.
func Released(module string) (string, error) {
	path, version, _ := strings.Cut(module, "@")
	path = strings.TrimSuffix(path, "/cmd/helm")
	return install(module, version+"-released", "-ldflags", "-X "+path+"/internal/version.version="+version)
}

// install builds one of Helm's binaries with those flags, and keeps it in the directory
// name.
func install(module, name string, flags ...string) (string, error) {
	return keep(name, "helm", func(fresh string) error {
		build := exec.Command("go", append(append([]string{"install"}, flags...), module)...)
		build.Env = append(os.Environ(), "GOBIN="+fresh, "GOFLAGS=-buildvcs=false")
		build.Dir = os.TempDir() // outside of any module
		return run(module, build)
	})
}

// HelmDiff builds the plugin helm-diff, and returns its path. It takes two minutes or so
// the first time.
func HelmDiff() (string, error) {
	path, version, _ := strings.Cut(Diff, "@")
	return keep("helm-diff-"+version, "helm-diff", func(fresh string) error {
		// "go install" wants the list of all versions, which the proxy does not give out.
		module := fmt.Sprintf("module build\n\ngo 1.24\n\nrequire %s %s\n", path, version)
		if err := os.WriteFile(filepath.Join(fresh, "go.mod"), []byte(module), 0o600); err != nil {
			return err
		}
		build := exec.Command("go", "build", "-o", "helm-diff", path)
		build.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false -mod=mod")
		build.Dir = fresh
		return run(Diff, build)
	})
}

// keep returns the path of the program in the directory name, and has build make it in
// the directory that it is given where it is not there yet.
func keep(name, program string, build func(fresh string) error) (string, error) {
	cache, err := directory()
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

func run(what string, build *exec.Cmd) error {
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", what, err, out)
	}
	return nil
}

// SDK builds ../helm4, whose directory is source, and returns its path. The Go command
// knows whether there is anything to do.
func SDK(source string) (string, error) {
	cache, err := directory()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(cache, "helm4-sdk")
	build := exec.Command("go", "build", "-o", bin, ".")
	build.Dir = source
	return bin, run(source, build)
}

// directory is where the peers are kept.
func directory() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "moonhelm", "peers")
	return dir, os.MkdirAll(dir, 0o755)
}
