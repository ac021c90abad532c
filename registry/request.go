// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// request is one request to a registry.
type request struct {
	method string
	// path is what follows /v2/NAME/ in the URL, "" for the registry's root; url,
	// where it is not nil, goes before it.
	path   string
	url    *url.URL
	header http.Header
	body   io.Reader // sent once, without a second try
	size   int64
	small  string // a body that can be sent again
	write  bool   // asks for the right to push
}

// How often and when what fails in passing is asked again.
const (
	maxTries     = 4
	firstPause   = 250 * time.Millisecond
	maxPause     = 5 * time.Second
	maxRedirects = 10
)

// do sends r, with credentials once the registry has asked for them, and again
// where it failed in passing. An answer that is an error is returned as one, and
// its body closed.
func (c *call) do(ctx context.Context, r request) (*http.Response, error) {
	pause := firstPause
	asked := false
	for try := 1; ; try++ {
		resp, sent, err := c.send(ctx, r)
		switch {
		case err == nil && resp.StatusCode < 300:
			return resp, nil
		case r.body != nil || ctx.Err() != nil:
			return nil, c.refused(resp, err)
		case err == nil && resp.StatusCode == http.StatusUnauthorized && !sameOrigin(resp.Request.URL, c.base()):
			// Whom the registry leads to may name a token server of its own: it would
			// be told the password (CVE-2021-32690).
			resp.Body.Close()
			return nil, &ContentError{Ref: c.ref.told(),
				Problem: fmt.Sprintf("the registry leads to %s, which wants to know who asks; no credentials were sent there",
					resp.Request.URL.Host)}
		case err == nil && resp.StatusCode == http.StatusUnauthorized && !asked:
			asked = true
			ok, err := c.authorize(ctx, resp.Header.Values("WWW-Authenticate"), sent, r.write)
			if err == nil && !ok {
				return nil, c.refused(resp, nil)
			}
			resp.Body.Close()
			if err != nil {
				return nil, err
			}
			continue
		case !passing(resp, err) || try == maxTries:
			return nil, c.refused(resp, err)
		}
		if resp != nil {
			if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
				pause = max(pause, time.Duration(min(s, 60))*time.Second)
			}
			resp.Body.Close()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(pause, maxPause)):
		}
		pause *= 2
	}
}

// passing reports whether trying again may help.
func passing(resp *http.Response, err error) bool {
	if err != nil {
		return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
	}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// send sends r once, and tells with which authorization.
func (c *call) send(ctx context.Context, r request) (resp *http.Response, authorization string, err error) {
	target := r.url
	if target == nil {
		target = c.base()
		if r.path != "" {
			target = target.JoinPath(c.ref.Path)
			rest, query, _ := strings.Cut(r.path, "?")
			target.Path += "/" + rest
			target.RawQuery = query
		}
	}
	body := r.body
	if r.small != "" {
		body, r.size = strings.NewReader(r.small), int64(len(r.small))
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target.String(), body)
	if err != nil {
		return nil, "", err
	}
	req.ContentLength = r.size
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", c.agent)
	if sameOrigin(target, c.base()) {
		if authorization = c.authorization(r.write); authorization != "" {
			req.Header.Set("Authorization", authorization)
		}
	}
	resp, err = c.http.Do(req)
	return resp, authorization, err
}

// base is the registry's root.
func (p *place) base() *url.URL {
	u := &url.URL{Scheme: "https", Host: p.ref.Host, Path: "/v2/"}
	if p.plain {
		u.Scheme = "http"
	}
	switch p.ref.Host {
	case "docker.io", "index.docker.io":
		u.Host = "registry-1.docker.io"
	}
	return u
}

// sameOrigin reports whether two URLs have scheme, host and port in common.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// checkRedirect has credentials stay where they belong (CVE-2021-32690): once a
// request has left scheme, host and port that it was for, it carries none, and
// what it holds is not sent along. Only content whose digest is checked may come
// without encryption where the request had it.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	if req.URL.Scheme != "https" &&
		(req.URL.Scheme != "http" || first.URL.Scheme == "https" && !strings.Contains(first.URL.Path, "/blobs/sha256:")) {
		return fmt.Errorf("%s leads away to %s://%s, which is not encrypted", first.URL.Host, req.URL.Scheme, req.URL.Host)
	}
	for _, r := range append(via[1:], req) {
		if sameOrigin(r.URL, first.URL) {
			continue
		}
		// The standard library makes each request's header from the first's: it
		// has to be removed every time.
		req.Header.Del("Authorization")
		if req.Body != nil && req.Body != http.NoBody {
			return fmt.Errorf("%s wants what is for it sent to %s", first.URL.Host, req.URL.Host)
		}
	}
	return nil
}
