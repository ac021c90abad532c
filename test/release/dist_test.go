// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"go.yaml.in/yaml/v3"
)

// dist returns the directory that make release-snapshot wrote, and its version.
func dist(t *testing.T) (dir, version string) {
	t.Helper()
	dir = os.Getenv("MOONHELM_DIST")
	if dir == "" {
		t.Skip("MOONHELM_DIST is not set: make release-check sets it")
	}
	data, err := os.ReadFile(filepath.Join(dir, "helm-latest-version"))
	if err != nil {
		t.Fatal(err)
	}
	return dir, strings.TrimSpace(strings.TrimPrefix(string(data), "v"))
}

// named returns the names of archives for a version.
func named(archives []string, version string) []string {
	names := slices.Clone(archives)
	for i := range names {
		names[i] = strings.Replace(names[i], "v0.1.0", "v"+version, 1)
	}
	return names
}

func TestDistArchives(t *testing.T) {
	dir, version := dist(t)
	for _, name := range named(helmsArchives, version) {
		t.Run(name, func(t *testing.T) {
			data := readDist(t, dir, name)
			platform := strings.TrimPrefix(name, "helm-v"+version+"-")
			platform, _, _ = strings.Cut(platform, ".")
			binary := "helm"
			if strings.HasPrefix(platform, "windows") {
				binary = "helm.exe"
			}
			want := []string{platform + "/LICENSE", platform + "/README.md", platform + "/" + binary}
			if got := entries(t, name, data); !slices.Equal(got, want) {
				t.Errorf("files: got %v, want %v", got, want)
			}
			checkBeside(t, dir, name, data, "github.com/spf13/cobra")
		})
	}
}

func TestDistPolicyArchives(t *testing.T) {
	dir, version := dist(t)
	for _, name := range named(policyArchives, version) {
		t.Run(name, func(t *testing.T) {
			data := readDist(t, dir, name)
			top := strings.TrimSuffix(name, ".tar.gz")
			binary := "policy"
			if strings.Contains(name, "-windows-") {
				binary = "policy.exe"
			}
			want := []string{top + "/LICENSE", top + "/plugin.yaml", top + "/" + binary}
			if got := entries(t, name, data); !slices.Equal(got, want) {
				t.Errorf("files: got %v, want %v", got, want)
			}
			checkBeside(t, dir, name, data, "github.com/google/cel-go")
		})
	}
}

// checkBeside checks the files beside an archive: its checksums, and an SPDX document that lists module.
func checkBeside(t *testing.T, dir, name string, data []byte, module string) {
	t.Helper()
	if got := string(readDist(t, dir, name+".sha256")); got != sum(data) {
		t.Errorf(".sha256: got %q, want %q", got, sum(data))
	}
	if got, want := string(readDist(t, dir, name+".sha256sum")), sum(data)+"  "+name+"\n"; got != want {
		t.Errorf(".sha256sum: got %q, want %q", got, want)
	}
	type spdxPackage struct {
		Name      string
		Version   string `json:"versionInfo"`
		Checksums []struct{ ChecksumValue string }
	}
	var sbom struct {
		Version  string `json:"spdxVersion"`
		Packages []spdxPackage
	}
	if err := json.Unmarshal(readDist(t, dir, name+".spdx.json"), &sbom); err != nil {
		t.Fatal(err)
	}
	if sbom.Version != "SPDX-2.3" || len(sbom.Packages) < 30 || sbom.Packages[0].Checksums[0].ChecksumValue != sum(data) {
		t.Errorf("the SPDX document: %s with %d packages, the first %+v", sbom.Version, len(sbom.Packages), sbom.Packages[0])
	}
	if !slices.ContainsFunc(sbom.Packages, func(p spdxPackage) bool { return p.Name == module }) {
		t.Errorf("the SPDX document does not list %s", module)
	}
}

// The helm of the release installs its plugin from a URL, verified by the provenance file, and lint
// uses it.
func TestDistPolicyInstalls(t *testing.T) {
	dir, version := dist(t)
	needs(t, "tar")
	if runtime.GOOS != "linux" {
		t.Skip("the binary of another system is installed differently")
	}
	keys, err := os.ReadFile(filepath.Join(dir, "KEYS"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("nothing is signed: there was no gpg")
	}
	if err != nil {
		t.Fatal(err)
	}
	platform := "linux-" + runtime.GOARCH
	work := t.TempDir()
	run(t, "tar", "-xzf", filepath.Join(dir, "helm-v"+version+"-"+platform+".tar.gz"), "-C", work)
	helm := filepath.Join(work, platform, "helm")
	keyring := filepath.Join(work, "keys.asc")
	writeFile(t, keyring, string(keys), 0o644)
	t.Setenv("HELM_DATA_HOME", filepath.Join(work, "data"))
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()

	archive := "moonhelm-policy-v" + version + "-" + platform + ".tar.gz"
	run(t, helm, "plugin", "install", server.URL+"/"+archive, "--keyring", keyring)
	if out := run(t, helm, "plugin", "list"); !strings.Contains(out, version) || !strings.Contains(out, "signed") ||
		strings.Contains(out, "unsigned") {
		t.Errorf("helm plugin list: got %s, want the plugin in version %s, signed", out, version)
	}
	chart := filepath.Join(work, "web")
	writeFile(t, filepath.Join(chart, "Chart.yaml"), "apiVersion: v2\nname: web\nversion: 0.1.0\n", 0o644)
	writeFile(t, filepath.Join(chart, "templates/names.yaml"),
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: names\n", 0o644)
	policy, err := os.ReadFile("testdata/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(chart, "policies/names.yaml"), string(policy), 0o644)
	out, err := exec.Command(helm, "lint", chart).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "denied request: no names") {
		t.Errorf("helm lint: got %v\n%s\nwant the denial of the policy", err, out)
	}
}

func TestDistSignatures(t *testing.T) {
	dir, version := dist(t)
	keys, err := os.ReadFile(filepath.Join(dir, "KEYS"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("nothing is signed: there was no gpg")
	}
	if err != nil {
		t.Fatal(err)
	}
	var ring openpgp.EntityList
	for _, block := range strings.SplitAfter(string(keys), "-----END PGP PUBLIC KEY BLOCK-----\n") {
		if strings.TrimSpace(block) == "" {
			continue
		}
		list, err := openpgp.ReadArmoredKeyRing(strings.NewReader(block))
		if err != nil {
			t.Fatal(err)
		}
		ring = append(ring, list...)
	}
	signed := slices.Concat(named(helmsArchives, version), named(policyArchives, version),
		glob(t, dir, "*.deb", "*.rpm", "*.apk"))
	if want := 2*len(helmsArchives) + 21; len(signed) != want {
		t.Errorf("got %d archives and packages, want %d: %v", len(signed), want, signed)
	}
	for _, name := range signed {
		_, err := openpgp.CheckArmoredDetachedSignature(ring, bytes.NewReader(readDist(t, dir, name)),
			bytes.NewReader(readDist(t, dir, name+".asc")), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The installer installs this machine's archive from a server with the files of dist/.
func TestDistInstalls(t *testing.T) {
	dir, version := dist(t)
	needs(t, "sh", "curl", "gpg")
	mux := http.NewServeMux()
	mux.Handle("/latest/download/", http.StripPrefix("/latest/download/", http.FileServer(http.Dir(dir))))
	mux.Handle("/download/v"+version+"/", http.StripPrefix("/download/v"+version+"/", http.FileServer(http.Dir(dir))))
	server := httptest.NewServer(mux)
	defer server.Close()
	bin := t.TempDir()
	cmd := exec.Command("sh", "../../get-moonhelm", "--dir", bin, "--verify-signature")
	cmd.Env = append(os.Environ(), "MOONHELM_RELEASES="+server.URL, "MOONHELM_KEYS="+server.URL+"/latest/download/KEYS")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "The signature is valid") {
		t.Fatalf("%v\n%s", err, out)
	}
	checkHelm(t, version, filepath.Join(bin, "helm"))
}

// The deb is installed into an empty directory, run there with chroot, and removed.
func TestDistDeb(t *testing.T) {
	dir, version := dist(t)
	needs(t, "dpkg")
	if os.Getuid() != 0 {
		t.Skip("dpkg --root and chroot need root")
	}
	root := t.TempDir()
	for _, name := range []string{"info", "updates", "status", "available"} {
		file := filepath.Join(root, "var/lib/dpkg", name)
		if strings.HasSuffix(name, "s") && name != "status" || name == "info" {
			must(os.MkdirAll(file, 0o755))
		} else {
			writeFile(t, file, "", 0o644)
		}
	}
	deb := filepath.Join(dir, "moonhelm_"+version+"_"+runtime.GOARCH+".deb")
	run(t, "dpkg", "--root="+root, "--log=/dev/null", "--install", deb)
	must(os.MkdirAll(filepath.Join(root, "tmp"), 0o777))
	checkHelm(t, version, "chroot", root, "/usr/bin/helm")
	run(t, "chroot", root, "/usr/bin/helm", "create", "/tmp/web")
	if out := run(t, "chroot", root, "/usr/bin/helm", "template", "web", "/tmp/web"); !strings.Contains(out, "kind: Deployment") {
		t.Errorf("template: got:\n%s", out)
	}
	run(t, "chroot", root, "/usr/bin/helm", "lint", "/tmp/web")
	for _, file := range []string{
		"usr/share/man/man1/helm.1.gz", "usr/share/man/man1/helm-install.1.gz", "usr/share/doc/moonhelm/copyright",
		"usr/share/bash-completion/completions/helm", "usr/share/fish/vendor_completions.d/helm.fish",
		"usr/share/zsh/vendor-completions/_helm",
	} {
		if info, err := os.Stat(filepath.Join(root, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	run(t, "dpkg", "--root="+root, "--log=/dev/null", "--remove", "moonhelm")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/helm")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the binary after dpkg --remove: %v", err)
	}
}

func TestDistPackages(t *testing.T) {
	dir, _ := dist(t)
	needs(t, "rpm2cpio", "cpio", "tar")
	for _, name := range glob(t, dir, "*.rpm", "*.apk") {
		file := filepath.Join(dir, name)
		list := "rpm2cpio " + file + " | cpio --quiet -t"
		if strings.HasSuffix(name, ".apk") {
			list = "tar -tzf " + file + " 2>/dev/null"
		}
		if out := run(t, "sh", "-c", list); !strings.Contains(out, "usr/bin/helm\n") || !strings.Contains(out, "helm.1.gz") {
			t.Errorf("%s: got\n%s", name, out)
		}
	}
}

func TestDistManifests(t *testing.T) {
	dir, version := dist(t)
	for _, name := range []string{
		"homebrew/moonhelm.rb", "scoop/moonhelm.json", "nix/default.nix", "winget/Moonhelm.Moonhelm.yaml",
		"winget/Moonhelm.Moonhelm.installer.yaml", "winget/Moonhelm.Moonhelm.locale.en-US.yaml",
	} {
		data := readDist(t, dir, "manifests/"+name)
		if !strings.Contains(string(data), version) {
			t.Errorf("%s does not name %s:\n%s", name, version, data)
		}
		var fields map[string]any
		if ext := path.Ext(name); ext == ".yaml" || ext == ".json" {
			if err := yaml.Unmarshal(data, &fields); err != nil || len(fields) < 4 {
				t.Errorf("%s: %v, %d fields", name, err, len(fields))
			}
		}
	}
}

// checkHelm compares the output of the binary's version command with the release.
func checkHelm(t *testing.T, version string, command ...string) {
	t.Helper()
	got := run(t, command[0], append(command[1:], "version", "--template", "{{.Version}}")...)
	if !strings.HasSuffix(got, "+moonhelm."+version) {
		t.Errorf("helm version: got %s, want ...+moonhelm.%s", got, version)
	}
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "HOME=/tmp")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

func readDist(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func glob(t *testing.T, dir string, patterns ...string) []string {
	t.Helper()
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			names = append(names, filepath.Base(file))
		}
	}
	return names
}

// entries returns the regular files of an archive. An entry with an owner fails the test.
func entries(t *testing.T, name string, data []byte) []string {
	t.Helper()
	var names []string
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			names = append(names, f.Name)
		}
		slices.Sort(names)
		return names
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		mode := int64(0o644)
		if base := path.Base(header.Name); base == "helm" || strings.TrimSuffix(base, ".exe") == "policy" {
			mode = 0o755
		}
		if header.Uid != 0 || header.Uname != "root" || header.Mode&0o777 != mode {
			t.Errorf("%s: owner %s (%d), mode %o; want root and %o", header.Name, header.Uname, header.Uid, header.Mode, mode)
		}
		names = append(names, header.Name)
	}
}
