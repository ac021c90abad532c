// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// ask sends the request and follows redirects.
func (d *download) ask(ctx context.Context, watch *watch) (*http.Response, error) {
	hop := d.target
	for range maxRedirects + 1 {
		resp, err := d.send(ctx, hop)
		if err != nil {
			return nil, d.requestError(ctx, hop, err)
		}
		watch.received(0)
		next, err := d.next(hop, resp)
		if err != nil || next == nil {
			if err != nil {
				resp.Body.Close()
			}
			return resp, err
		}
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
		resp.Body.Close()
		hop = next
	}
	return nil, &URLError{URL: d.name, Scheme: hop.Scheme,
		Problem: fmt.Sprintf("stopped after %d redirects", maxRedirects)}
}

// next returns the URL of a redirect, or nil if the response is not one.
func (d *download) next(hop *url.URL, resp *http.Response) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, nil
	}
	to, err := url.Parse(location)
	if err != nil {
		return nil, &URLError{URL: d.name, Problem: "the server redirects to a malformed URL"}
	}
	// The user of hop is not inherited: credentials are chosen for each hop.
	from := *hop
	from.User = nil
	to = from.ResolveReference(to)
	if to.Scheme != "http" && to.Scheme != "https" {
		return nil, &URLError{URL: d.name, Scheme: to.Scheme,
			Problem: fmt.Sprintf("the server redirects to a %s URL: unsupported protocol scheme, only http and "+
				"https are followed", to.Scheme)}
	}
	if to.Hostname() == "" {
		return nil, &URLError{URL: d.name, Problem: "the server redirects to a malformed URL"}
	}
	return to, nil
}

// send sends one request, with the credentials for its host.
func (d *download) send(ctx context.Context, hop *url.URL) (*http.Response, error) {
	bare := *hop
	bare.User = nil
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, bare.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "moonhelm")
	if d.client.UserAgent != "" {
		req.Header.Set("User-Agent", d.client.UserAgent)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	if d.packed {
		req.Header.Set("Accept-Encoding", "identity")
	}
	if d.done > 0 {
		req.Header.Set("Accept-Encoding", "identity")
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.done))
		req.Header.Set("If-Range", d.etag)
	}
	d.setConditions(req)
	access, user := d.identity(hop)
	if user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	t, err := d.client.Transport(req.Context(), access)
	if err != nil {
		return nil, err
	}
	return t.RoundTrip(req)
}

// identity returns the credentials and the client certificate for a host. They are empty
// if they were given for another origin (CVE-2021-32690).
func (d *download) identity(hop *url.URL) (HostOptions, *url.Userinfo) {
	access := d.access
	if access.PassAll || sameOrigin(d.home, hop) {
		if access.Username != "" || access.Password != "" {
			return access, url.UserPassword(access.Username, access.Password)
		}
	} else {
		access.CertFile, access.KeyFile = "", ""
	}
	switch {
	case hop.User != nil:
		return access, hop.User
	case d.target.User != nil && sameOrigin(d.target, hop):
		return access, d.target.User
	}
	return access, nil
}

// SameOrigin reports whether credentials that were given for the URL home may be sent to the
// URL other: scheme, host and port are the same, or the scheme changes from http to https at
// the default ports.
func SameOrigin(home, other string) bool {
	a, err := url.Parse(home)
	if err != nil {
		return false
	}
	b, err := url.Parse(other)
	return err == nil && sameOrigin(a, b)
}

func sameOrigin(home, other *url.URL) bool {
	if home.Hostname() == "" || !strings.EqualFold(home.Hostname(), other.Hostname()) {
		return false
	}
	from, to := port(home), port(other)
	if strings.EqualFold(home.Scheme, other.Scheme) {
		return from == to
	}
	return home.Scheme == "http" && other.Scheme == "https" && from == "80" && to == "443"
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// requestError returns the error for a request without a response.
func (d *download) requestError(ctx context.Context, hop *url.URL, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if _, ok := errors.AsType[*CertificateError](err); ok {
		return err
	}
	if isUntrusted(err) {
		return &UntrustedError{URL: d.name, Host: hop.Host, Err: err}
	}
	var record tls.RecordHeaderError
	plain := errors.As(err, &record)
	return markTemporary(err, &UnreachableError{URL: d.name, Host: hop.Host, Plain: plain, Err: err})
}

// isUntrusted reports whether err is an error of the server's certificate.
func isUntrusted(err error) bool {
	var (
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	return errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}

// callerError returns an error of an attempt as [Client.Get] documents it.
func (d *download) callerError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return &InterruptedError{URL: d.name, Err: ctx.Err()}
	}
	if again, ok := errors.AsType[*temporaryError](err); ok {
		err = again.err
	}
	return err
}
