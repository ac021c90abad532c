// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Client speaks to registries in one way: with one transport, and as one user.
// The zero value has no credentials and trusts the system's authorities. It is safe for
// concurrent use, and must not be copied.
type Client struct {
	// Transport makes requests; nil is http.DefaultTransport. The client gives up
	// where nothing moves for two minutes.
	Transport http.RoundTripper
	// Elsewhere makes requests to other hosts that a registry leads to, and bears no
	// client certificate; nil is Transport. It takes both.
	Elsewhere http.RoundTripper
	// PlainHTTP speaks HTTP without TLS.
	PlainHTTP bool
	// Username and Password are used instead of stored credentials. A password
	// alone is an identity token.
	Username, Password string
	// Credentials are those that are stored; nil for none.
	Credentials *Credentials
	UserAgent   string // "" is moonhelm

	patience time.Duration // 0 is the usual; tests have less

	mu     sync.Mutex
	places map[string]*place
}

// place is what is remembered about one chart's place in a registry: tokens are
// given for one.
type place struct {
	ref    Ref // without tag and digest
	plain  bool
	agent  string
	http   *http.Client
	given  secret
	stored *Credentials
	turn   chan struct{} // whose turn it is to fetch a token

	mu               sync.Mutex
	reading, writing string // what is sent as authorization
	user             string // who we were, "" for no one
	// trouble is why stored credentials could not be read.
	trouble error
}

// call is one thing that is done with ref.
type call struct {
	*place
	ref   Ref // as errors name it
	login bool
}

// call prepares doing something with ref.
func (c *Client) call(ref Ref) *call {
	at := Ref{Host: ref.Host, Path: ref.Path}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.places[at.String()]
	if known == nil {
		known = c.newPlace(at)
		if c.places == nil {
			c.places = map[string]*place{}
		}
		c.places[at.String()] = known
	}
	return &call{place: known, ref: ref}
}

func (c *Client) newPlace(at Ref) *place {
	p := &place{
		ref: at, plain: c.PlainHTTP, agent: c.UserAgent, stored: c.Credentials, turn: make(chan struct{}, 1),
	}
	p.http = &http.Client{Transport: c.Transport, CheckRedirect: checkRedirect}
	if c.Elsewhere != nil && c.Transport != nil {
		p.http.Transport = parted{home: p.base(), inside: c.Transport, outside: c.Elsewhere}
	}
	if c.Username != "" || c.Password != "" {
		p.given = secretOf(c.Username, c.Password)
	}
	if p.agent == "" {
		p.agent = "moonhelm"
	}
	return p
}

// parted has one transport for a place, and another for all others: a client
// certificate tells who we are (CVE-2021-32690).
type parted struct {
	home            *url.URL
	inside, outside http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (p parted) RoundTrip(req *http.Request) (*http.Response, error) {
	if sameOrigin(req.URL, p.home) {
		return p.inside.RoundTrip(req)
	}
	return p.outside.RoundTrip(req)
}

// chartRef refuses references that name no chart.
func chartRef(ref Ref) error {
	if ref.Path == "" {
		return &RefError{Ref: ref.told(), Problem: "it names a registry, and no chart in it"}
	}
	return nil
}
