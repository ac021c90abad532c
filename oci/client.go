// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// Client speaks to registries in one way: with one transport, and as one user.
// The zero value is nobody, with the system's certificates. It is safe for
// concurrent use, and must not be copied.
type Client struct {
	// Transport makes requests; nil is http.DefaultTransport. Times are bounded
	// by the client.
	Transport http.RoundTripper
	// PlainHTTP speaks HTTP without TLS.
	PlainHTTP bool
	// Username and Password are used instead of stored credentials.
	Username, Password string
	// Credentials are those that are stored; nil for none.
	Credentials *Credentials
	UserAgent   string // "" is moonhelm
	// Progress, if any, is told how many bytes of an archive have been
	// transferred, out of how many.
	Progress func(name string, done, total int64)

	patience time.Duration // 0 is the usual; tests have less

	mu     sync.Mutex
	places map[string]*place
}

// place is what is remembered about one chart's place in a registry: tokens are
// given for one.
type place struct {
	ref  Ref // without tag and digest
	auth *auth.Client

	mu   sync.Mutex
	user string // who we were to it, "" for nobody
	// trouble is why stored credentials could not be read.
	trouble error
}

// call is one thing that is done with ref.
type call struct {
	*place
	ref  Ref // as errors name it
	repo *remote.Repository
}

// call prepares doing something with ref.
func (c *Client) call(ref Ref) *call {
	at := Ref{Host: ref.Host, Path: ref.Path}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.places[at.String()]
	if known == nil {
		known = &place{ref: at}
		known.auth = c.newAuth(known)
		if c.places == nil {
			c.places = map[string]*place{}
		}
		c.places[at.String()] = known
	}
	return &call{place: known, ref: ref, repo: &remote.Repository{
		Client:             known.auth,
		Reference:          registry.Reference{Registry: ref.Host, Repository: ref.Path},
		PlainHTTP:          c.PlainHTTP,
		ManifestMediaTypes: manifestTypes(),
		TagListMaxPages:    maxTagPages,
		MaxMetadataBytes:   maxManifest,
	}}
}

func (c *Client) newAuth(p *place) *auth.Client {
	transport := c.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	home := registry.Reference{Registry: p.ref.Host}.Host()
	policy := &retry.GenericPolicy{
		Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff,
		MinWait: 200 * time.Millisecond, MaxWait: 3 * time.Second, MaxRetry: 3,
	}
	agent := c.UserAgent
	if agent == "" {
		agent = "moonhelm"
	}
	repeating := retry.NewTransport(&guard{next: transport, host: home})
	repeating.Policy = func() retry.Policy { return policy }
	return &auth.Client{
		Client: &http.Client{Transport: repeating},
		Header: http.Header{"User-Agent": {agent}},
		Cache:  auth.NewCache(),
		Credential: func(ctx context.Context, host string) (auth.Credential, error) {
			if host != home {
				return auth.EmptyCredential, nil
			}
			return c.credential(ctx, p)
		},
	}
}

// credential is who we are to a place. What cannot be read of stored
// credentials makes us nobody, which may do; if not, the error tells.
func (c *Client) credential(ctx context.Context, p *place) (auth.Credential, error) {
	found, err := auth.EmptyCredential, error(nil)
	switch {
	case c.Username != "" || c.Password != "":
		found = secretOf(c.Username, c.Password)
	case c.Credentials != nil:
		found, err = c.Credentials.find(ctx, p.ref)
	}
	if ctx.Err() != nil {
		return found, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.user, p.trouble = nameOf(found), err
	return found, nil
}

// secretOf is a user's password, or without a user a token that stands for one.
func secretOf(user, password string) auth.Credential {
	if user == "" {
		return auth.Credential{RefreshToken: password}
	}
	return auth.Credential{Username: user, Password: password}
}

// nameOf is how a credential is told.
func nameOf(c auth.Credential) string {
	switch {
	case c.Username != "":
		return c.Username
	case c != auth.EmptyCredential:
		return "the stored token"
	}
	return ""
}

// guard keeps credentials from going where they do not belong, whatever the
// client above it does: to another host than the registry's only over TLS.
// (That client sends them to the token server that the registry names, which
// with Docker Hub is another host, and drops them where redirects lead away.)
type guard struct {
	next http.RoundTripper
	host string
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	secret := req.Header.Get("Authorization") != "" || req.Method == http.MethodPost && strings.HasPrefix(req.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
	if secret && req.URL.Scheme != "https" && req.URL.Hostname() != hostname(g.host) {
		return nil, &ForeignError{Host: g.host, Other: req.URL.Host}
	}
	return g.next.RoundTrip(req)
}

func hostname(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	return strings.Trim(host, "[]")
}

// ForeignError tells that a registry wanted its user's credentials sent
// unencrypted to another host. They were not.
type ForeignError struct{ Host, Other string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s wants the credentials for it sent to %s, unencrypted: they were not sent", e.Host, e.Other)
}

// chartRef refuses references that name no chart.
func chartRef(ref Ref) error {
	if ref.Path == "" {
		return &RefError{Ref: ref.String(), Problem: "it names a registry, and no chart in it"}
	}
	return nil
}
