// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/registry"
	"github.com/moonhelm/moonhelm/repo"
)

func TestFetchHints(t *testing.T) {
	listed := func(err error) error { return &fetch.EntryError{Chart: "web", Version: "1.0.0", Err: err} }
	for _, test := range []struct {
		name string
		err  error
		want string // or ""
	}{
		{"name without repository", &fetch.NameError{Name: "web"}, "helm search repo"},
		{"scheme of a plugin", &fetch.SchemeError{Scheme: "s3"}, "helm plugin install"},
		{"file URL", &fetch.SchemeError{Scheme: "file"}, ""},
		{"no provenance file", &fetch.ProvenanceError{Missing: true}, "have not signed it"},
		{"404 for a listed chart", listed(&fetch.StatusError{Code: 404}), "helm repo update"},
		{"401 for a listed chart", listed(&fetch.StatusError{Code: 401, Host: "a"}), "--username and --password log in to a"},
		{"digest of a listed chart", listed(&fetch.DigestError{}), "the archive was replaced"},
		{"digest", &fetch.DigestError{}, ""},
		{"version in two places", &fetch.VersionError{}, "in one place only"},
		{"web page", &fetch.NotArchiveError{Page: true}, "ends in .tgz"},
		{"not an archive", &fetch.NotArchiveError{}, ""},
		{"403", &fetch.StatusError{Code: 403, Host: "a"}, "log in to a"},
		{"401 with credentials", &fetch.StatusError{Code: 401, Host: "a", Identified: true},
			"a does not accept that user name and password"},
		{"403 with credentials", &fetch.StatusError{Code: 403, Host: "a", Identified: true}, "ask its owner"},
		{"407 of a proxy", &fetch.StatusError{Code: 407, Host: "a", Identified: true}, "HTTPS_PROXY"},
		{"404 for a chart", &fetch.StatusError{Code: 404, URL: "http://a/web.tgz"}, "NAME --repo URL"},
		{"404 for a values file", &fetch.StatusError{Code: 404, URL: "http://a/values.yaml"}, ""},
		{"503", &fetch.StatusError{Code: 503, Host: "a"}, "try again later"},
		{"local path", &fetch.NameError{Name: "./web-1.0.0.tgz"}, "to use a local chart"},
		{"404 for index.yaml", &repo.InvalidError{URL: "http://a/charts/index.yaml", Err: &fetch.StatusError{Code: 404}},
			"does not include index.yaml: http://a/charts"},
		{"404 for a repository", &repo.InvalidError{URL: "http://a/charts/", Err: &fetch.StatusError{Code: 404}},
			"http://a/charts/index.yaml must be"},
		{"503 for a repository", &repo.InvalidError{URL: "http://a/charts", Err: &fetch.StatusError{Code: 503, Host: "a"}},
			"try again later"},
		{"401 for a repository", &repo.InvalidError{URL: "http://a/charts", Err: &fetch.StatusError{Code: 401, Host: "a"}},
			"--username"},
		{"certificate for another host",
			&fetch.UntrustedError{Host: "a", Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a"}}, "not for a"},
		{"expired certificate", &fetch.UntrustedError{Host: "a", Err: x509.CertificateInvalidError{Reason: x509.Expired}},
			"clock"},
		{"unreachable", &fetch.UnreachableError{Host: "a"}, "check that a is correct"},
		{"proxy unreachable", &fetch.UnreachableError{Host: "a", Err: &net.OpError{Op: "proxyconnect", Err: errors.New("x")}},
			"check the proxy that HTTPS_PROXY"},
		{"proxy of a registry unreachable",
			&registry.ConnectError{Host: "a", Err: &net.OpError{Op: "proxyconnect", Err: errors.New("x")}},
			"check the proxy that HTTPS_PROXY"},
		{"server without TLS", &fetch.UnreachableError{Host: "a", Plain: true}, "use an http:// URL to connect without TLS"},
		{"broken connection", &fetch.UnreachableError{Host: "a", Done: 5}, "try again"},
		{"stalled", &fetch.StalledError{}, "try again"},
		{"untrusted certificate", &fetch.UntrustedError{Err: errors.New("x")}, "--ca-file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := strings.Join(hints(fmt.Errorf("outer: %w", test.err)), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("%T %+v: %q, want %q", test.err, test.err, got, test.want)
			}
		})
	}
}

func TestInterruptedDownload(t *testing.T) {
	err := fmt.Errorf("load: %w", &fetch.InterruptedError{URL: "http://a/web.tgz", Err: context.Canceled})
	if got := explain(err, cmdutil.New(term.Streams{})); got != "Error: load: fetch http://a/web.tgz: interrupted\n" {
		t.Errorf("%q", got)
	}
}
