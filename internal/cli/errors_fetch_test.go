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
		err  error
		want string // or ""
	}{
		{&fetch.NameError{Name: "web"}, "helm search repo"},
		{&fetch.SchemeError{Scheme: "s3"}, "helm plugin install"},
		{&fetch.SchemeError{Scheme: "file"}, ""},
		{&fetch.ProvenanceError{Missing: true}, "have not signed it"},
		{listed(&fetch.StatusError{Code: 404}), "helm repo update"},
		{listed(&fetch.StatusError{Code: 401, Host: "a"}), "--username and --password log in to a"},
		{listed(&fetch.DigestError{}), "the archive was replaced"},
		{&fetch.DigestError{}, ""},
		{&fetch.VersionError{}, "in one place only"},
		{&fetch.NotArchiveError{Page: true}, "ends in .tgz"},
		{&fetch.NotArchiveError{}, ""},
		{&fetch.StatusError{Code: 403, Host: "a"}, "log in to a"},
		{&fetch.StatusError{Code: 401, Host: "a", Identified: true}, "a does not accept that user name and password"},
		{&fetch.StatusError{Code: 403, Host: "a", Identified: true}, "ask its owner"},
		{&fetch.StatusError{Code: 407, Host: "a", Identified: true}, "HTTPS_PROXY"},
		{&fetch.StatusError{Code: 404, URL: "http://a/web.tgz"}, "NAME --repo URL"},
		{&fetch.StatusError{Code: 404, URL: "http://a/values.yaml"}, ""},
		{&fetch.StatusError{Code: 503, Host: "a"}, "try again later"},
		{&fetch.NameError{Name: "./web-1.0.0.tgz"}, "to use a local chart"},
		{&repo.InvalidError{URL: "http://a/charts/index.yaml", Err: &fetch.StatusError{Code: 404}}, "does not include index.yaml: http://a/charts"},
		{&repo.InvalidError{URL: "http://a/charts/", Err: &fetch.StatusError{Code: 404}}, "http://a/charts/index.yaml must be"},
		{&repo.InvalidError{URL: "http://a/charts", Err: &fetch.StatusError{Code: 503, Host: "a"}}, "try again later"},
		{&repo.InvalidError{URL: "http://a/charts", Err: &fetch.StatusError{Code: 401, Host: "a"}}, "--username"},
		{&fetch.UntrustedError{Host: "a", Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a"}}, "not for a"},
		{&fetch.UntrustedError{Host: "a", Err: x509.CertificateInvalidError{Reason: x509.Expired}}, "clock"},
		{&fetch.UnreachableError{Host: "a"}, "check that a is correct"},
		{&fetch.UnreachableError{Host: "a", Err: &net.OpError{Op: "proxyconnect", Err: errors.New("x")}}, "check the proxy that HTTPS_PROXY"},
		{&registry.ConnectError{Host: "a", Err: &net.OpError{Op: "proxyconnect", Err: errors.New("x")}}, "check the proxy that HTTPS_PROXY"},
		{&fetch.UnreachableError{Host: "a", Plain: true}, "use an http:// URL to connect without TLS"},
		{&fetch.UnreachableError{Host: "a", Done: 5}, "try again"},
		{&fetch.StalledError{}, "try again"},
		{&fetch.UntrustedError{Err: errors.New("x")}, "--ca-file"},
	} {
		t.Run(fmt.Sprint(test.err), func(t *testing.T) {
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
