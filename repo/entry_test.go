// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"errors"
	"strings"
	"testing"
)

func TestEntryCheck(t *testing.T) {
	for _, test := range []struct {
		name, url string
		want      any
		words     string
	}{
		{"a", "https://charts.example.com", nil, ""},
		{"with space", "s3://bucket/path", nil, ""},
		{"grün", "http://x", nil, ""},
		{"", "http://x", new(*NameError), "is empty"},
		{"a/b", "http://x", new(*NameError), "repository name (a/b) contains '/', please specify a different name without '/'"},
		{"../a", "http://x", new(*NameError), "contains '/'"},
		{`a\b`, "http://x", new(*NameError), `contains '\'`},
		{"..", "http://x", new(*NameError), "is a directory in"},
		{".", "http://x", new(*NameError), "is a directory in"},
		{"a\x1b[2J", "http://x", new(*NameError), "control characters"},
		{"a", "foo", new(*URLError), "it is not a URL"},
		{"a", "http://anna:hunter2@ho st/", new(*URLError), "it is not a URL"},
		{"a", "OCI://host/charts", new(*RegistryError), "is an OCI registry"},
		{"a", "https://kubernetes-charts.storage.googleapis.com/", new(*ExpiredError), `try "https://charts.helm.sh/stable" instead`},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := Entry{Name: test.name, URL: test.url}.check()
			if test.want == nil {
				if err != nil {
					t.Errorf("%q %q: %v", test.name, test.url, err)
				}
				return
			}
			if err == nil || !errors.As(err, test.want) || !strings.Contains(err.Error(), test.words) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q %q: %v, wanted %q", test.name, test.url, err, test.words)
			}
		})
	}
}

func TestIndexURL(t *testing.T) {
	for address, want := range map[string]string{
		"http://host":             "http://host/index.yaml",
		"http://host/":            "http://host/index.yaml",
		"http://host/a/b":         "http://host/a/b/index.yaml",
		"http://host/a//b/#frag":  "http://host/a/b/index.yaml",
		"http://host/a?token=x":   "http://host/a/index.yaml?token=x",
		"http://me:pw@host/a%2fb": "http://me:pw@host/a%2fb/index.yaml",
		"s3://bucket/charts":      "s3://bucket/charts/index.yaml",
	} {
		t.Run(address, func(t *testing.T) {
			if got, err := (Entry{URL: address}).IndexURL(); err != nil || got != want {
				t.Errorf("%s: %s, %v", address, got, err)
			}
		})
	}
	for _, address := range []string{"", "host/charts", "http://me:hunter2@ho st"} {
		if got, err := (Entry{URL: address}).IndexURL(); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
}

func TestShownHidesPassword(t *testing.T) {
	for address, want := range map[string]string{
		"http://host/a":             "http://host/a",
		"http://me:hunter2@host/a":  "http://me:xxxxx@host/a",
		"http://me:hunter2@ho st/a": "(a malformed URL)",
		"a host":                    "a%20host",
	} {
		t.Run(address, func(t *testing.T) {
			if got := (Entry{URL: address}).RedactedURL(); got != want {
				t.Errorf("%s: %s", address, got)
			}
		})
	}
}
