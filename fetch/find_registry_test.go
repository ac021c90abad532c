// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/registry"
)

// fakeRegistry implements Registry with one chart, web.
type fakeRegistry struct {
	mu    sync.Mutex
	tags  []string
	prov  []byte
	asked []string
	lie   func(*registry.Pulled)
}

func (r *fakeRegistry) ask(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, what)
}

func (r *fakeRegistry) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.asked
	r.asked = nil
	return calls
}

func (r *fakeRegistry) Tags(_ context.Context, ref string, _ HostOptions) ([]string, error) {
	r.ask("tags " + ref)
	return r.tags, nil
}

func manifestOf(content string) string {
	return fmt.Sprintf(`{"layers":[{"mediaType":%q,"digest":"sha256:%s"}],"annotations":{%q:"web",%q:"1.1.0"}}`, contentType, digestOf(content), annotationTitle, annotationVersion)
}

func (r *fakeRegistry) Pull(_ context.Context, ref string, a HostOptions, w io.Writer, o registry.PullOptions) (*registry.Pulled, error) {
	content := tgz("web")
	p := &registry.Pulled{Metadata: &chart.Metadata{Name: "web", Version: "1.1.0"}, ManifestJSON: []byte(manifestOf(content)), Digest: digestOf(content), Size: int64(len(content))}
	p.Manifest = "sha256:" + digestOf(string(p.ManifestJSON))
	if o.Provenance {
		p.Provenance = r.prov
	}
	if r.lie != nil {
		r.lie(p)
	}
	if o.Have != nil && o.Have(p.Digest) {
		r.ask("manifest " + ref + " " + a.Username)
		return p, nil
	}
	r.ask("pull " + ref + " " + a.Username)
	_, err := io.WriteString(w, content)
	return p, err
}

func TestFindInRegistries(t *testing.T) {
	manifest := "sha256:" + digestOf(manifestOf(tgz("web")))
	anna := HostOptions{Username: "anna"}
	for _, c := range []struct {
		name string
		ref  Ref
		want []string // requests, or an error that begins with "error: "
	}{
		{"the newest tag, with credentials", Ref{Name: "oci://host:5000/a/web", Host: anna}, []string{"tags oci://host:5000/a/web", "pull oci://host:5000/a/web:1.1.0 anna"}},
		{"the newest tag in a range", Ref{Name: "oci://host/a/web", Version: "^1"}, []string{"tags oci://host/a/web", "pull oci://host/a/web:1.1.0 "}},
		{"a version that a tag completes", Ref{Name: "oci://host/a/web", Version: "1.1"}, []string{"tags oci://host/a/web:1.1", "pull oci://host/a/web:1.1.0 "}},
		{"a tag that is not a full version", Ref{Name: "oci://host/a/web", Version: "0.5"}, []string{"tags oci://host/a/web:0.5", "pull oci://host/a/web:0.5 "}},
		{"a range without a tag", Ref{Name: "oci://host/a/web", Version: "^9"}, []string{"error: oci://host/a/web: no version of it is ^9"}},
		{"a full version", Ref{Name: "oci://host/a/web", Version: "1.1.0"}, []string{"pull oci://host/a/web:1.1.0 "}},
		{"a prerelease with devel", Ref{Name: "oci://host/a/web", Devel: true}, []string{"tags oci://host/a/web", "pull oci://host/a/web:2.0.0-rc.1 "}},
		{"a tag", Ref{Name: "oci://host/a/web:1.1.0"}, []string{"pull oci://host/a/web:1.1.0 "}},
		{"a tag and its version", Ref{Name: "oci://host/a/web:1.1.0", Version: "1.1.0"}, []string{"pull oci://host/a/web:1.1.0 "}},
		{"a tag and another version", Ref{Name: "oci://host/a/web:1.1.0", Version: "2.0.0"}, []string{"error: chart reference and version mismatch: 2.0.0 is not 1.1.0, the version of oci://host/a/web:1.1.0"}},
		{"a digest", Ref{Name: "oci://host/a/web@" + manifest}, []string{"pull oci://host/a/web@" + manifest + " "}},
		{"a digest and a range with it", Ref{Name: "oci://host/a/web@" + manifest, Version: "^1"}, []string{"pull oci://host/a/web@" + manifest + " "}},
		{"a digest and a range without it", Ref{Name: "oci://host/a/web@" + manifest, Version: "^2"}, []string{"error: chart reference and version mismatch: ^2 is not 1.1.0, the version of oci://host/a/web@" + manifest}},
		{"a tag and a digest", Ref{Name: "oci://host/a/web:1.1.0@" + manifest}, []string{"pull oci://host/a/web:1.1.0@" + manifest + " "}},
		{"a digest of something else", Ref{Name: "oci://host/a/web@sha256:" + digestOf("x")}, []string{"error: fetch oci://host/a/web@sha256:" + digestOf("x") + ": digest mismatch: got " + manifest}},
		{"a repository in a registry", Ref{Name: "web", Repo: "oci://host/a/"}, []string{"tags oci://host/a/web", "pull oci://host/a/web:1.1.0 "}},
		// An index may refer to a registry.
		{"an index that names a chart in a registry", Ref{Name: "r/web", Host: anna}, []string{"pull oci://host/a/web:1.1.0 "}},
		{"an index that names a tag", Ref{Name: "r/tagged", Host: anna}, []string{"pull oci://host/a/web:1.1.0 "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			reg := &fakeRegistry{tags: []string{"1.0.0", "1.1.0", "2.0.0-rc.1", "latest", "0.5"}}
			f := finder(t, shelf{Repository{Name: "r", URL: "https://host"}, []Entry{
				{Name: "web", Version: "1.1.0", URLs: []string{"oci://host/a/web"}, Digest: digestOf(tgz("web"))},
				{Name: "tagged", Version: "1.1.0", URLs: []string{"oci://host/a/web:1.1.0"}},
			}})
			f.Registry = reg
			a, err := f.Find(t.Context(), c.ref)
			if want, fails := strings.CutPrefix(c.want[0], "error: "); fails {
				if err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("got %+v, %v, want the error %q", a, err, want)
				}
				return
			}
			if got := reg.requests(); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %+v, %v with the requests %q, want %q", a, err, got, c.want)
				return
			}
			name, version := "web-1.1.0.tgz", "1.1.0"
			if c.ref.Name == "r/tagged" {
				name = "tagged-1.1.0.tgz"
			}
			switch { // named by the tag, whatever the registry returns
			case c.ref.Devel:
				name, version = "web-2.0.0-rc.1.tgz", "2.0.0-rc.1"
			case c.ref.Version == "0.5":
				name, version = "web-0.5.tgz", "0.5"
			}
			if a.Name != name || a.Version != version || a.Digest != digestOf(tgz("web")) || a.Pushed != manifest || read(t, a.Path) != tgz("web") {
				t.Errorf("got %+v, want %s of version %s", a, name, version)
			}
		})
	}
}

func TestFindInRegistriesUsesCache(t *testing.T) {
	manifest := "sha256:" + digestOf(manifestOf(tgz("web")))
	reg := &fakeRegistry{prov: []byte("signed web-1.1.0.tgz " + digestOf(tgz("web")))}
	f := finder(t)
	f.Registry, f.Verifier = reg, seal{}
	find := func(ref Ref, want ...string) {
		t.Helper()
		a, err := f.Find(t.Context(), ref)
		if err != nil || a.Pushed != manifest || read(t, a.Path) != tgz("web") || (a.Signer != "") != ref.Verify {
			t.Fatalf("%+v, %v", a, err)
		}
		if got := reg.requests(); !slices.Equal(got, want) {
			t.Errorf("%+v: asked %q, want %q", ref, got, want)
		}
	}
	byTag, byDigest := Ref{Name: "oci://host/web:1.1.0"}, Ref{Name: "oci://host/web@" + manifest}
	find(byTag, "pull oci://host/web:1.1.0 ")
	find(byTag, "manifest oci://host/web:1.1.0 ")
	find(byDigest)
	byDigest.Verify = true
	find(byDigest, "manifest oci://host/web@"+manifest+" ")
	find(byDigest)
	// A damaged manifest or archive is an error.
	for ext, digest := range map[string]string{manifestExt: digestOf(manifestOf(tgz("web"))), cacheExt: digestOf(tgz("web"))} {
		t.Run(ext, func(t *testing.T) {
			file, ok := f.Cache.lookup(digest, ext)
			if !ok {
				t.Fatal("not in the cache")
			}
			if err := os.WriteFile(file, []byte("evil"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Find(t.Context(), byDigest); err != nil || len(reg.requests()) != 1 {
				t.Error(err)
			}
		})
	}
}

func TestFindInRegistriesVerifiesDigests(t *testing.T) {
	for name, lie := range map[string]func(*registry.Pulled){
		"about the archive":  func(p *registry.Pulled) { p.Digest = digestOf("x") },
		"about the manifest": func(p *registry.Pulled) { p.Manifest = "sha256:" + digestOf("x") },
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t)
			f.Registry = &fakeRegistry{lie: lie}
			var wrong *DigestError
			if a, err := f.Find(t.Context(), Ref{Name: "oci://host/web@sha256:" + digestOf(manifestOf(tgz("web")))}); !errors.As(err, &wrong) {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
		})
	}
	// An older version with a valid provenance file is not the requested one: the
	// registry's metadata is not signed.
	f := finder(t)
	old := "signed web-1.1.0.tgz " + digestOf(tgz("web"))
	f.Registry, f.Verifier = &fakeRegistry{prov: []byte(old)}, seal{}
	for ref, want := range map[string]string{"web:1.1.0": "web-1.1.0.tgz", "web:2.0.0": "", "db:1.1.0": "", "web:1.1.0_b": ""} {
		t.Run(ref, func(t *testing.T) {
			a, err := f.Find(t.Context(), Ref{Name: "oci://host/" + ref, Verify: true})
			if want == "" && err == nil || want != "" && (err != nil || a.Name != want) {
				t.Errorf("%s: %+v, %v", ref, a, err)
			}
		})
	}
	f = finder(t)
	f.Registry, f.Verifier = &fakeRegistry{}, seal{}
	var unproven *ProvenanceError
	if a, err := f.Find(t.Context(), Ref{Name: "oci://host/web:1.1.0", Verify: true}); !errors.As(err, &unproven) || !unproven.Missing {
		t.Errorf("%+v, %v", a, err) // CVE-2026-35205
	}
}
