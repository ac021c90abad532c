// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// kind is one of the images that a release has.
type kind struct {
	name       string
	about      string
	helper     string // a program of this module that is put at /<helper>
	entrypoint []string
	user       string
	home       string
}

var kinds = []kind{
	{
		name: "moonhelm", about: "helm, and nothing else", entrypoint: []string{"/usr/bin/helm"},
		user: "65532:65532", home: "/home/nonroot",
	},
	{
		// The user is that of Argo CD's own images, who owns the volume that is written to.
		name: "moonhelm-argocd", about: "init container that brings helm into Argo CD's repo-server", helper: "install",
		entrypoint: []string{"/install"}, user: "999:999", home: "/home/argocd",
	},
	{
		// The user and the home are those that helm-controller's jobs mount volumes for.
		name: "moonhelm-klipper", about: "job image for k3s' helm-controller", helper: "klipper",
		entrypoint: []string{"/klipper"}, user: "1000:1000", home: "/home/klipper-helm",
	},
}

// platforms are those of Linux that a release has, by the names of its archives.
var platforms = map[string]v1.Platform{
	"amd64": {}, "arm64": {Variant: "v8"}, "arm": {Variant: "v6"}, "386": {}, "ppc64le": {}, "s390x": {}, "riscv64": {},
}

// order is the order of platforms in an index.
var order = []string{"amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64"}

type release struct {
	dist, version string
	created       time.Time
}

// index makes an image for all platforms.
func (r release) index(k kind) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range order {
		platform := platforms[arch]
		platform.OS, platform.Architecture = "linux", arch
		image, err := r.image(k, platform)
		if err != nil {
			return nil, fmt.Errorf("linux/%s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &platform},
		})
	}
	return mutate.Annotations(index, r.labels(k)).(v1.ImageIndex), nil
}

func (r release) labels(k kind) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       k.name,
		"org.opencontainers.image.description": k.about,
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.source":      "https://github.com/moonhelm/moonhelm",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.created":     r.created.Format(time.RFC3339),
	}
}

func (r release) image(k kind, platform v1.Platform) (v1.Image, error) {
	helm, license, err := r.program(platform.Architecture)
	if err != nil {
		return nil, err
	}
	files := []file{
		{name: "usr/bin/helm", mode: 0o755, data: helm},
		{name: "usr/share/doc/moonhelm/copyright", mode: 0o644, data: license},
	}
	if k.helper != "" {
		helper, err := compile(k.helper, platform)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: k.helper, mode: 0o755, data: helper})
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, layer := range [][]file{base(k), files} {
		l, err := r.layer(layer)
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{
			Layer: l, History: v1.History{Created: v1.Time{Time: r.created}, CreatedBy: "moonhelm-tools-images"},
		})
		if err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Created = v1.Time{Time: r.created}
	config.Config = v1.Config{
		Entrypoint: k.entrypoint, User: k.user, WorkingDir: k.home, Labels: r.labels(k),
		Env: []string{"PATH=/usr/bin", "HOME=" + k.home, "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
	}
	return mutate.ConfigFile(image, config)
}

// base is what any program expects of a system: certificates, users, a directory for temporary
// files.
func base(k kind) []file {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // those with one cannot be said in a file
			_ = pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to memory
		}
	}
	var uid, gid int
	_, _ = fmt.Sscanf(k.user, "%d:%d", &uid, &gid) // of the table above
	home := k.home[1:] + "/"
	user := filepath.Base(k.home)
	return []file{
		{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\n%s:x:%d:\n", user, gid)},
		{name: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil,
			"root:x:0:0:root:/root:/sbin/nologin\n%s:x:%d:%d:%s:%s:/sbin/nologin\n", user, uid, gid, user, k.home)},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots.Bytes()},
		{name: home, mode: 0o755, uid: uid, gid: gid},
		{name: "tmp/", mode: 0o1777},
	}
}

// file is one of a layer; a directory where its name ends in a slash.
type file struct {
	name     string
	mode     int64
	uid, gid int
	data     []byte
}

func (r release) layer(files []file) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	made := map[string]bool{}
	for _, f := range files {
		for i, c := range f.name {
			if dir := f.name[:i+1]; c == '/' && !made[dir] && dir != f.name {
				made[dir] = true
				if err := r.entry(w, file{name: dir, mode: 0o755}); err != nil {
					return nil, err
				}
			}
		}
		if err := r.entry(w, f); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

func (r release) entry(w *tar.Writer, f file) error {
	header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: r.created, Uid: f.uid, Gid: f.gid,
		Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	if f.name[len(f.name)-1] == '/' {
		header.Typeflag = tar.TypeDir
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(f.data)
	return err
}

// program reads the binary and the license of an archive.
func (r release) program(arch string) (helm, license []byte, err error) {
	f, err := os.Open(filepath.Join(r.dist, fmt.Sprintf("helm-v%s-linux-%s.tar.gz", r.version, arch)))
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, nil, err
	}
	found := map[string][]byte{}
	for t := tar.NewReader(z); ; {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if found[filepath.Base(header.Name)], err = io.ReadAll(t); err != nil {
			return nil, nil, err
		}
	}
	if found["helm"] == nil || found["LICENSE"] == nil {
		return nil, nil, fmt.Errorf("%s: has no helm or no LICENSE", f.Name())
	}
	return found["helm"], found["LICENSE"], nil
}

// compile builds a program of this module for a platform.
func compile(helper string, platform v1.Platform) ([]byte, error) {
	dir, err := os.MkdirTemp("", "moonhelm-images")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, helper)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", out,
		"github.com/moonhelm/moonhelm/tools/images/"+helper)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+platform.Architecture, "GOARM=6")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", helper, err, text)
	}
	return os.ReadFile(out)
}
