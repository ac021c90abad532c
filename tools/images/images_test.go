// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// fakeRelease returns a release whose binaries are text files.
func fakeRelease(t *testing.T) release {
	t.Helper()
	r := release{dist: t.TempDir(), version: "0.1.0", created: time.Unix(1767225600, 0).UTC()}
	for _, arch := range order {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, file := range []string{"helm", "LICENSE"} {
			text := file + " of " + arch
			check(t, w.WriteHeader(&tar.Header{Name: "linux-" + arch + "/" + file, Mode: 0o755, Size: int64(len(text))}))
			_, err := w.Write([]byte(text))
			check(t, err)
		}
		check(t, w.Close())
		check(t, z.Close())
		check(t, os.WriteFile(filepath.Join(r.dist, "helm-v0.1.0-linux-"+arch+".tar.gz"), b.Bytes(), 0o644))
	}
	check(t, os.WriteFile(filepath.Join(r.dist, "helm-latest-version"), []byte("v0.1.0\n"), 0o644))
	return r
}

func TestIndexHasEveryPlatform(t *testing.T) {
	r := fakeRelease(t)
	first, err := r.index(kinds[0])
	check(t, err)
	dir := t.TempDir()
	_, err = layout.Write(dir, first)
	check(t, err)
	written, err := layout.ImageIndexFromPath(dir)
	check(t, err)
	check(t, validate.Index(written))
	manifest, err := first.IndexManifest()
	check(t, err)
	if len(manifest.Manifests) != len(order) {
		t.Fatalf("got %d platforms, want %d", len(manifest.Manifests), len(order))
	}
	for i, m := range manifest.Manifests {
		if m.Platform.OS != "linux" || m.Platform.Architecture != order[i] {
			t.Errorf("platform %d: got %s, want linux/%s", i, m.Platform, order[i])
		}
		image, err := first.Image(m.Digest)
		check(t, err)
		config, err := image.ConfigFile()
		check(t, err)
		if config.Architecture != order[i] || config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/usr/bin/helm" {
			t.Errorf("config: got %+v", config)
		}
		if got := string(files(t, image)["usr/bin/helm"]); got != "helm of "+order[i] {
			t.Errorf("helm of %s: got %q", order[i], got)
		}
	}
	second, err := r.index(kinds[0])
	check(t, err)
	a, err := first.Digest()
	check(t, err)
	b, err := second.Digest()
	check(t, err)
	if a != b {
		t.Errorf("two images of the same archives: %s and %s", a, b)
	}
}

func TestImageHasWhatProgramsExpect(t *testing.T) {
	image, err := fakeRelease(t).image(kinds[0], v1.Platform{OS: "linux", Architecture: "amd64"})
	check(t, err)
	got := files(t, image)
	if n := bytes.Count(got["etc/ssl/certs/ca-certificates.crt"], []byte("BEGIN CERTIFICATE")); n < 50 {
		t.Errorf("got %d certificates, want those that Mozilla trusts", n)
	}
	if !strings.Contains(string(got["etc/passwd"]), "nonroot:x:65532:65532:") {
		t.Errorf("passwd: got %s", got["etc/passwd"])
	}
	for _, dir := range []string{"tmp/", "home/nonroot/"} {
		if _, ok := got[dir]; !ok {
			t.Errorf("%s is missing", dir)
		}
	}
}

func TestLayoutIsPushed(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	index, err := fakeRelease(t).index(kinds[0])
	check(t, err)
	dir := t.TempDir()
	_, err = layout.Write(dir, index)
	check(t, err)
	reference := strings.TrimPrefix(server.URL, "http://") + "/moonhelm/moonhelm:v0.1.0"
	check(t, run([]string{"push", dir, reference}))
	ref, err := name.ParseReference(reference)
	check(t, err)
	pulled, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "arm64"}))
	check(t, err)
	if got := string(files(t, pulled)["usr/bin/helm"]); got != "helm of arm64" {
		t.Errorf("helm of what was pulled: got %q", got)
	}
}

// With MOONHELM_DIST, the images of this machine's platform are unpacked and run with chroot.
func TestDistImagesRun(t *testing.T) {
	dist := os.Getenv("MOONHELM_DIST")
	if dist == "" || os.Getuid() != 0 {
		t.Skip("MOONHELM_DIST is not set, or this is not root: make images sets it")
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			index, err := layout.ImageIndexFromPath(filepath.Join(dist, "images", k.name))
			check(t, err)
			root := unpack(t, index)
			version := output(t, root, "/usr/bin/helm", "version", "--template", "{{.Version}}")
			if want, _ := os.ReadFile(filepath.Join(dist, "helm-latest-version")); !strings.HasSuffix(version, "+moonhelm."+strings.TrimSpace(string(want))[1:]) {
				t.Errorf("helm version: got %s, want that of the release, %s", version, want)
			}
			switch k.helper {
			case "install":
				check(t, os.Mkdir(filepath.Join(root, "volume"), 0o755))
				output(t, root, "/install", "/volume")
				if got := output(t, root, "/volume/helm", "version", "--template", "{{.Version}}"); got != version {
					t.Errorf("the installed helm: got %s, want %s", got, version)
				}
			case "klipper":
				cmd := exec.Command("chroot", root, "/klipper", "install")
				cmd.Env = []string{"PATH=/usr/bin", "HOME=/tmp"}
				if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "NAME is not set") {
					t.Errorf("klipper outside of a job: got %v\n%s", err, out)
				}
			default:
				output(t, root, "/usr/bin/helm", "create", "/tmp/web")
				if out := output(t, root, "/usr/bin/helm", "template", "/tmp/web"); !strings.Contains(out, "kind: Deployment") {
					t.Errorf("helm template: got\n%s", out)
				}
			}
		})
	}
}

// output runs a program in a root directory.
func output(t *testing.T, root string, args ...string) string {
	t.Helper()
	cmd := exec.Command("chroot", append([]string{root}, args...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/tmp"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

func unpack(t *testing.T, index v1.ImageIndex) string {
	t.Helper()
	manifest, err := index.IndexManifest()
	check(t, err)
	// A layout is an index of what was written, here one index.
	if len(manifest.Manifests) == 1 && manifest.Manifests[0].MediaType.IsIndex() {
		index, err = index.ImageIndex(manifest.Manifests[0].Digest)
		check(t, err)
		manifest, err = index.IndexManifest()
		check(t, err)
	}
	for _, m := range manifest.Manifests {
		if m.Platform.Architecture != runtime.GOARCH {
			continue
		}
		image, err := index.Image(m.Digest)
		check(t, err)
		root := t.TempDir()
		r := mutate.Extract(image)
		defer r.Close()
		for z := tar.NewReader(r); ; {
			header, err := z.Next()
			if errors.Is(err, io.EOF) {
				return root
			}
			check(t, err)
			path := filepath.Join(root, header.Name)
			if header.Typeflag == tar.TypeDir {
				check(t, os.MkdirAll(path, 0o755))
				continue
			}
			check(t, os.MkdirAll(filepath.Dir(path), 0o755))
			data, err := io.ReadAll(z)
			check(t, err)
			check(t, os.WriteFile(path, data, header.FileInfo().Mode()))
		}
	}
	t.Fatal(fmt.Errorf("no image for %s", runtime.GOARCH))
	return ""
}

// files reads an image.
func files(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	r := mutate.Extract(image)
	defer r.Close()
	found := map[string][]byte{}
	for z := tar.NewReader(r); ; {
		header, err := z.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		check(t, err)
		name := header.Name
		if header.Typeflag == tar.TypeDir {
			name = strings.TrimSuffix(name, "/") + "/"
		}
		if found[name], err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
