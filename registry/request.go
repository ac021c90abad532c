// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/moonhelm/moonhelm/internal/linger"
)

// request is one request to a registry.
type request struct {
	method string
	// path follows /v2/NAME/ in the URL, or is "" for the registry's root. If url is not
	// nil, it is used instead.
	path   string
	url    *url.URL
	header http.Header
	body   io.Reader // sent once, without retries
	size   int64
	small  string // a body that can be sent again
	write  bool   // needs push permission
}

// The limits of retries and redirects.
const (
	maxTries     = 4
	firstPause   = 250 * time.Millisecond
	maxPause     = 15 * time.Second // longest Retry-After that is honored
	maxRedirects = 10
)

// do sends r, with credentials after the registry has requested them, and retries temporary
// failures. An error status is returned as an error, with the body closed.
func (c *call) do(ctx context.Context, r request) (*http.Response, error) {
	pause := firstPause
	authorized := false
	for try := 1; ; try++ {
		resp, sent, err := c.send(ctx, r)
		switch {
		case err == nil && resp.StatusCode < 300:
			return resp, nil
		case r.body != nil || ctx.Err() != nil:
			return nil, c.responseError(resp, err)
		case err == nil && resp.StatusCode == http.StatusUnauthorized && !sameOrigin(resp.Request.URL, c.base()):
			// The other host may name a token server of its own, which would get the
			// password (CVE-2021-32690).
			resp.Body.Close()
			return nil, &ContentError{Ref: c.ref.errorName(),
				Problem: fmt.Sprintf("the registry redirects to %s, which requires credentials; none were sent there",
					resp.Request.URL.Host)}
		case err == nil && resp.StatusCode == http.StatusUnauthorized && !authorized:
			authorized = true
			ok, err := c.authorize(ctx, resp.Header.Values("WWW-Authenticate"), sent, r.write)
			if err == nil && !ok {
				return nil, c.responseError(resp, nil)
			}
			resp.Body.Close()
			if err != nil {
				return nil, err
			}
			continue
		case !isTemporary(resp, err) || try == maxTries:
			return nil, c.responseError(resp, err)
		}
		after := time.Duration(0)
		if resp != nil {
			if after, _ = linger.RetryAfter(resp.Header.Get("Retry-After")); after > maxPause {
				return nil, c.responseError(resp, nil)
			}
			resp.Body.Close()
		}
		if linger.Sleep(ctx, max(pause, after)) != nil {
			return nil, ctx.Err()
		}
		pause *= 2
	}
}

// isTemporary reports whether a retry may succeed.
func isTemporary(resp *http.Response, err error) bool {
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

// send sends r once, and returns the Authorization header that it sent.
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

// base returns the URL of the registry's root.
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

// sameOrigin reports whether two URLs have the same scheme, host and port.
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

// checkRedirect protects credentials in redirects (CVE-2021-32690): after a request has left
// its origin, it has no credentials, and a redirect of a request with a body is an error. A
// redirect from https to http is allowed only for blobs, whose digest is verified.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	if req.URL.Scheme != "https" &&
		(req.URL.Scheme != "http" || first.URL.Scheme == "https" && !strings.Contains(first.URL.Path, "/blobs/sha256:")) {
		return fmt.Errorf("%s redirects to %s://%s, which is not encrypted", first.URL.Host, req.URL.Scheme, req.URL.Host)
	}
	for _, r := range append(via[1:], req) {
		if sameOrigin(r.URL, first.URL) {
			continue
		}
		// net/http copies the first request's header to each redirect, so it must be
		// removed each time.
		req.Header.Del("Authorization")
		if req.Body != nil && req.Body != http.NoBody {
			return fmt.Errorf("%s redirects the content of a request to %s", first.URL.Host, req.URL.Host)
		}
	}
	return nil
}
