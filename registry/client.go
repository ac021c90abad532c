// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Client is a client of OCI registries with one set of credentials. The zero value has no
// credentials and trusts the system's certificate authorities. It is safe for concurrent
// use and must not be copied.
type Client struct {
	// Transport makes requests; nil is http.DefaultTransport. The client aborts a request
	// if no data is transferred for two minutes.
	Transport http.RoundTripper
	// Elsewhere makes requests to other hosts after redirects. It should have no client
	// certificate; nil is Transport. It is used only if Transport is set.
	Elsewhere http.RoundTripper
	// PlainHTTP uses HTTP without TLS.
	PlainHTTP bool
	// Username and Password are used instead of stored credentials. A password without a
	// user name is an identity token.
	Username, Password string
	// Credentials are the stored credentials, or nil.
	Credentials *Credentials
	UserAgent   string // default "moonhelm"

	timeout time.Duration // without data; 0 is the default; tests use a shorter one

	mu     sync.Mutex
	places map[string]*place
}

// place is the state of the client for a repository of a registry: tokens are valid for
// one repository.
type place struct {
	ref    Ref // without tag and digest
	plain  bool
	agent  string
	http   *http.Client
	given  secret
	stored *Credentials
	turn   chan struct{} // held while fetching a token

	mu               sync.Mutex
	reading, writing string // the Authorization headers
	user             string // the user of the credentials, "" if there are none
	// trouble is the error of reading stored credentials.
	trouble error
}

// call is an operation on ref.
type call struct {
	*place
	ref   Ref // for error messages
	login bool
}

// call returns a new operation on ref.
func (c *Client) call(ref Ref) *call {
	repository := Ref{Host: ref.Host, Path: ref.Path}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.places[repository.String()]
	if known == nil {
		known = c.newPlace(repository)
		if c.places == nil {
			c.places = map[string]*place{}
		}
		c.places[repository.String()] = known
	}
	return &call{place: known, ref: ref}
}

func (c *Client) newPlace(ref Ref) *place {
	p := &place{
		ref: ref, plain: c.PlainHTTP, agent: c.UserAgent, stored: c.Credentials, turn: make(chan struct{}, 1),
	}
	p.http = &http.Client{Transport: c.Transport, CheckRedirect: checkRedirect}
	if c.Elsewhere != nil && c.Transport != nil {
		p.http.Transport = splitTransport{home: p.base(), inside: c.Transport, outside: c.Elsewhere}
	}
	if c.Username != "" || c.Password != "" {
		p.given = secretOf(c.Username, c.Password)
	}
	if p.agent == "" {
		p.agent = "moonhelm"
	}
	return p
}

// splitTransport uses one transport for a registry and another for all other hosts, because
// a client certificate identifies the user (CVE-2021-32690).
type splitTransport struct {
	home            *url.URL
	inside, outside http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (p splitTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if sameOrigin(req.URL, p.home) {
		return p.inside.RoundTrip(req)
	}
	return p.outside.RoundTrip(req)
}

// chartRef returns an error if ref has no path.
func chartRef(ref Ref) error {
	if ref.Path == "" {
		return &RefError{Ref: ref.errorName(), Problem: "it is a registry: want a chart"}
	}
	return nil
}
