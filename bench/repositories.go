// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The size of the index: 15.7 MB, like large public ones.
const (
	indexCharts   = 100
	indexVersions = 154
	dependencies  = 5
)

// repositoryWorkloads returns the workloads that need a repository: a server on 127.0.0.1 with one
// large index.
func repositoryWorkloads(dir string) ([]workload, error) {
	site := filepath.Join(dir, "site")
	var server *http.Server
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	url := "http://" + listener.Addr().String()
	for _, side := range []string{"bench-ours", "bench-helm"} {
		if err := dependent(filepath.Join(dir, "deps-"+side), url+"/always-new"); err != nil {
			return nil, err
		}
	}
	begin := func() error {
		if err := bigIndex(site, indexCharts, indexVersions); err != nil {
			return err
		}
		mux := http.NewServeMux()
		files := http.FileServer(http.Dir(site))
		mux.Handle("/", files)
		// Clients cannot make conditional requests here.
		mux.Handle("/always-new/", http.StripPrefix("/always-new", http.HandlerFunc(func(w http.ResponseWriter,
			r *http.Request) {
			r.Header.Del("If-Modified-Since")
			r.Header.Del("If-None-Match")
			files.ServeHTTP(withoutDate{w}, r)
		})))
		server = &http.Server{Handler: mux}
		go server.Serve(listener)
		return nil
	}
	end := func() error { return server.Close() }
	words := func(text string) []string {
		return strings.Fields(strings.NewReplacer("DEPS", filepath.Join(dir, "deps-{NS}"), "URL", url).Replace(text))
	}
	add := words("repo add big URL/always-new --force-update")
	list := []workload{
		{name: "repo update, one index of 15.7 MB", setup: add, args: words("repo update")},
		{name: "repo update, where nothing has changed", setup: words("repo add big URL --force-update"),
			args: words("repo update")},
		{name: "show chart repo/name", setup: add, args: words("show chart big/app005")},
		{name: "search repo word", setup: add, args: words("search repo database")},
		{name: "search repo --versions word", setup: add, args: words("search repo --versions app050")},
		{name: "dependency update, five dependencies", setup: add, args: words("dependency update DEPS")},
		{name: "dependency build, five dependencies", setup: words("dependency update DEPS"),
			args: words("dependency build DEPS")},
	}
	for i := range list {
		list[i].group, list[i].begin, list[i].end = "repository", begin, end
	}
	return list, nil
}

// withoutDate is a response without Last-Modified.
type withoutDate struct{ http.ResponseWriter }

func (w withoutDate) WriteHeader(code int) {
	w.Header().Del("Last-Modified")
	w.ResponseWriter.WriteHeader(code)
}

// dependent creates a chart with dependencies in the repository at url.
func dependent(dir, url string) error {
	var b strings.Builder
	b.WriteString("apiVersion: v2\nname: deps\nversion: 0.1.0\ndependencies:\n")
	for i := range dependencies {
		fmt.Fprintf(&b, "- {name: app%03d, version: 1.x, repository: %s}\n", i*7, url)
	}
	return write(map[string]string{filepath.Join(dir, "Chart.yaml"): b.String()})
}

// bigIndex writes a repository with the given number of charts and versions of each to dir. Only
// the first and the last version of forty charts have archives.
func bigIndex(dir string, charts, versions int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, "index.yaml")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// Not in memory: the resident set of a subprocess initially includes its parent's.
	b := bufio.NewWriter(f)
	b.WriteString("apiVersion: v1\nentries:\n")
	for c := range charts {
		name := fmt.Sprintf("app%03d", c)
		fmt.Fprintf(b, "  %s:\n", name)
		for v := versions - 1; v >= 0; v-- {
			version := fmt.Sprintf("1.%d.0", v)
			digest := fmt.Sprintf("%x", sha256.Sum256([]byte(name+version)))
			if c < 40 && (v == 0 || v == versions-1) {
				data := smallArchive(name, version)
				digest = fmt.Sprintf("%x", sha256.Sum256(data))
				if err := os.WriteFile(filepath.Join(dir, name+"-"+version+".tgz"), data, 0o644); err != nil {
					return err
				}
			}
			writeEntry(b, c, v, name, version, digest)
		}
	}
	b.WriteString("generated: \"2026-11-01T00:00:00Z\"\n")
	if err := b.Flush(); err != nil {
		return err
	}
	// A file changed within the current second may change again without a new modification time.
	old := time.Now().Add(-time.Hour)
	return os.Chtimes(path, old, old)
}

func writeEntry(b *bufio.Writer, c, v int, name, version, digest string) {
	fmt.Fprintf(b, `  - annotations:
      category: Infrastructure
      images: |
        - name: %[1]s
          image: docker.io/example/%[1]s:%[2]d-debian-12-r%[3]d
        - name: os-shell
          image: docker.io/example/os-shell:12-debian-12-r%[4]d
      licenses: Apache-2.0
    apiVersion: v2
    appVersion: 3.%[2]d.1
    created: "2026-0%[5]d-1%[6]dT10:20:30.123456789Z"
    dependencies:
    - name: common
      repository: oci://registry.example.com/charts
      tags:
      - infra-common
      version: 2.x.x
    description: %[1]s is an open source thing that does what its users expect from it, number %[7]d.
    digest: %[8]s
    home: https://example.com/%[1]s
    icon: https://example.com/%[1]s.svg
    keywords:
    - %[1]s
    - database
    - sql
    maintainers:
    - name: Example Inc
      url: https://github.com/example/charts
    name: %[1]s
    sources:
    - https://github.com/example/charts/tree/main/%[1]s
    urls:
    - %[1]s-%[9]s.tgz
    version: %[9]s
`, name, v, v%9, v%50, v%9+1, c%9, c, digest, version)
}

// smallArchive returns the archive of a chart with one ConfigMap.
func smallArchive(name, version string) []byte {
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	tw := tar.NewWriter(zw)
	for _, f := range [][2]string{
		{"Chart.yaml", fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\nappVersion: \"1\"\n", name, version)},
		{"values.yaml", "replicas: 1\n"},
		{"templates/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-" + name +
			"\ndata:\n  v: \"{{ .Chart.Version }}\"\n"},
	} {
		// writing to memory does not fail
		_ = tw.WriteHeader(&tar.Header{Name: name + "/" + f[0], Size: int64(len(f[1])), Mode: 0o644})
		_, _ = tw.Write([]byte(f[1]))
	}
	_ = tw.Close()
	_ = zw.Close()
	return out.Bytes()
}
