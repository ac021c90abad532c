// SPDX-License-Identifier: Apache-2.0

package action

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/registry"
)

// oneChart starts a registry with charts/queue:2.0.1.
func oneChart(t *testing.T) (reference string) {
	t.Helper()
	dir := t.TempDir()
	filetest.Write(t, dir, map[string]string{"Chart.yaml": "apiVersion: v2\nname: queue\nversion: 2.0.1\n"})
	c, err := loader.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := loader.Write(&archive, c, loader.Options{}); err != nil {
		t.Fatal(err)
	}
	config := []byte(`{"apiVersion":"v2","name":"queue","version":"2.0.1"}`)
	digest := func(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
		`"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json","digest":%q,"size":%d},`+
		`"layers":[{"mediaType":"application/vnd.cncf.helm.chart.content.v1.tar+gzip","digest":%q,"size":%d}]}`,
		digest(config), len(config), digest(archive.Bytes()), archive.Len())
	answers := map[string][]byte{
		"tags/list":                        []byte(`{"name":"charts/queue","tags":["1.9.0","2.0.1"]}`),
		"manifests/2.0.1":                  manifest,
		"blobs/" + digest(config):          config,
		"blobs/" + digest(archive.Bytes()): archive.Bytes(),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[strings.TrimPrefix(r.URL.Path, "/v2/charts/queue/")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if bytes.Equal(answer, manifest) {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	return "oci://" + strings.TrimPrefix(server.URL, "http://") + "/charts/queue"
}

// A Finder finds charts in OCI registries without an adapter.
func TestRegistriesWithFinder(t *testing.T) {
	reference := oneChart(t)
	fetched := 0
	registries := &Registries{Progress: func(e progress.Event) {
		if e.Kind == progress.Fetched {
			fetched++
		}
	}}
	finder := &fetch.Finder{Registry: registries, Cache: &fetch.Cache{Dir: filepath.Join(t.TempDir(), "content")}}
	found, err := finder.Find(t.Context(), fetch.Ref{Name: reference, Version: "^2", Host: fetch.HostOptions{PlainHTTP: true}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(found.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := loader.LoadArchive(found.Name, f)
	if err != nil || c.Name() != "queue" || c.Version() != "2.0.1" || fetched != 1 {
		t.Errorf("%v %v, %d transfers", c, err, fetched)
	}
}

func TestRegistriesReuseClients(t *testing.T) {
	var r Registries
	client := func(a fetch.HostOptions) *registry.Client {
		t.Helper()
		c, err := r.Client(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	alice := fetch.HostOptions{Username: "alice", Password: "secret"}
	again := alice
	again.PassAll = true // makes no difference to a registry
	if client(alice) != client(again) || client(alice) == client(fetch.HostOptions{}) {
		t.Error("different clients for the same host options")
	}
	if _, err := r.Client(t.Context(), fetch.HostOptions{CAFile: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing CA file: got %v", err)
	}
	var malformed *registry.RefError
	if _, err := r.Tags(t.Context(), "oci://host/UPPER", fetch.HostOptions{}); !errors.As(err, &malformed) {
		t.Errorf("got %v", err)
	}
}
