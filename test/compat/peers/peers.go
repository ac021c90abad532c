// SPDX-License-Identifier: Apache-2.0

// Package peers builds what ours is compared with: Helm's own binaries, and the program
// that renders with Helm's SDK (../helm4). Each is built once per machine and kept in the
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

// install builds the module with those flags, and keeps it in the directory name.
func install(module, name string, flags ...string) (string, error) {
	cache, err := directory()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	bin := filepath.Join(dir, "helm")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	fresh, err := os.MkdirTemp(cache, "new-") // other tests may be building it at the same time
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	build := exec.Command("go", append(append([]string{"install"}, flags...), module)...)
	build.Env = append(os.Environ(), "GOBIN="+fresh, "GOFLAGS=-buildvcs=false")
	build.Dir = os.TempDir() // outside of any module
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", module, err, out)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return bin, os.Rename(filepath.Join(fresh, "helm"), bin)
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
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", source, err, out)
	}
	return bin, nil
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
