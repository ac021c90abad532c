// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

// as returns a client with a password.
func (f *fake) as(user, password string) *Client {
	c := f.client()
	c.Username, c.Password = user, password
	return c
}

func (f *fake) pullAs(c *Client, path string) (string, error) {
	var b bytes.Buffer
	_, err := c.Pull(context.Background(), f.ref(path), &b, PullOptions{})
	return b.String(), err
}

func TestAuthBasic(t *testing.T) {
	f := newFake(t)
	f.chart("web", "1.0.0", "the archive")
	if text, err := f.pullAs(f.as("ann", "secret"), "web:1.0.0"); err != nil || text != "the archive" || len(f.secrets()) != 0 {
		t.Errorf("no one asked: %q, %v, sent %q", text, err, f.secrets())
	}
	f.handle = wantBasic("ann", "secret")
	if text, err := f.pullAs(f.as("ann", "secret"), "web:1.0.0"); err != nil || text != "the archive" {
		t.Errorf("%q, %v", text, err)
	}
	host := "oci://" + f.host() + "/web:1.0.0"
	for _, test := range []struct{ user, password, want string }{
		{"", "", host + ": the registry requires credentials, and none are stored for it: who are you?"},
		{"ann", "hunter2", host + ": the registry does not accept the credentials of ann: who are you?"},
	} {
		t.Run(test.user, func(t *testing.T) {
			_, err := f.pullAs(f.as(test.user, test.password), "web:1.0.0")
			var unauthorized *UnauthorizedError
			if !errors.As(err, &unauthorized) || err.Error() != test.want || unauthorized.Host != f.host() {
				t.Errorf("%q: %v", test.user, err)
			}
		})
	}
	f.handle = func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "", http.StatusForbidden)
		return true
	}
	if _, err := f.pullAs(f.as("ann", "x"), "web:1.0.0"); err == nil || !strings.Contains(err.Error(), "does not permit it") {
		t.Error(err)
	}
}

// tokens is a token server with a fixed response that records its requests.
type tokens struct {
	mu     sync.Mutex
	asked  []string
	answer string
}

func (s *tokens) serve(f *fake, realm, token string) {
	want := wantToken(realm, token)
	f.handle = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/token" {
			return want(w, r)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		user, password, _ := r.BasicAuth()
		s.asked = append(s.asked, fmt.Sprintf("%s %s %q %q %q", r.Method, r.Form.Encode(), user, password, r.PostForm.Get("refresh_token")))
		fmt.Fprint(w, s.answer)
		return true
	}
}

func TestAuthTokenFetchedOnce(t *testing.T) {
	f := newFake(t)
	f.chart("web", "1.0.0", "the archive")
	s := &tokens{answer: `{"token":"abc"}`}
	s.serve(f, f.URL+"/token", "abc")
	c := f.as("ann", "secret")
	for range 2 {
		if text, err := f.pullAs(c, "web:1.0.0"); err != nil || text != "the archive" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if want := []string{`GET scope=repository%3Aweb%3Apull&service=here "ann" "secret" ""`}; !reflect.DeepEqual(s.asked, want) {
		t.Errorf("asked %q", s.asked)
	}
	// Push permission is in another token, also requested only once.
	s.asked = nil
	if _, err := c.Push(context.Background(), f.ref(""), Artifact{Metadata: &chart.Metadata{Name: "web", Version: "2.0.0"}, Archive: strings.NewReader("new"), Provenance: []byte("signed")}); err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, requests := range s.asked {
		if requests != `GET scope=repository%3Aweb%3Apull%2Cpush&service=here "ann" "secret" ""` {
			t.Error(requests)
		}
	}
	if len(s.asked) > 1 {
		t.Errorf("asked %d times", len(s.asked))
	}
}

func TestAuthIdentityToken(t *testing.T) {
	f := newFake(t)
	f.chart("web", "1.0.0", "the archive")
	s := &tokens{answer: `{"access_token":"abc"}`}
	s.serve(f, f.URL+"/token", "abc")
	if text, err := f.pullAs(f.as("", "identity"), "web:1.0.0"); err != nil || text != "the archive" {
		t.Errorf("%q, %v", text, err)
	}
	if len(s.asked) != 1 || !strings.HasPrefix(s.asked[0], "POST client_id=moonhelm&grant_type=refresh_token&") || !strings.HasSuffix(s.asked[0], `"identity"`) {
		t.Errorf("asked %q", s.asked)
	}
}

func TestAuthInvalidToken(t *testing.T) {
	f := newFake(t)
	f.chart("web", "1.0.0", "x")
	s := &tokens{}
	s.serve(f, f.URL+"/token", "abc")
	for _, answer := range []string{"", "{}", `{"token":""}`, `{"token":"a\r\nb"}`, "[]", strings.Repeat(" ", maxTokenResponse) + `{"token":"abc"}`} {
		s.answer = answer
		var wrong *ContentError
		if _, err := f.pullAs(f.as("ann", "secret"), "web:1.0.0"); !errors.As(err, &wrong) {
			t.Errorf("%.20q: %v", answer, err)
		}
	}
}

// leadsElsewhere returns handlers by which a registry leads its clients to another host, which is
// known as localhost as well.
func leadsElsewhere(other *fake, localhost string) map[string]func(f *fake) func(http.ResponseWriter, *http.Request) bool {
	return map[string]func(f *fake) func(http.ResponseWriter, *http.Request) bool{
		"a redirect to another port": func(f *fake) func(http.ResponseWriter, *http.Request) bool {
			basic := wantBasic("ann", "secret")
			return func(w http.ResponseWriter, r *http.Request) bool {
				if basic(w, r) {
					return true
				}
				if !strings.Contains(r.URL.Path, "/blobs/") {
					return false
				}
				http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
				return true
			}
		},
		"a redirect there and back": func(f *fake) func(http.ResponseWriter, *http.Request) bool {
			basic := wantBasic("ann", "secret")
			return func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/manifests/1.0.0") && r.URL.RawQuery == "" && r.Header.Get("Authorization") != "" {
					http.Redirect(w, r, other.URL+"/bounce?"+f.URL+r.URL.Path+"?again", http.StatusFound)
					return true
				}
				return basic(w, r)
			}
		},
		"a token server that is another host, unencrypted": func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return wantToken(localhost+"/token", "abc")
		},
		"a token server with an odd scheme": func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return wantToken("file:///etc/passwd", "abc")
		},
		"a redirect to someone who has a token server": func(f *fake) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "/blobs/") {
					return false
				}
				http.Redirect(w, r, other.URL+"/curious", http.StatusTemporaryRedirect)
				return true
			}
		},
		"a token server that leads on": func(f *fake) func(http.ResponseWriter, *http.Request) bool {
			want := wantToken(f.URL+"/token", "abc")
			return func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/token" {
					http.Redirect(w, r, other.URL+"/token", http.StatusPermanentRedirect)
					return true
				}
				return want(w, r)
			}
		},
	}
}

// CVE-2021-32690: a registry cannot redirect credentials to another host.
func TestAuthOtherHosts(t *testing.T) {
	other := newFake(t)
	localhost := "http://localhost:" + portOf(mustURL(t, other.URL)) // the same machine with another name
	for name, lead := range leadsElsewhere(other, localhost) {
		t.Run(name, func(t *testing.T) {
			for _, who := range []struct{ name, user, password string }{
				{"with a user", "ann", "secret"},
				{"without a user", "", "secret"},
			} {
				t.Run(who.name, func(t *testing.T) {
					f := newFake(t)
					archive := f.chart("web", "1.0.0", "the archive")
					other.mu.Lock()
					other.seen = nil
					other.blobs[archive.Digest] = []byte("the archive")
					other.handle = func(w http.ResponseWriter, r *http.Request) bool {
						switch r.URL.Path {
						case "/bounce":
							http.Redirect(w, r, r.URL.RawQuery, http.StatusFound)
						case "/curious":
							return wantToken(other.URL+"/token", "abc")(w, r)
						default:
							return false
						}
						return true
					}
					other.mu.Unlock()
					f.handle = lead(f)
					text, err := f.pullAs(f.as(who.user, who.password), "web:1.0.0")
					if sent := other.secrets(); len(sent) > 0 {
						t.Fatalf("the other host got %q (%q, %v)", sent, text, err)
					}
					if err != nil && strings.Contains(err.Error(), "secret") {
						t.Errorf("an error tells the password: %v", err)
					}
				})
			}
		})
	}
}

// through counts requests by host.
type through map[string]int

func (c through) RoundTrip(req *http.Request) (*http.Response, error) {
	c[req.URL.Host]++
	return http.DefaultTransport.RoundTrip(req)
}

// CVE-2021-32690: the client certificate is also for the registry only.
func TestClientElsewhere(t *testing.T) {
	other, f := newFake(t), newFake(t)
	archive := f.chart("web", "1.0.0", "the archive")
	other.blobs[archive.Digest] = []byte("the archive")
	f.handle = func(w http.ResponseWriter, r *http.Request) bool {
		lead := strings.HasSuffix(r.URL.Path, archive.Digest)
		if lead {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}
		return lead
	}
	c, inside, outside := f.client(), through{}, through{}
	var mu sync.Mutex
	c.Transport, c.Elsewhere = alone{&mu, inside}, alone{&mu, outside}
	if text, err := f.pullAs(c, "web:1.0.0"); err != nil || text != "the archive" {
		t.Errorf("%q, %v", text, err)
	}
	if inside[f.host()] == 0 || inside[other.host()] > 0 || outside[f.host()] > 0 || outside[other.host()] != 1 {
		t.Errorf("inside %v, outside %v", inside, outside)
	}
}

// alone permits one request at a time.
type alone struct {
	mu *sync.Mutex
	http.RoundTripper
}

func (a alone) RoundTrip(req *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.RoundTripper.RoundTrip(req)
}

func TestPullFromOtherHost(t *testing.T) {
	other, f := newFake(t), newFake(t)
	archive := f.chart("web", "1.0.0", "the archive")
	other.blobs[archive.Digest] = []byte("the archive")
	basic := wantBasic("ann", "secret")
	f.handle = func(w http.ResponseWriter, r *http.Request) bool {
		if !basic(w, r) && strings.HasSuffix(r.URL.Path, archive.Digest) {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
			return true
		}
		return r.Header.Get("Authorization") == ""
	}
	if text, err := f.pullAs(f.as("ann", "secret"), "web:1.0.0"); err != nil || text != "the archive" || other.count("GET") != 1 {
		t.Errorf("%q, %v", text, err)
	}
}

func TestRedirects(t *testing.T) {
	request := func(method, url, body string) *http.Request {
		req, err := http.NewRequest(method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			req.Body = http.NoBody
			req, err = http.NewRequest(method, url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
		}
		req.Header.Set("Authorization", "Basic x")
		return req
	}
	blob := "/v2/web/blobs/" + someDigest
	for _, test := range []struct {
		from, to, body string
		ok, keeps      bool
	}{
		{"https://a/v2/x", "https://a/v2/y", "", true, true},
		{"https://a/v2/x", "https://A:443/v2/y", "", true, true},
		{"https://a/v2/x", "https://b/v2/y", "", true, false},
		{"https://a/v2/x", "https://sub.a/v2/y", "", true, false},
		{"https://a/v2/x", "https://a:8443/v2/y", "", true, false},
		{"https://a/v2/x", "http://a/v2/y", "", false, false},
		{"https://a" + blob, "http://b/y", "", true, false},
		{"http://a/v2/x", "https://a/v2/x", "", true, false},
		{"https://a/v2/x", "ftp://a/v2/x", "", false, false},
		{"https://a/v2/x", "file:///v2/x", "", false, false},
		{"https://a/token", "https://a/token2", "secret", true, true},
		{"https://a/token", "https://b/token", "secret", false, false},
	} {
		t.Run(test.to, func(t *testing.T) {
			next := request("POST", test.to, test.body)
			err := checkRedirect(next, []*http.Request{request("POST", test.from, test.body)})
			if (err == nil) != test.ok || err == nil && (next.Header.Get("Authorization") != "") != test.keeps {
				t.Errorf("%s → %s: %v, %v", test.from, test.to, err, next.Header)
			}
		})
	}
	back := request("GET", "https://a/", "")
	if err := checkRedirect(back, []*http.Request{request("GET", "https://a/", ""), request("GET", "https://b/", "")}); err != nil || back.Header.Get("Authorization") != "" {
		t.Errorf("there and back: %v, %v", err, back.Header)
	}
}

func TestAuthPlainHTTPRealm(t *testing.T) {
	for _, test := range []struct {
		plain     bool
		realm, of string
	}{
		{false, "http://a/token", "a"},
		{true, "http://b/token", "a"},
		{true, "http://a.evil/token", "a"},
	} {
		t.Run(test.realm, func(t *testing.T) {
			c := (&Client{PlainHTTP: test.plain, Username: "ann", Password: "secret"}).call(Ref{Host: test.of, Path: "web"})
			var foreign *TokenServerError
			_, err := c.token(context.Background(), challenge{params: map[string]string{"realm": test.realm}}, secret{user: "ann", password: "secret"}, false)
			if !errors.As(err, &foreign) {
				t.Errorf("%+v: %v", test, err)
			}
		})
	}
}

func TestParseChallenges(t *testing.T) {
	for text, want := range map[string][]challenge{
		`Basic realm="here"`: {{"basic", map[string]string{"realm": "here"}}},
		`Bearer realm="https://a/t",service="s, t",scope="repository:a/b:pull,push"`: {{"bearer", map[string]string{"realm": "https://a/t", "service": "s, t", "scope": "repository:a/b:pull,push"}}},
		`Negotiate, BASIC Realm = here, Bearer realm="a\"b"`:                         {{"negotiate", map[string]string{}}, {"basic", map[string]string{"realm": "here"}}, {"bearer", map[string]string{"realm": `a"b`}}},
		`Bearer realm="open`: {{"bearer", map[string]string{}}},
		`="x"`:               nil,
		``:                   nil,
		`,,,`:                nil,
	} {
		t.Run(text, func(t *testing.T) {
			if got := parseChallenges([]string{text}); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v", text, got)
			}
		})
	}
}

func FuzzParseChallenges(f *testing.F) {
	f.Add(`Bearer realm="https://a/t",service="s", Basic realm=x`)
	f.Add("Negotiate abc==, Basic")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range parseChallenges([]string{text}) {
			if c.scheme == "" || c.params == nil {
				t.Fatalf("%q: %+v", text, c)
			}
		}
	})
}

func TestLogin(t *testing.T) {
	f := newFake(t)
	f.handle = wantBasic("ann", "secret")
	file := t.TempDir() + "/registry/config.json"
	for _, password := range []string{"hunter2", "secret"} {
		t.Run(password, func(t *testing.T) {
			c := f.as("ann", password)
			c.Credentials = &Credentials{File: file}
			t.Setenv("PATH", t.TempDir()) // no helper programs
			err := c.Login(context.Background(), Ref{Host: f.host()})
			if (err == nil) != (password == "secret") {
				t.Errorf("%s: %v", password, err)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("an error tells the password: %v", err)
			}
		})
	}
	f.chart("web", "1.0.0", "the archive")
	c := f.client()
	c.Credentials = &Credentials{File: file}
	if text, err := f.pullAs(c, "web:1.0.0"); err != nil || text != "the archive" {
		t.Errorf("%q, %v", text, err)
	}
	if had, err := c.Logout(context.Background(), Ref{Host: f.host()}); err != nil || !had {
		t.Errorf("%v, %v", had, err)
	}
	if had, err := c.Logout(context.Background(), Ref{Host: f.host()}); err != nil || had {
		t.Errorf("%v, %v", had, err)
	}
	again := f.client()
	again.Credentials = &Credentials{File: file}
	var unauthorized *UnauthorizedError
	if _, err := f.pullAs(again, "web:1.0.0"); !errors.As(err, &unauthorized) || unauthorized.User != "" {
		t.Error(err)
	}
	f.handle = func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "", http.StatusNotFound)
		return true
	}
	c = f.as("ann", "secret")
	c.Credentials = &Credentials{File: file}
	if err := c.Login(context.Background(), Ref{Host: f.host()}); err == nil || !strings.Contains(err.Error(), "there is no registry at that address") {
		t.Error(err)
	}
}

func encoded(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}
