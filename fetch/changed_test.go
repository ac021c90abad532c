// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestGetChanged(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name           string
		etag, modified string
		want           Validator
	}{
		{"an ETag", `"a"`, "", Validator{ETag: `"a"`}},
		{"a weak one", `W/"a"`, "", Validator{ETag: `W/"a"`}},
		{"a time long ago", "", now.Add(-time.Hour).Format(http.TimeFormat), Validator{Modified: now.Add(-time.Hour).Format(http.TimeFormat)}},
		{"the time of just now", "", now.Add(-time.Second).Format(http.TimeFormat), Validator{}},
		{"no time", "", "yesterday", Validator{}},
		{"nothing", "", "", Validator{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", now.Format(http.TimeFormat))
				for name, value := range map[string]string{"ETag": test.etag, "Last-Modified": test.modified} {
					if value != "" {
						w.Header().Set(name, value)
					}
				}
				if r.Header.Get("If-None-Match") != "" && r.Header.Get("If-None-Match") == test.etag ||
					r.Header.Get("If-Modified-Since") != "" && r.Header.Get("If-Modified-Since") == test.modified {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				_, _ = io.WriteString(w, "content")
			}))
			var c Client
			var first, second bytes.Buffer
			mark, err := c.GetChanged(t.Context(), server.URL, "", HostOptions{}, 100, Validator{}, &first)
			if err != nil || mark != test.want || first.String() != "content" {
				t.Errorf("%s: %q, %+v, %v", test.name, first.String(), mark, err)
			}
			_, err = c.GetChanged(t.Context(), server.URL, "", HostOptions{}, 100, mark, &second)
			switch {
			case test.want != Validator{} && (!errors.Is(err, ErrNotModified) || second.Len() > 0):
				t.Errorf("%s: the second time %q, %v", test.name, second.String(), err)
			case test.want == Validator{} && (err != nil || second.String() != "content"):
				t.Errorf("%s: the second time %q, %v", test.name, second.String(), err)
			}
			server.Close()
		})
	}
}

// A 304 is an error if the request was not conditional.
func TestGetUnexpectedNotModified(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) }))
	defer server.Close()
	var c Client
	var status *StatusError
	if _, err := c.GetChanged(t.Context(), server.URL, "", HostOptions{}, 100, Validator{}, io.Discard); !errors.As(err, &status) || status.Code != http.StatusNotModified {
		t.Error(err)
	}
}
