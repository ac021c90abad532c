// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/progress"
)

// hurried returns a client that does not wait between retries.
func hurried(t *testing.T) *Client {
	c := &Client{timeouts: timeouts{pause: time.Millisecond}}
	t.Cleanup(func() { c.Close() })
	return c
}

func serve(t *testing.T, fn http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(fn)
	t.Cleanup(s.Close)
	return s
}

func serveTLS(t *testing.T, fn http.HandlerFunc) *httptest.Server {
	s := httptest.NewUnstartedServer(fn)

	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.Config.ErrorLog = discardLog()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// writePEM writes a file and returns its path.
func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), kind+".pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// identityFiles writes a client's certificate and key.
func identityFiles(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "anna"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, "CERTIFICATE", der), writePEM(t, "EC PRIVATE KEY", keyDER)
}

// byName returns a URL of the same server with another host name.
func byName(address string) string { return strings.Replace(address, "127.0.0.1", "localhost", 1) }

func withUser(address string) string {
	return strings.Replace(address, "://", "://url:hunter2@", 1)
}

// CVE-2021-32690: which hosts get the credentials.
func TestCredentialsStayWithTheirHost(t *testing.T) {
	tell := func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			user += "+certificate"
		}
		fmt.Fprint(w, user)
	}
	var to string
	lead := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lead" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		tell(w, r)
	}
	plain, other, secure := serve(t, lead), serve(t, tell), serveTLS(t, lead)
	cert, key := identityFiles(t)
	given := HostOptions{Username: "anna", Password: "hunter2", CertFile: cert, KeyFile: key, SkipTLS: true}
	all := given
	all.PassAll = true
	for _, c := range []struct {
		name, address, home, to string
		access                  HostOptions
		want                    string
	}{
		{"the host that they are for", plain.URL + "/a", plain.URL, "", given, "anna"},
		{"no home: the address itself", plain.URL + "/a", "", "", given, "anna"},
		{"with a certificate", secure.URL + "/a", secure.URL + "/charts", "", given, "anna+certificate"},
		{"an address on another port", other.URL + "/a", plain.URL, "", given, ""},
		{"an address on another host", byName(plain.URL) + "/a", plain.URL, "", given, ""},
		{"an address on another host, by its certificate", byName(secure.URL) + "/a", secure.URL, "", given, ""},
		{"an address without TLS", plain.URL + "/a", secure.URL, "", given, ""},
		{"an address elsewhere, passing all", other.URL + "/a", plain.URL, "", all, "anna"},
		{"a redirect on the same host", plain.URL + "/lead", plain.URL, "/b", given, "anna"},
		{"a redirect to another host", plain.URL + "/lead", plain.URL, byName(plain.URL) + "/b", given, ""},
		{"a redirect to another port", plain.URL + "/lead", plain.URL, other.URL + "/b", given, ""},
		{"a redirect to no TLS", secure.URL + "/lead", secure.URL, plain.URL + "/b", given, ""},
		{"a redirect to TLS elsewhere", plain.URL + "/lead", plain.URL, secure.URL + "/b", given, ""},
		{"a redirect elsewhere, passing all", plain.URL + "/lead", plain.URL, secure.URL + "/b", all, "anna+certificate"},
		{"a redirect from elsewhere back home", byName(plain.URL) + "/lead", plain.URL, plain.URL + "/b", given, "anna"},
		{"in the URL", withUser(plain.URL) + "/a", "", "", HostOptions{}, "url"},
		{"in the URL, on the same host", withUser(plain.URL) + "/lead", "", "/b", HostOptions{}, "url"},
		{"in the URL, to another port", withUser(plain.URL) + "/lead", "", other.URL + "/b", HostOptions{}, ""},
		{"in the URL, to another host", withUser(plain.URL) + "/lead", "", byName(plain.URL) + "/b", HostOptions{}, ""},
		{"in the home's URL", plain.URL + "/a", withUser(plain.URL), "", HostOptions{}, "url"},
		{"in the home's URL, to another port", other.URL + "/a", withUser(plain.URL), "", HostOptions{}, ""},
		{"in the home's URL, with given ones", plain.URL + "/a", withUser(plain.URL), "", given, "anna"},
		{"in a foreign URL", withUser(other.URL) + "/a", plain.URL, "", given, "url"},
		{"in a redirect's URL, for its host", plain.URL + "/lead", plain.URL, withUser(other.URL) + "/b", given, "url"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to = c.to
			var got bytes.Buffer
			if err := hurried(t).Get(t.Context(), c.address, c.home, c.access, 100, &got); err != nil {
				t.Fatal(err)
			}
			if got.String() != c.want {
				t.Errorf("the server knows %q, want %q", &got, c.want)
			}
		})
	}
}

func TestSameOrigin(t *testing.T) {
	for _, c := range []struct {
		home, other string
		want        bool
	}{
		{"https://a/x", "https://a/y", true},
		{"https://a", "https://A:443", true},
		{"http://a", "http://a:80/", true},
		{"http://a", "https://a", true}, // from http to https
		{"https://a", "http://a", false},
		{"http://a:8080", "https://a", false},
		{"http://a", "https://a:8443", false},
		{"https://a", "https://b.a", false},
		{"https://b.a", "https://a", false},
		{"https://a", "https://a.", false},
		{"https://a", "https://a:444", false},
		{"https://a@b", "https://a", false},
		{"https://[::1]", "https://[::1]:443", true},
		{"s3://bucket/charts", "s3://bucket/web.tgz", true},
		{"s3://bucket", "s3://other", false},
		{"", "https://a", false},
		{"", "", false},
		{"https://a", "https://a:b:c", false},
	} {
		t.Run(c.home, func(t *testing.T) {
			if got := SameOrigin(c.home, c.other); got != c.want {
				t.Errorf("%s to %s: %t", c.home, c.other, got)
			}
		})
	}
}

// CVE-2019-1010275: a server with an invalid certificate gets no request.
func TestCertificates(t *testing.T) {
	s := serveTLS(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "secret") })
	foreign := serve(t, func(http.ResponseWriter, *http.Request) {})
	ca := writePEM(t, "CERTIFICATE", s.Certificate().Raw)
	otherCA, key := identityFiles(t)
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		address string
		access  HostOptions
		want    string // part of the error, "" for success
	}{
		"a known authority":          {s.URL, HostOptions{CAFile: ca}, ""},
		"unchecked":                  {s.URL, HostOptions{SkipTLS: true}, ""},
		"an unknown authority":       {s.URL, HostOptions{}, "certificate is not trusted: "},
		"another authority":          {s.URL, HostOptions{CAFile: otherCA}, "certificate is not trusted: "},
		"another host":               {byName(s.URL), HostOptions{CAFile: ca}, "*.example.com, not localhost"},
		"no TLS at all":              {strings.Replace(foreign.URL, "http:", "https:", 1), HostOptions{}, "does not speak TLS"},
		"no such file":               {s.URL, HostOptions{CAFile: "/nowhere.pem"}, "certificate /nowhere.pem: "},
		"a file without certificate": {s.URL, HostOptions{CAFile: empty}, "contains no PEM certificate"},
		"a certificate without key":  {s.URL, HostOptions{CertFile: ca}, "belong together"},
		"a key of another":           {s.URL, HostOptions{CertFile: ca, KeyFile: key}, "does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			err := hurried(t).Get(t.Context(), c.address, "", c.access, 100, &got)
			if c.want == "" {
				if err != nil || got.String() != "secret" {
					t.Errorf("%q, %v", got.String(), err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || got.Len() > 0 {
				t.Errorf("%q, %v; want an error with %q", got.String(), err, c.want)
			}
			var untrusted *UntrustedError
			if strings.Contains(c.want, "not localhost") && (!errors.As(err, &untrusted) || !strings.HasPrefix(untrusted.Host, "localhost")) {
				t.Errorf("%T", err)
			}
		})
	}
}

func TestTransportShared(t *testing.T) {
	c := hurried(t)
	one, err := c.Transport(t.Context(), HostOptions{Username: "a", SkipTLS: true})
	if err != nil {
		t.Fatal(err)
	}
	if same, _ := c.Transport(t.Context(), HostOptions{Username: "b", SkipTLS: true}); same != one {
		t.Error("two transports for the same wishes")
	}
	if other, _ := c.Transport(t.Context(), HostOptions{}); other == one {
		t.Error("one transport for different wishes")
	}
}

// counter counts the written bytes and discards them.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

func TestGetSizeLimit(t *testing.T) {
	const limit = 1 << 20
	packed := func(w http.ResponseWriter, n int64) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.CopyN(z, zeros{}, n)
		_ = z.Close()
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/announced":
			w.Header().Set("Content-Length", fmt.Sprint(limit+1))
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done() // clients that read on wait
		case "/endless":
			_, _ = io.Copy(w, zeros{})
		case "/bomb":
			packed(w, 1<<30)
		case "/exact":
			packed(w, limit)
		case "/header":
			w.Header().Set("WWW-Authenticate", strings.Repeat("a ", limit))
		}
	})
	var none *UnreachableError
	if err := hurried(t).Get(t.Context(), s.URL+"/header", "", HostOptions{}, limit, io.Discard); !errors.As(err, &none) {
		t.Errorf("a large header: %v", err)
	}
	for path, fits := range map[string]bool{"/announced": false, "/endless": false, "/bomb": false, "/exact": true} {
		t.Run(path, func(t *testing.T) {
			var got counter
			err := hurried(t).Get(t.Context(), s.URL+path, "", HostOptions{}, limit, &got)
			var size *SizeError
			if fits != (err == nil) || !fits && !errors.As(err, &size) || got.n > limit || fits && got.n != limit {
				t.Errorf("%s: %d bytes, %v", path, got.n, err)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestGetTimeouts(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/silent":
			<-r.Context().Done()
		case "/stalled":
			_, _ = w.Write([]byte("a"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/trickling":
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("a"))
				w.(http.Flusher).Flush()
			}
		}
	})
	for path, p := range map[string]timeouts{
		"/silent":    {idle: 20 * time.Millisecond},
		"/stalled":   {idle: 20 * time.Millisecond},
		"/trickling": {grace: time.Millisecond, pace: 1 << 50},
	} {
		t.Run(path, func(t *testing.T) {
			c := &Client{timeouts: p}
			defer c.Close()
			var got counter
			err := c.Get(t.Context(), s.URL+path, "", HostOptions{}, 1<<40, &got)
			var stalled *StalledError
			if !errors.As(err, &stalled) || strings.Contains(err.Error(), "canceled") {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
}

// tear closes the connection, after the first 3 bytes of 7 if part is set.
func tear(w http.ResponseWriter, part bool) {
	if part {
		w.Header().Set("Content-Length", "7")
		fmt.Fprint(w, "con")
		w.(http.Flusher).Flush()
	}
	panic(http.ErrAbortHandler)
}

func TestGetRetries(t *testing.T) {
	var asked time.Time
	for name, c := range map[string]struct {
		answer func(try int, w http.ResponseWriter, r *http.Request)
		want   string // content, or "error: " and a part of it
		tries  int
	}{
		"busy": {func(try int, w http.ResponseWriter, r *http.Request) {
			if try < 3 {
				w.WriteHeader([]int{0, 429, 503}[try])
				return
			}
			fmt.Fprint(w, "content")
		}, "content", 3},
		"busy for a second": {func(try int, w http.ResponseWriter, r *http.Request) {
			if try == 1 {
				asked = time.Now()
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			fmt.Fprint(w, map[bool]string{true: "content", false: "too early"}[time.Since(asked) >= time.Second])
		}, "content", 2},
		"busy for long": {func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "16")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "error: the server answered 503", 1},
		"busy for ever": {func(_ int, w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "error: the server answered 503", maxTries},
		"gone":          {func(_ int, w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotFound) }, "error: the server answered 404", 1},
		"hung up": {func(try int, w http.ResponseWriter, r *http.Request) {
			if try < 3 {
				tear(w, false)
			}
			fmt.Fprint(w, "content")
		}, "content", 3},
		"hung up in the middle": {func(try int, w http.ResponseWriter, r *http.Request) {
			tear(w, true)
		}, "error: the connection broke after 3 bytes", 1},
		"goes on": {func(try int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if try == 1 {
				tear(w, true)
			}
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader("content"))
		}, "content", 2},
		"has changed": {func(try int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, try))
			if try == 1 {
				tear(w, true)
			}
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader("changed"))
		}, "error: the connection broke after 3 bytes", 2},
		"has changed and does not see it": {func(try int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, try))
			if try == 1 {
				tear(w, true)
			}
			w.Header().Set("Content-Range", "bytes 3-6/7")
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "nged")
		}, "error: the connection broke after 3 bytes", 2},
		"knows no ranges": {func(try int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if try == 1 {
				tear(w, true)
			}
			fmt.Fprint(w, "content")
		}, "error: the connection broke after 3 bytes", 2},
		"sends another part": {func(try int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if try == 1 {
				tear(w, true)
			}
			w.Header().Set("Content-Range", "bytes 0-3/7")
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "cont")
		}, "error: the connection broke after 3 bytes", 2},
		"sends a part at once": {func(try int, w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "cont")
		}, "error: the server answered 206", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int64
			s := serve(t, func(w http.ResponseWriter, r *http.Request) { c.answer(int(tries.Add(1)), w, r) })
			s.Config.ErrorLog = discardLog()
			var got strings.Builder
			err := hurried(t).Get(t.Context(), s.URL+"/web.tgz", "", HostOptions{}, 100, &got)
			want, fails := strings.CutPrefix(c.want, "error: ")
			switch {
			case fails && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%q, %v; want %q", got.String(), err, want)
			case !fails && (err != nil || got.String() != want):
				t.Errorf("%q, %v; want %q", got.String(), err, want)
			case fails && !strings.HasPrefix("content", got.String()):
				t.Errorf("two contents were mixed: %q", got.String())
			}
			// The transport itself repeats a request if a reused connection was
			// closed.
			if n := int(tries.Load()); n != c.tries {
				t.Errorf("asked %d times, want %d", n, c.tries)
			}
		})
	}
}

// Some servers send archives with Content-Encoding gzip.
func TestGetKeepsArchiveEncoding(t *testing.T) {
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	fmt.Fprint(z, "tar")
	_ = z.Close()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(archive.Bytes())
	})
	for path, want := range map[string]string{"/web-1.0.0.tgz": archive.String(), "/index.yaml": "tar"} {
		t.Run(path, func(t *testing.T) {
			var got strings.Builder
			if err := hurried(t).Get(t.Context(), s.URL+path, "", HostOptions{}, 1000, &got); err != nil || got.String() != want {
				t.Errorf("%s: %q, %v", path, got.String(), err)
			}
		})
	}
}

func TestGetInvalidEncoding(t *testing.T) {
	var good bytes.Buffer
	z := gzip.NewWriter(&good)
	fmt.Fprint(z, "index")
	_ = z.Close()
	torn := good.String()[:good.Len()-4]
	for name, c := range map[string]struct{ encoding, body, want string }{
		"no gzip":          {"gzip", "text that is not gzip", "the content cannot be decompressed: gzip: invalid header"},
		"a wrong checksum": {"gzip", good.String()[:good.Len()-8] + "12345678", "the content cannot be decompressed: gzip: invalid checksum"},
		"corrupt":          {"gzip", good.String()[:10] + "xxxxxxxxxxxx", "the content cannot be decompressed: flate: corrupt"},
		"torn":             {"gzip", torn, "unexpected EOF"},
		"unasked":          {"br", "x", `the encoding "br", which was not requested`},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", c.encoding)
				_, _ = io.WriteString(w, c.body)
			})
			err := hurried(t).Get(t.Context(), s.URL+"/index.yaml", "", HostOptions{}, 100, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "fetch "+s.URL) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		})
	}
}

func TestGetProgress(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/nowhere" {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(make([]byte, 1<<20)))
	})
	var mu sync.Mutex
	var events []progress.Event
	c := hurried(t)
	c.Progress = func(e progress.Event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
	}
	if err := c.Get(t.Context(), s.URL+"/a/web-1.0.0.tgz?x=y", "", HostOptions{}, 1<<20, io.Discard); err != nil {
		t.Fatal(err)
	}
	if len(events) < 4 || events[0] != (progress.Event{Kind: progress.Download, Text: "web-1.0.0.tgz", Total: 1 << 20}) ||
		events[len(events)-1] != (progress.Event{Kind: progress.Fetched, Text: "web-1.0.0.tgz", Done: 1 << 20, Total: 1 << 20}) {
		t.Errorf("%+v", events)
	}
	if !slices.IsSortedFunc(events, func(a, b progress.Event) int { return int(a.Done - b.Done) }) {
		t.Errorf("goes back: %+v", events)
	}
	events = nil
	if err := c.Get(t.Context(), withUser(s.URL)+"/a/index.yaml?x=y", "", HostOptions{}, 1<<20, io.Discard); err != nil || events[0].Text != strings.TrimPrefix(s.URL, "http://")+"/a/index.yaml" {
		t.Errorf("%v, %+v", err, events)
	}
	events = nil
	if err := c.Get(t.Context(), s.URL+"/nowhere", "", HostOptions{}, 1<<20, io.Discard); err == nil || len(events) > 0 {
		t.Errorf("%v, %+v", err, events)
	}
}

func TestGetCanceled(t *testing.T) {
	started := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, 1000))
		w.(http.Flusher).Flush()
		close(started)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if err := hurried(t).Get(ctx, s.URL, "", HostOptions{}, 1<<20, io.Discard); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Errors contain no secrets.
func TestErrorsHideSecrets(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/lead":
			http.Redirect(w, r, "http://x:hunter2@127.0.0.1:1/?token=hunter2", http.StatusFound)
		case "/odd":
			w.Header().Set("Location", "http://x:hunter2@[::1/")
			w.WriteHeader(http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
	given := HostOptions{Username: "anna", Password: "hunter2"}
	for _, address := range []string{
		withUser(s.URL) + "/a?token=hunter2", s.URL + "/lead", s.URL + "/odd", "http://x:hunter2@[::1/", "ftp://x:hunter2@a/",
		"http://x:hunter2@127.0.0.1:1/?token=hunter2", "https://:hunter2@/a",
	} {
		err := hurried(t).Get(t.Context(), address, "", given, 10, io.Discard)
		for ; err != nil; err = errors.Unwrap(err) {
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %T: %v", address, err, err)
			}
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("https://u:", "host/path?x=y#z")
	f.Add("http://u:%zz", "host/")
	f.Add("u:", "host")
	f.Add("//u:", "host/x")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "s3cr3tw0rd"
		scheme, user, absolute := strings.Cut(before, "://")
		if !absolute || strings.Contains(scheme, "/") || strings.ContainsAny(user, "/?#") || strings.Contains(before, secret) || strings.Contains(after, secret) {
			return
		}
		if got := RedactURL(before + secret + "@" + after); strings.Contains(got, secret) {
			t.Errorf("%q + the secret + %q is told as %q", before, after, got)
		}
		if got := RedactURL("https://host/" + after + "?token=" + secret); strings.Contains(got, secret) && !strings.Contains(after, "#") {
			t.Errorf("%q with a token is told as %q", after, got)
		}
	})
}

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }
