// SPDX-License-Identifier: Apache-2.0

// Package kube is the cluster: what it serves, what it holds, and how objects
// get into it and out again.
//
// In come objects of package manifest and the release that they belong to; out
// go progress and errors that name the object. The client speaks the API's JSON
// directly, over client-go's transport: a typed client brings the types of the
// whole API, which costs start-up and is not needed to pass objects on. It
// decides nothing about releases and keeps no records.
package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/progress"
)

// manager is the field manager of all our writes.
const manager = "helm"

// parallel bounds how many requests are under way at once. The server's own
// flow control does the rest.
const parallel = 32

// Options say which cluster a [Client] speaks to.
type Options struct {
	// REST tells where the cluster is; it is called once, when the first
	// request is made.
	REST func() (*rest.Config, error)
	// CacheDir is where discovery is kept between runs; "" keeps it in memory.
	CacheDir string
	// Progress learns of every object written, and of the server's warnings.
	Progress progress.Func
	// UserAgent is how the client introduces itself; "" is the manager's name.
	UserAgent string
}

// Client is a connection to one cluster. It is safe for concurrent use.
type Client struct {
	*shared
	progress progress.Func
	dryRun   bool
	lenient  bool
}

// shared is what a client and its dry-run twin have in common.
type shared struct {
	options   Options
	connect   func() (*connection, error)
	discovery discovery
}

type connection struct {
	base *url.URL
	http *http.Client
}

// New returns a client. It makes no request and reads no file before the first
// call that needs the cluster.
func New(o Options) *Client {
	s := &shared{options: o}
	s.connect = sync.OnceValues(s.dial)
	return &Client{shared: s, progress: o.Progress}
}

// DryRun returns a client on the same connection whose writes the server
// checks and admits but does not keep. It waits for nothing, because nothing
// will come.
func (c *Client) DryRun() *Client {
	d := *c
	d.dryRun = true
	return &d
}

// Lenient returns a client on the same connection for which fields that the
// server does not know are warnings, reported as progress, and no errors.
func (c *Client) Lenient() *Client {
	d := *c
	d.lenient = true
	return &d
}

// WithProgress returns a client on the same connection that reports to fn.
func (c *Client) WithProgress(fn progress.Func) *Client {
	d := *c
	d.progress = fn
	return &d
}

func (s *shared) dial() (*connection, error) {
	config, err := s.options.REST()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.UserAgent = s.options.UserAgent
	if config.UserAgent == "" {
		config.UserAgent = manager
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the address of the cluster: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to %s: %w", base.Redacted(), err)
	}
	return &connection{base: base, http: client}, nil
}

// Call makes one request and returns the body of the answer. Path is absolute
// ("/api/v1/secrets") and not escaped. An answer that is no success is an error
// of apimachinery's api/errors, wrapped where there is more to say:
// [*ForbiddenError], [*UnreachableError]. A server that asks to come back later
// is asked again while ctx allows.
func (c *Client) Call(ctx context.Context, method, path string, query url.Values, header http.Header, body []byte) ([]byte, error) {
	resp, err := c.send(ctx, method, path, query, header, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var out bytes.Buffer
	if resp.ContentLength > 0 && resp.ContentLength < 64<<20 {
		out.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	if _, err := out.ReadFrom(resp.Body); err != nil {
		return nil, c.networkError(ctx, err)
	}
	return out.Bytes(), nil
}

// maxRetries bounds how often a server that is busy is asked again.
const maxRetries = 10

// send returns a successful response, whose body the caller closes.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, header http.Header, body []byte) (*http.Response, error) {
	if !plainPath(path) {
		return nil, fmt.Errorf("refuse to %s %q: a name in it is empty, or leads to another place", strings.ToLower(method), path)
	}
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		req, err := conn.request(ctx, method, path, query, header, body)
		if err != nil {
			return nil, err
		}
		resp, err := conn.http.Do(req)
		if err != nil {
			lost := utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
			if lost && method == http.MethodGet && tries < maxRetries && pause(ctx, 100*time.Millisecond) == nil {
				continue
			}
			return nil, c.networkError(ctx, err)
		}
		c.warnings(resp.Header)
		if resp.StatusCode < 300 || resp.StatusCode == http.StatusNotModified {
			return resp, nil
		}
		err = statusError(method, path, resp)
		if wait, ok := retryAfter(resp); ok && tries < maxRetries {
			if pause(ctx, wait) == nil {
				continue
			}
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
}

func (conn *connection) request(ctx context.Context, method, path string, query url.Values, header http.Header, body []byte) (*http.Request, error) {
	u := *conn.base
	u.Path = joinPath(conn.base.Path, path)
	u.RawQuery = query.Encode()
	var reader io.Reader // an untyped nil where there is no body
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), reader)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header.Clone() // the transport adds credentials to it
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	return req, nil
}

func joinPath(base, path string) string {
	for base != "" && base[len(base)-1] == '/' {
		base = base[:len(base)-1]
	}
	return base + path
}

// plainPath tells whether every part of a path is a name. A path that leads
// elsewhere is a bug or an attack, and deleting is among what it could do.
func plainPath(path string) bool {
	rest, ok := strings.CutPrefix(path, "/")
	for ok {
		var part string
		part, rest, ok = strings.Cut(rest, "/")
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return strings.HasPrefix(path, "/")
}

// retryAfter tells whether the server asks to come back, and when.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < 500 {
		return 0, false
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0, false
	}
	return min(time.Duration(seconds)*time.Second, 30*time.Second), true
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// warnings passes on what the server remarks, such as a deprecated version.
func (c *Client) warnings(h http.Header) {
	lines := h.Values("Warning")
	if len(lines) == 0 {
		return
	}
	parsed, _ := utilnet.ParseWarningHeaders(lines)
	for _, w := range parsed {
		if w.Code == 299 && w.Text != "" {
			c.progress.Send(progress.Event{Kind: progress.Warning, Text: w.Text})
		}
	}
}
