// SPDX-License-Identifier: Apache-2.0

// Package programs builds programs that call helm from their modules, once per machine, and
// stores them in the user's cache directory:
//
//	dir, err := programs.Build("helmfile-1.8.0")
//	cmd := exec.Command(filepath.Join(dir, "helmfile"), "apply")
//
// Each is built in a copy of its module, so that replace directives in its go.mod apply.
// Programs that are not Go modules are Debian packages: make callers-deps installs them.
package programs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// program is a Go program of another project.
type program struct {
	module  string // with version
	pkg     string // relative to the module
	binary  string // relative to the directory that Build returns
	plugin  bool   // a plugin of helm; the directory also has its plugin.yaml
	ldflags string
}

// programs are the programs that [Build] can build, by the name of their directory.
var programs = map[string]program{
	"helmfile-1.8.0":   {module: "github.com/helmfile/helmfile@v1.8.0", pkg: ".", binary: "helmfile"},
	"helmfile-0.167.1": {module: "github.com/helmfile/helmfile@v0.167.1", pkg: ".", binary: "helmfile"},
	"kustomize-5.8.1":  {module: "sigs.k8s.io/kustomize/kustomize/v5@v5.8.1", pkg: ".", binary: "kustomize"},
	"kustomize-5.7.1":  {module: "sigs.k8s.io/kustomize/kustomize/v5@v5.7.1", pkg: ".", binary: "kustomize"},
	"helm-docs-1.14.2": {module: "github.com/norwoodj/helm-docs@v1.14.2", pkg: "./cmd/helm-docs", binary: "helm-docs"},
	"kubeconform-0.8.0": {
		module: "github.com/yannh/kubeconform@v0.8.0", pkg: "./cmd/kubeconform", binary: "kubeconform",
	},
	"age-1.3.2":   {module: "filippo.io/age@v1.3.2", pkg: "./cmd/age-keygen", binary: "age-keygen"},
	"sops-3.13.3": {module: "github.com/getsops/sops/v3@v3.13.3", pkg: "./cmd/sops", binary: "sops"},
	"helm-diff-3.9.11": {
		module: "github.com/databus23/helm-diff/v3@v3.9.11", pkg: ".", binary: "bin/diff", plugin: true,
		ldflags: "-X github.com/databus23/helm-diff/v3/cmd.Version=3.9.11",
	},
	"helm-unittest-1.1.2": {
		module: "github.com/helm-unittest/helm-unittest@v1.1.2", pkg: "./cmd/helm-unittest",
		binary: "untt-" + runtime.GOOS + "-" + runtime.GOARCH, plugin: true,
	},
	"helm-values-schema-json-2.3.1": {
		module: "github.com/losisin/helm-values-schema-json/v2@v2.3.1", pkg: ".", binary: "schema", plugin: true,
	},
}

// Build builds the program, unless it was built before, and returns its directory. Large
// programs take minutes.
func Build(name string) (string, error) {
	p, known := programs[name]
	if !known {
		return "", fmt.Errorf("build %s: no such program", name)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "moonhelm", "callers")
	dir := filepath.Join(cache, name)
	if exists(filepath.Join(dir, p.binary)) {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(cache, "new-") // another test may be building it at the same time
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	made, err := p.build(work)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	if err := os.Rename(made, dir); err != nil && !exists(filepath.Join(dir, p.binary)) {
		return "", err
	}
	return dir, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// build builds the program in work and returns the directory to store.
func (p program) build(work string) (string, error) {
	source, err := download(p.module)
	if err != nil {
		return "", err
	}
	// The module cache is read-only, and a copy by cp would be too.
	module, out := filepath.Join(work, "module"), filepath.Join(work, "out")
	if err := os.CopyFS(module, os.DirFS(source)); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w "+p.ldflags,
		"-o", filepath.Join(out, p.binary), p.pkg)
	build.Dir = module
	build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	if !p.plugin {
		return out, nil
	}
	for _, file := range []string{"plugin.yaml", "plugin.complete"} {
		data, err := os.ReadFile(filepath.Join(module, file))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(out, file), data, 0o755); err != nil {
			return "", err
		}
	}
	return out, nil
}

// download returns the directory of the module in the module cache.
func download(module string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir() // outside of any module
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	out, err := cmd.Output()
	var answer struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &answer); jsonErr != nil || answer.Dir == "" {
		return "", fmt.Errorf("download %s: %w %s", module, err, strings.TrimSpace(answer.Error))
	}
	return answer.Dir, nil
}
