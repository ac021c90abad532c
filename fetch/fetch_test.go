// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestIsURL(t *testing.T) {
	for location, want := range map[string]bool{
		"http://a/b": true, "https://a": true, "./http://a": false, "values.yaml": false, "-": false,
		"ftp://a": false, "file:///etc/passwd": false, "http:/a": false, `c:\values.yaml`: false, "": false,
	} {
		t.Run(location, func(t *testing.T) {
			if got := IsURL(location); got != want {
				t.Errorf("%q: %t", location, got)
			}
		})
	}
}

// server serves one page per path.
func server(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/values.yaml", func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		fmt.Fprintf(w, "agent: %s\nuser: %q\npassword: %q\n", r.UserAgent(), user, password)
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/values.yaml", http.StatusFound) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/hostname", http.StatusFound)
	})
	mux.HandleFunc("/full", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, MaxText)) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for chunk := bytes.Repeat([]byte("a: b\n"), 1<<15); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/torn", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("a"))
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "secret", http.StatusInternalServerError) })
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// document fetches a document with a new client.
func document(ctx context.Context, location string) ([]byte, error) {
	var c Client
	defer c.Close()
	return c.Text(ctx, location)
}

func TestText(t *testing.T) {
	s := server(t)
	for location, want := range map[string]string{
		s.URL + "/values.yaml": "agent: moonhelm\nuser: \"\"\npassword: \"\"\n",
		s.URL + "/moved":       "agent: moonhelm\nuser: \"\"\npassword: \"\"\n",
		strings.Replace(s.URL, "//", "//anna:pw@", 1) + "/values.yaml": "agent: moonhelm\nuser: \"anna\"\npassword: \"pw\"\n",
	} {
		t.Run(location, func(t *testing.T) {
			if got, err := document(t.Context(), location); err != nil || string(got) != want {
				t.Errorf("%s: got %q, %v", location, got, err)
			}
		})
	}
	if got, err := document(t.Context(), s.URL+"/full"); err != nil || len(got) != MaxText {
		t.Errorf("a document of the very size allowed: %d bytes, %v", len(got), err)
	}
}

func TestTextErrors(t *testing.T) {
	s := server(t)
	secret := strings.Replace(s.URL, "//", "//anna:hunter2@", 1)
	for location, want := range map[string]string{
		secret + "/nowhere":               "the server answered 404",
		secret + "/broken":                "the server answered 500",
		secret + "/loop":                  "10 redirects",
		secret + "/file":                  "unsupported protocol scheme",
		secret + "/endless":               "larger than 20 MiB",
		secret + "/torn":                  "unexpected EOF",
		"ftp://anna:hunter2@host/a":       "only http and https",
		"http://anna:hunter2@host:x/a":    "malformed",
		"http://anna:hunter2@127.0.0.1:1": "refused",
		"http://anna:hunter2%zz@host/":    "malformed",
	} {
		t.Run(location, func(t *testing.T) {
			got, err := document(t.Context(), location)
			if err == nil || got != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %d bytes, %v; wanted %q", location, len(got), err, want)
			}
			if err != nil && (strings.Contains(err.Error(), "hunter2") || !strings.HasPrefix(strings.TrimPrefix(err.Error(), "failed to "), "fetch")) {
				t.Errorf("%s: tells a secret, or not what was done: %v", location, err)
			}
		})
	}
}

func TestTextCanceled(t *testing.T) {
	s := server(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := document(ctx, s.URL+"/hang"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// CVE-2021-32690: the credentials of one host are not sent to another.
func TestCredentialsDoNotFollowARedirectToAnotherHost(t *testing.T) {
	var sent string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization") + r.Header.Get("Referer")
	}))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusFound)
	}))
	defer first.Close()
	if _, err := document(t.Context(), strings.Replace(first.URL, "//", "//anna:hunter2@", 1)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(sent, "Basic") || strings.Contains(sent, "hunter2") {
		t.Errorf("sent %q", sent)
	}
}
