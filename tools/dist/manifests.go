// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

const repository = "https://github.com/moonhelm/moonhelm"

//go:embed templates
var templates embed.FS

// manifests are the files that are written, by template.
var manifests = map[string]string{
	"homebrew.rb.tmpl":           "homebrew/moonhelm.rb",
	"scoop.json.tmpl":            "scoop/moonhelm.json",
	"nix.tmpl":                   "nix/default.nix",
	"winget.yaml.tmpl":           "winget/Moonhelm.Moonhelm.yaml",
	"winget-installer.yaml.tmpl": "winget/Moonhelm.Moonhelm.installer.yaml",
	"winget-locale.yaml.tmpl":    "winget/Moonhelm.Moonhelm.locale.en-US.yaml",
}

// archive is one of a release, as templates see it.
type archive struct{ Name, URL, SHA256 string }

// SRI is the checksum as Nix writes it.
func (a archive) SRI() (string, error) {
	raw, err := hex.DecodeString(a.SHA256)
	return "sha256-" + base64.StdEncoding.EncodeToString(raw), err
}

// released is what the templates are filled with.
type released struct {
	Version     string
	Repository  string
	Description string
	archives    map[string]archive
}

// Archive returns the archive of a platform such as linux-amd64.
func (r released) Archive(platform string) (archive, error) {
	a, ok := r.archives[platform]
	if !ok {
		return archive{}, fmt.Errorf("the release has no archive for %s", platform)
	}
	return a, nil
}

// Systems are the platforms of Linux and macOS by their names in Nix.
func (released) Systems() map[string]string {
	return map[string]string{
		"x86_64-linux": "linux-amd64", "aarch64-linux": "linux-arm64", "i686-linux": "linux-386",
		"armv7l-linux": "linux-arm", "powerpc64le-linux": "linux-ppc64le", "riscv64-linux": "linux-riscv64",
		"s390x-linux": "linux-s390x", "x86_64-darwin": "darwin-amd64", "aarch64-darwin": "darwin-arm64",
	}
}

var archiveName = regexp.MustCompile(`^(helm|moonhelm-policy)-v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)-([a-z]+-[a-z0-9]+)\.(?:tar\.gz|zip)$`)

// archiveParts are the parts of an archive's name.
type archiveParts struct{ product, version, platform string }

// binary returns the name of the binary in the archive.
func (p archiveParts) binary() string {
	name := strings.TrimPrefix(p.product, "moonhelm-")
	if strings.HasPrefix(p.platform, "windows-") {
		return name + ".exe"
	}
	return name
}

// splitArchiveName returns the parts of an archive's name, helm-v0.1.0-linux-amd64.tar.gz for one.
func splitArchiveName(name string) (archiveParts, error) {
	match := archiveName.FindStringSubmatch(name)
	if match == nil {
		return archiveParts{}, fmt.Errorf("%s: want a name such as helm-v0.1.0-linux-amd64.tar.gz", name)
	}
	return archiveParts{product: match[1], version: match[2], platform: match[3]}, nil
}

func writeManifests(dir string) error {
	r, err := readRelease(dir)
	if err != nil {
		return err
	}
	for from, to := range manifests {
		t, err := template.New(from).Funcs(template.FuncMap{"upper": strings.ToUpper}).ParseFS(templates, "templates/"+from)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, r); err != nil {
			return err
		}
		if strings.HasSuffix(to, ".json") && !json.Valid(b.Bytes()) {
			return fmt.Errorf("%s: is not valid JSON", to)
		}
		file := filepath.Join(dir, "manifests", filepath.FromSlash(to))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readRelease finds the archives of helm of one version in a directory.
func readRelease(dir string) (released, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return released{}, err
	}
	r := released{Repository: repository, archives: map[string]archive{},
		Description: "Kubernetes package manager that works with the charts and releases of Helm"}
	for _, entry := range entries {
		name := entry.Name()
		parts, err := splitArchiveName(name)
		if err != nil || parts.product != "helm" {
			continue // what else a release is made of
		}
		if r.Version != "" && parts.version != r.Version {
			return released{}, fmt.Errorf("%s has archives of %s and of %s", dir, r.Version, parts.version)
		}
		sum, err := checksum(filepath.Join(dir, name))
		if err != nil {
			return released{}, err
		}
		r.Version = parts.version
		r.archives[parts.platform] = archive{name, repository + "/releases/download/v" + parts.version + "/" + name, sum}
	}
	if r.Version == "" {
		return released{}, fmt.Errorf("%s has no archives", dir)
	}
	return r, nil
}
