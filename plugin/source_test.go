// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseSource(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a-1.0.0.tgz")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]struct {
		Source
		base, shown string
	}{
		dir:                               {Source{Directory, dir}, filepath.Base(dir), dir},
		file:                              {Source{Archive, file}, "a-1.0.0.tgz", file},
		"https://example.com/x/helm-diff": {Source{Git, "https://example.com/x/helm-diff"}, "helm-diff", ""},
		"https://me:pw@example.com/x/helm-diff.git/": {Source{Git, "https://me:pw@example.com/x/helm-diff.git/"}, "helm-diff.git", "https://me:xxxxx@example.com/x/helm-diff.git/"},
		"https://example.com/a-1.0.0.tgz?token=1":    {Source{Download, "https://example.com/a-1.0.0.tgz?token=1"}, "a-1.0.0.tgz", ""},
		"http://example.com/a.tar.gz":                {Source{Download, "http://example.com/a.tar.gz"}, "a.tar.gz", ""},
		"oci://example.com/p/a:1.0.0":                {Source{Registry, "oci://example.com/p/a:1.0.0"}, "a:1.0.0", ""},
		"git@example.com:me/helm-diff.git":           {Source{Git, "git@example.com:me/helm-diff.git"}, "helm-diff.git", ""},
		"ssh://git@example.com/me/helm-diff":         {Source{Git, "ssh://git@example.com/me/helm-diff"}, "helm-diff", ""},
		"git://example.com/me/a":                     {Source{Git, "git://example.com/me/a"}, "a", ""},
		"file:///srv/a.git":                          {Source{Git, "file:///srv/a.git"}, "a.git", ""},
		"git+https://example.com/a":                  {Source{Git, "https://example.com/a"}, "a", ""},
		"git+file:///srv/a":                          {Source{Git, "file:///srv/a"}, "a", ""},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := ParseSource(text)
			if err != nil || got != want.Source || got.base() != want.base || want.shown != "" && got.String() != want.shown {
				t.Errorf("%s: %+v (%s, %s), %v", text, got, got.base(), got, err)
			}
		})
	}
}

// Locations that make git run a program are rejected, and errors contain no passwords.
func TestParseSourceErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "no such directory",
		"./nowhere":                "no such directory",
		"--upload-pack=touch x":    "no such directory",
		"ext::sh -c touch% x":      "no such directory",
		"ext::sh://x":              "plugins come from",
		"ext://sh -c x":            "malformed",
		"fd://3":                   "plugins come from",
		"s3://bucket/a":            "plugins come from",
		"ssh://-oProxyCommand=x/y": "no valid host",
		"ssh://-oProxyCommand@h/y": "no valid host",
		"-x@host:y":                "no such directory",
		"git@-oProxyCommand=x:y":   "no such directory",
		"git@host:--upload-pack=x": "no such directory",
		"https://":                 "no valid host",
		"https://me:hunter2@h:x/a": "malformed",
		"git+ext://me:hunter2@h/a": "plugins come from",
	} {
		t.Run(text, func(t *testing.T) {
			got, err := ParseSource(text)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %+v, %v; want %q", text, got, err, want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: tells the password: %v", text, err)
			}
		})
	}
}
