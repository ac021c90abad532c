// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
)

// pull pulls from f anonymously.
func pull(f *fake, path string, o PullOptions) (string, *Pulled, error) {
	var b bytes.Buffer
	p, err := f.client().Pull(context.Background(), f.ref(path), &b, o)
	return b.String(), p, err
}

func TestPushAndPull(t *testing.T) {
	f := newFake(t)
	meta := &chart.Metadata{Name: "web", Version: "1.2.3+b.5", Description: "shows pages"}
	pushed, err := f.client().Push(context.Background(), f.ref("charts"), Artifact{
		Metadata: meta, Archive: strings.NewReader("the archive"), Provenance: []byte("signed"), Created: time.Unix(0, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := f.host() + "/charts/web:1.2.3_b.5"; pushed.Ref.String() != want {
		t.Errorf("pushed to %s, wanted %s", pushed.Ref, want)
	}
	for _, path := range []string{"charts/web:1.2.3+b.5", "charts/web@" + pushed.Manifest, "charts/web:1.2.3_b.5@" + pushed.Manifest} {
		text, p, err := pull(f, path, PullOptions{Provenance: true})
		if err != nil || text != "the archive" || string(p.Provenance) != "signed" || p.Manifest != pushed.Manifest || p.Size != 11 {
			t.Errorf("%s: %q, %+v, %v", path, text, p, err)
			continue
		}
		if p.Metadata.Version != "1.2.3+b.5" || "sha256:"+p.Digest != digestOf([]byte(text)) || digestOf(p.ManifestJSON) != p.Manifest {
			t.Errorf("%s: %+v", path, p)
		}
	}
	if _, p, err := pull(f, "charts/web:1.2.3_b.5", PullOptions{}); err != nil || p.Provenance != nil {
		t.Errorf("provenance no one asked for: %+v, %v", p, err)
	}
	before := f.count("POST")
	if _, err := f.client().Push(context.Background(), f.ref("charts"), Artifact{Metadata: meta, Archive: strings.NewReader("the archive"), Provenance: []byte("signed")}); err != nil || f.count("POST") != before {
		t.Errorf("what was there was uploaded again: %v", err)
	}
}

func TestPushAndPullSkipExisting(t *testing.T) {
	f := newFake(t)
	archive := f.chart("web", "1.0.0", "the archive")
	text, p, err := pull(f, "web:1.0.0", PullOptions{Have: func(digest string) bool { return "sha256:"+digest == archive.Digest }})
	if err != nil || text != "" || p.Size != archive.Size || f.count("GET /v2/web/blobs/"+archive.Digest) != 0 {
		t.Errorf("%q, %+v, %v", text, p, err)
	}
}

func TestPullTagAndDigest(t *testing.T) {
	f := newFake(t)
	f.chart("web", "1.0.0", "one")
	f.chart("web", "2.0.0", "two")
	_, one, err := pull(f, "web:1.0.0", PullOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var wrong *ContentError
	if text, _, err := pull(f, "web:2.0.0@"+one.Manifest, PullOptions{}); !errors.As(err, &wrong) || text != "" || !strings.Contains(err.Error(), "the tag 2.0.0 has the digest sha256:") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestPullRejectsOtherKinds(t *testing.T) {
	f := newFake(t)
	image := `{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"` + someDigest + `","size":1},"layers":[]}`
	f.put("image", "1", imageManifest, []byte(image))
	f.put("docker", "1", dockerManifest, []byte(strings.Replace(image, "vnd.oci.image.config.v1", "vnd.docker.container.image.v1", 1)))
	f.put("index", "1", imageIndex, []byte(`{"schemaVersion":2,"manifests":[]}`))
	f.put("list", "1", dockerList, []byte(`{"schemaVersion":2,"mediaType":"`+dockerList+`","manifests":[]}`))
	f.put("other", "1", imageManifest, []byte(`{"schemaVersion":2,"artifactType":"application/x.y","config":{"mediaType":"application/vnd.oci.empty.v1+json"}}`))
	f.put("nothing", "1", imageManifest, []byte(`{}`))
	for path, want := range map[string]string{
		"image": "is not a chart but a container image", "docker": "is not a chart but a container image",
		"index": "is not a chart but an index of several images", "list": "is not a chart but an index of several images",
		"other": `is not a chart but something of the type "application/x.y"`, "nothing": "is not a chart but something without a media type",
	} {
		t.Run(path, func(t *testing.T) {
			var kind *KindError
			if _, _, err := pull(f, path+":1", PullOptions{}); !errors.As(err, &kind) || err.Error() != "oci://"+f.host()+"/"+path+":1 "+want {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
}

func TestPullLegacyMediaType(t *testing.T) {
	f := newFake(t)
	f.chart("web", "1.0.0", "the archive")
	data := bytes.Replace(f.manifests["web:1.0.0"], []byte(contentType), []byte(legacyType), 1)
	f.put("web", "1.0.0", imageManifest, data)
	if text, _, err := pull(f, "web:1.0.0", PullOptions{}); err != nil || text != "the archive" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestPullDamaged(t *testing.T) {
	for name, damage := range map[string]func(f *fake, archive descriptor){
		"another archive":       func(f *fake, a descriptor) { f.blobs[a.Digest] = []byte("THE ARCHIVE") },
		"a longer archive":      func(f *fake, a descriptor) { f.blobs[a.Digest] = []byte("the archive and more") },
		"a manifest cut off":    func(f *fake, _ descriptor) { f.manifests["web:1.0.0"] = f.manifests["web:1.0.0"][:40] },
		"metadata that is none": func(f *fake, _ descriptor) { swapConfig(f, "[]") },
		// CVE-2024-25620, CVE-2026-35206: names are used as file names.
		"a name that leads away":    func(f *fake, _ descriptor) { swapConfig(f, `{"name":"../web","version":"1.0.0"}`) },
		"a version that leads away": func(f *fake, _ descriptor) { swapConfig(f, `{"name":"web","version":"1/../../x"}`) },
		"two dots":                  func(f *fake, _ descriptor) { swapConfig(f, `{"name":"..","version":"1.0.0"}`) },
		"no version":                func(f *fake, _ descriptor) { swapConfig(f, `{"name":"web"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			damage(f, f.chart("web", "1.0.0", "the archive"))
			var wrong *ContentError
			if _, _, err := pull(f, "web:1.0.0", PullOptions{}); !errors.As(err, &wrong) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	f := newFake(t)
	f.chart("web", "1.0.0", "the archive")
	_, p, err := pull(f, "web:1.0.0", PullOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.manifests["web@"+p.Manifest] = append(p.ManifestJSON, ' ')
	var wrong *ContentError
	if _, _, err := pull(f, "web@"+p.Manifest, PullOptions{}); !errors.As(err, &wrong) {
		t.Errorf("a manifest of another digest: %v", err)
	}
}

// swapConfig replaces the metadata of web:1.0.0.
func swapConfig(f *fake, text string) {
	var m manifest
	if err := json.Unmarshal(f.manifests["web:1.0.0"], &m); err != nil {
		f.t.Fatal(err)
	}
	m.Config = f.blob(configType, []byte(text))
	data, err := json.Marshal(m)
	if err != nil {
		f.t.Fatal(err)
	}
	f.put("web", "1.0.0", imageManifest, data)
}

func TestPullSizeLimits(t *testing.T) {
	f := newFake(t)
	archive := f.chart("web", "1.0.0", "the archive")
	huge := bytes.Replace(f.manifests["web:1.0.0"], fmt.Appendf(nil, `"size":%d`, archive.Size), []byte(`"size":99999999999`), 1)
	f.put("web", "1.0.0", imageManifest, huge)
	f.put("big", "1", imageManifest, bytes.Repeat([]byte(" "), maxManifest+1))
	for _, path := range []string{"web:1.0.0", "big:1"} {
		t.Run(path, func(t *testing.T) {
			var size *SizeError
			if _, _, err := pull(f, path, PullOptions{}); !errors.As(err, &size) {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
	negative := bytes.Replace(huge, []byte("99999999999"), []byte("-1"), 1)
	f.put("web", "1.0.0", imageManifest, negative)
	var wrong *ContentError
	if _, _, err := pull(f, "web:1.0.0", PullOptions{}); !errors.As(err, &wrong) {
		t.Errorf("a negative size: %v", err)
	}
}

func TestPullResumes(t *testing.T) {
	f := newFake(t)
	content := strings.Repeat("0123456789", 100_000)
	archive := f.chart("web", "1.0.0", content)
	breaks := 0
	f.handle = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, archive.Digest) || breaks == 2 {
			return false
		}
		breaks++
		rest := content
		if at := r.Header.Get("Range"); at != "" {
			var from int
			if _, err := fmt.Sscanf(at, "bytes=%d-", &from); err != nil {
				t.Error(err)
			}
			rest = content[from:]
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
			w.Header().Set("Content-Length", fmt.Sprint(len(rest)))
			w.WriteHeader(http.StatusPartialContent)
		} else {
			w.Header().Set("Content-Length", fmt.Sprint(len(rest)))
		}
		_, _ = w.Write([]byte(rest[:300_000]))
		panic(http.ErrAbortHandler)
	}
	if text, _, err := pull(f, "web:1.0.0", PullOptions{}); err != nil || text != content {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestPullWriterError(t *testing.T) {
	f := newFake(t)
	archive := f.chart("web", "1.0.0", "the archive")
	full := errors.New("the disk is full")
	_, err := f.client().Pull(context.Background(), f.ref("web:1.0.0"), failing{full}, PullOptions{})
	if !errors.Is(err, full) || f.count("GET /v2/web/blobs/"+archive.Digest) != 1 {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestTags(t *testing.T) {
	f := newFake(t)
	for _, v := range []string{"1.0.0", "1.2.3+b.5", "2.0.0-rc.1", "latest", "v3.0.0", "1.2", "3"} {
		f.chart("web", v, "x")
	}
	got, err := f.client().Tags(context.Background(), f.ref("web"))
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []string{"1.0.0", "1.2.3+b.5", "2.0.0-rc.1"}) {
		t.Errorf("%q, %v", got, err)
	}
	short := f.ref("web")
	short.Tag = "1.2"
	got, err = f.client().Tags(context.Background(), short)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []string{"1.0.0", "1.2", "1.2.3+b.5", "2.0.0-rc.1"}) {
		t.Errorf("with a tag that was asked for: %q, %v", got, err)
	}
	for _, v := range []string{"v1.0.0", "v1.1.0+b", "latest"} {
		f.chart("cert-manager", v, "x")
	}
	got, err = f.client().Tags(context.Background(), f.ref("cert-manager"))
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []string{"v1.0.0", "v1.1.0+b"}) {
		t.Errorf("all with a v: %q, %v", got, err)
	}
	var missing *NotFoundError
	if _, err := f.client().Tags(context.Background(), f.ref("nope")); !errors.As(err, &missing) || err.Error() != "oci://"+f.host()+"/nope: there is no such chart in the registry" {
		t.Error(err)
	}
}

// The registry chooses the URL of the next page of tags, but never on another host
// (CVE-2021-32690).
func TestTagsPages(t *testing.T) {
	f := newFake(t)
	elsewhere := newFake(t)
	f.handle = func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Query().Get("last") {
		case "":
			w.Header().Set("Link", `<`+elsewhere.URL+`/v2/web/tags/list?last=1.0.0&n=1>; rel="next"`)
			fmt.Fprint(w, `{"tags":["1.0.0"]}`)
		case "1.0.0":
			w.Header().Set("Link", `</v2/web/tags/list?last=2.0.0>; rel="next"`)
			fmt.Fprint(w, `{"tags":["2.0.0"]}`)
		default:
			fmt.Fprint(w, `{"tags":null}`)
		}
		return true
	}
	got, err := f.client().Tags(context.Background(), f.ref("web"))
	if err != nil || !slices.Equal(got, []string{"1.0.0", "2.0.0"}) || elsewhere.count("") != 0 {
		t.Errorf("%q, %v; another host got %d requests", got, err, elsewhere.count(""))
	}
}

// Overlong tags are ignored; otherwise a few thousand pages with one each would fill the
// memory.
func TestTagsInvalid(t *testing.T) {
	f := newFake(t)
	f.handle = func(w http.ResponseWriter, _ *http.Request) bool {
		fmt.Fprintf(w, `{"tags":["1.0.0","1.0.0-%s","1.0.0-\u001b"]}`, strings.Repeat("a", 1<<20))
		return true
	}
	if got, err := f.client().Tags(context.Background(), f.ref("web")); err != nil || !slices.Equal(got, []string{"1.0.0"}) {
		t.Errorf("%.99q, %v", got, err)
	}
}

// pageTags serves a list of tags in pages. tags returns the tags of a page by its 1-based
// number, and the link to the next page.
func (f *fake) pageTags(page func(n int) (tags []string, next string)) {
	n := 0
	f.handle = func(w http.ResponseWriter, _ *http.Request) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		n++
		tags, next := page(n)
		if next != "" {
			w.Header().Set("Link", "</v2/web/tags/list?"+next+`>; rel="next"`)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"tags": tags})
		return true
	}
}

func TestTagsTimeout(t *testing.T) {
	f := newFake(t)
	f.pageTags(func(n int) ([]string, string) {
		time.Sleep(10 * time.Millisecond)
		return []string{fmt.Sprintf("1.0.%d", n)}, fmt.Sprintf("last=%d", n)
	})
	c := f.client()
	c.timeout = 200 * time.Millisecond
	var given *ConnectError
	if _, err := c.Tags(context.Background(), f.ref("web")); !errors.As(err, &given) || !errors.Is(err, errLongList) {
		t.Errorf("got %v", err)
	}
}

func TestTagsLimit(t *testing.T) {
	f := newFake(t)
	page := slices.Repeat([]string{"x"}, 50_000)
	f.pageTags(func(n int) ([]string, string) { return page, fmt.Sprintf("last=%d", n) })
	var size *SizeError
	if _, err := f.client().Tags(context.Background(), f.ref("web")); !errors.As(err, &size) {
		t.Error(err)
	}
}

// A page that links to itself took 4,000 requests and three minutes.
func TestTagsLoop(t *testing.T) {
	for name, test := range map[string]struct {
		page func(n int) ([]string, string)
		most int // requests
	}{
		"a page leads to itself":        {func(int) ([]string, string) { return []string{"1.0.0"}, "last=x" }, 2},
		"the third leads to the second": {func(n int) ([]string, string) { return []string{fmt.Sprintf("1.0.%d", n)}, fmt.Sprintf("last=%d", n%3) }, 4},
		"the same page, elsewhere":      {func(n int) ([]string, string) { return []string{"1.0.0"}, fmt.Sprintf("n=%d", n) }, maxSamePage + 1},
		"empty pages":                   {func(n int) ([]string, string) { return nil, fmt.Sprintf("n=%d", n) }, maxSamePage},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.pageTags(test.page)
			var content *ContentError
			_, err := f.client().Tags(context.Background(), f.ref("web"))
			if !errors.As(err, &content) || !strings.Contains(err.Error(), "does not end") {
				t.Errorf("got %v", err)
			}
			if got := f.count("tags/list"); got > test.most {
				t.Errorf("got %d requests, want %d at most", got, test.most)
			}
		})
	}
	f := newFake(t)
	f.pageTags(func(n int) ([]string, string) { // pages may be empty if a registry filters tags by permission
		switch {
		case n == 40:
			return []string{"2.0.0"}, ""
		case n%10 == 0:
			return []string{fmt.Sprintf("1.0.%d", n)}, fmt.Sprintf("n=%d", n)
		}
		return nil, fmt.Sprintf("n=%d", n)
	})
	if got, err := f.client().Tags(context.Background(), f.ref("web")); err != nil || !slices.Equal(got, []string{"1.0.10", "1.0.20", "1.0.30", "2.0.0"}) {
		t.Errorf("with empty pages: got %q, %v", got, err)
	}
}

func TestRetries(t *testing.T) {
	f := newFake(t)
	f.chart("web", "1.0.0", "the archive")
	for name, test := range map[string]struct {
		busy  int // responses before the server does what is asked
		after string
		left  int    // busy responses that were not requested
		hint  string // of the error, "" for success
		least time.Duration
	}{
		"busy":              {busy: 2},
		"busy for a second": {busy: 1, after: "1", least: time.Second},
		"busy for long":     {busy: 2, after: "16", left: 1, hint: "the registry asks to wait for 16s: try again then"},
		"busy for a while":  {busy: 9, left: 5, hint: "the registry has a problem: try again later, or ask its owner"},
	} {
		t.Run(name, func(t *testing.T) {
			busy := test.busy
			f.handle = func(w http.ResponseWriter, _ *http.Request) bool {
				f.mu.Lock()
				defer f.mu.Unlock()
				if busy == 0 {
					return false
				}
				busy--
				w.Header().Set("Retry-After", test.after)
				http.Error(w, "", http.StatusServiceUnavailable)
				return true
			}
			began := time.Now()
			text, _, err := pull(f, "web:1.0.0", PullOptions{})
			if took := time.Since(began); took < test.least {
				t.Errorf("it waited for %s, want at least %s", took, test.least)
			}
			var status *StatusError
			switch {
			case test.hint != "" && (!errors.As(err, &status) || status.Code != http.StatusServiceUnavailable):
				t.Errorf("err = %v, want a StatusError of 503", err)
			case test.hint != "" && status.Hint() != test.hint:
				t.Errorf("hint %q, want %q", status.Hint(), test.hint)
			case test.hint == "" && (err != nil || text != "the archive"):
				t.Errorf("got %q, %v, want the archive", text, err)
			}
			if busy != test.left {
				t.Errorf("%d responses left, want %d", busy, test.left)
			}
		})
	}
}

func TestErrorMessages(t *testing.T) {
	f := newFake(t)
	f.handle = func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, `{"errors":[{"code":"X","message":"no charts on sundays"},{"message":"`+strings.Repeat("x", 1000)+`"}]}`, http.StatusTeapot)
		return true
	}
	_, _, err := pull(f, "web:1.0.0", PullOptions{})
	var status *StatusError
	if !errors.As(err, &status) || status.Code != http.StatusTeapot || !strings.Contains(err.Error(), "answered 418: no charts on sundays; xxx") || len(err.Error()) > 500 {
		t.Error(err)
	}
}

func TestStalled(t *testing.T) {
	f := newFake(t)
	f.chart("web", "1.0.0", "x")
	release := make(chan struct{})
	defer close(release)
	f.handle = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/blobs/") {
			<-release
		}
		return false
	}
	c := f.client()
	c.timeout = 50 * time.Millisecond
	var b bytes.Buffer
	_, err := c.Pull(context.Background(), f.ref("web:1.0.0"), &b, PullOptions{})
	var connect *ConnectError
	if !errors.As(err, &connect) || !errors.Is(err, errStalled) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.client().Pull(ctx, f.ref("web:1.0.0"), &b, PullOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTrickling(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	f := newFake(t)
	archive := f.chart("web", "1.0.0", strings.Repeat("x", 100_000))
	f.handle = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, archive.Digest) {
			return false
		}
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
		return true
	}
	c := f.client()
	c.timeout = time.Second
	_, err := c.Pull(context.Background(), f.ref("web:1.0.0"), io.Discard, PullOptions{})
	if !errors.Is(err, errTrickling) {
		t.Error(err)
	}
}

func TestPlainHTTPError(t *testing.T) {
	f := newFake(t)
	var plain *PlainHTTPError
	if _, err := (&Client{}).Tags(context.Background(), f.ref("web")); !errors.As(err, &plain) {
		t.Error(err)
	}
}

func TestPushErrors(t *testing.T) {
	f := newFake(t)
	art := func(name, version string) Artifact {
		return Artifact{Metadata: &chart.Metadata{Name: name, Version: version}, Archive: strings.NewReader("x")}
	}
	for _, test := range []struct {
		directory string
		a         Artifact
		want      string
	}{
		{"charts:1.0.0", art("web", "1.0.0"), "a push takes only a path"},
		{"charts", art("Web", "1.0.0"), "must be in lower case"},
		{"charts", art("web", strings.Repeat("1", 200)), "is not a valid tag"},
		{"charts", art("../web", "1.0.0"), "is not a valid name"}, // CVE-2026-35206
	} {
		t.Run(test.want, func(t *testing.T) {
			_, err := f.client().Push(context.Background(), f.ref(test.directory), test.a)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v", test.directory, err)
			}
		})
	}
	if f.count("") != 0 {
		t.Errorf("asked: %q", f.requests)
	}
	f.handle = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		w.Header().Set("Location", "https://elsewhere.example/upload")
		w.WriteHeader(http.StatusAccepted)
		return true
	}
	if _, err := f.client().Push(context.Background(), f.ref("charts"), art("web", "1.0.0")); err == nil || !strings.Contains(err.Error(), "redirects the upload to https://elsewhere.example") {
		t.Error(err)
	}
}

// A tag appears only when everything is stored.
func TestPushFailureLeavesNoTag(t *testing.T) {
	f := newFake(t)
	f.handle = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && r.ContentLength == 11 {
			http.Error(w, "", http.StatusInsufficientStorage)
			return true
		}
		return false
	}
	_, err := f.client().Push(context.Background(), f.ref("charts"), Artifact{Metadata: &chart.Metadata{Name: "web", Version: "1.0.0"}, Archive: strings.NewReader("the archive")})
	var status *StatusError
	if !errors.As(err, &status) || f.count("PUT /v2/charts/web/manifests/") != 0 {
		t.Error(err)
	}
}
