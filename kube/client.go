// SPDX-License-Identifier: Apache-2.0

// Package kube is a client of the Kubernetes API: it makes requests, retries them, discovers
// the kinds that the cluster serves, and returns typed errors with hints.
//
//	client := kube.New(kube.Options{REST: func() (*rest.Config, error) { return config, nil }})
//	object, err := client.Lookup(ctx, "apps/v1", "Deployment", "shop", "web")
//
// Package kube/apply changes objects with it, kube/wait waits for them, and kube/status
// shows them; this package imports none of them.
//
// Errors name the object and its template. A [Client] is safe for concurrent use and makes
// no request before the first call that needs one.
//
// The client sends and receives the API's JSON directly, over client-go's transport: a typed
// client links the types of the whole API, which slows start-up and is not needed to pass
// objects on. The package has no notion of a release's history.
package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/progress"
)

// FieldManager is the field manager of all writes, and the default user agent.
const FieldManager = "helm"

// Parallel is the maximum number of concurrent requests. The server's API priority and fairness
// limits them further.
const Parallel = 32

// Options configures a [Client].
type Options struct {
	// REST returns the configuration of the connection. It is called once, when the first
	// request is made; its error is that of each request. It is required.
	REST func() (*rest.Config, error)
	// CacheDir is the directory of the discovery cache; if empty, discovery is cached in memory
	// only.
	CacheDir string
	// Progress receives an event for every object written and every warning of the server. It
	// may be nil.
	Progress progress.Func
	// UserAgent is the User-Agent header; if empty, it is [FieldManager].
	UserAgent string
	// Allow is called before each request that writes; if it returns an error, the request is
	// not sent and fails with that error. An operation that has lost its lock must not write.
	// If nil, all requests are sent.
	Allow func(ctx context.Context) error
}

// Client is a connection to one cluster. It is safe for concurrent use.
type Client struct {
	*shared
	progress progress.Func
	dryRun   bool
	noRetry  bool
}

// shared is the state that a client shares with the copies that [Client.DryRun],
// [Client.WithoutRetry] and [Client.WithProgress] return.
type shared struct {
	options   Options
	connect   func() (*connection, error)
	discovery discovery
	// lastReport is when a retry was last reported, in Unix nanoseconds.
	lastReport atomic.Int64
}

type connection struct {
	base *url.URL
	http *http.Client
	// answered is set once the server has answered a request.
	answered atomic.Bool
}

// New returns a client. It makes no request and reads no file before the first call that needs
// the cluster.
func New(o Options) *Client {
	s := &shared{options: o}
	s.connect = sync.OnceValues(s.dial)
	return &Client{shared: s, progress: o.Progress}
}

// DryRun returns a client on the same connection whose writes are dry runs: the server
// validates and admits them but does not persist them. Callers do not wait for their effects.
func (c *Client) DryRun() *Client {
	d := *c
	d.dryRun = true
	return &d
}

// WithoutRetry returns a client on the same connection that makes each request only once.
func (c *Client) WithoutRetry() *Client {
	d := *c
	d.noRetry = true
	return &d
}

// WithProgress returns a client on the same connection that reports to fn.
func (c *Client) WithProgress(fn progress.Func) *Client {
	d := *c
	d.progress = fn
	return &d
}

// IsDryRun reports whether the client's writes are dry runs (see [Client.DryRun]).
func (c *Client) IsDryRun() bool { return c.dryRun }

// Progress returns the function that receives the client's events, or nil.
func (c *Client) Progress() progress.Func { return c.progress }

func (s *shared) dial() (*connection, error) {
	config, err := s.options.REST()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.UserAgent = s.options.UserAgent
	if config.UserAgent == "" {
		config.UserAgent = FieldManager
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

// Call makes one request and returns the body of the response. Path is absolute
// ("/api/v1/secrets") and not escaped. If the response is not a success, the error is one of
// apimachinery's api/errors, or one of [*ForbiddenError], [*UnauthorizedError],
// [*UnreachableError] and [*RetryError].
//
// Call retries after a transient failure (a lost connection, a server that is busy or starting)
// for at most 30 seconds, if a repetition is safe. If the response to a successful create or
// delete was lost, Call succeeds; an update with a resource version may then fail with a
// conflict caused by its own first attempt, which the caller has to resolve.
func (c *Client) Call(ctx context.Context, method, path string, query url.Values, header http.Header,
	body []byte) ([]byte, error) {
	_, text, err := c.exchange(ctx, &request{method, path, query, header, body}, true)
	return text, err
}

// Stream is like [Client.Call] for a response that takes long, such as a watch or a log. The
// caller reads and closes its body.
func (c *Client) Stream(ctx context.Context, method, path string, query url.Values, header http.Header,
	body []byte) (*http.Response, error) {
	resp, _, err := c.exchange(ctx, &request{method, path, query, header, body}, false)
	return resp, err
}

// newRequest returns the HTTP request for r. Its body is read through fence, unless fence is nil.
func (conn *connection) newRequest(ctx context.Context, r *request, fence *fencedBody) (*http.Request, error) {
	u := *conn.base
	u.Path = joinPath(conn.base.Path, r.path)
	u.RawQuery = r.query.Encode()
	var reader io.Reader // an untyped nil if there is no body
	if r.body != nil {
		reader = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), reader)
	if err != nil {
		return nil, err
	}
	if fence != nil && r.body != nil {
		req.Body = fence.reader(r.body)
		req.GetBody = func() (io.ReadCloser, error) { return fence.reader(r.body), nil }
	}
	if r.header != nil {
		req.Header = r.header.Clone() // the transport adds credentials to it
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

// isCleanPath reports whether path is absolute and has no empty, "." or ".." element. A name
// from untrusted input must not redirect a request, such as a delete, to another object.
func isCleanPath(path string) bool {
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

// isObjectPath reports whether path is the path of one object and not of a collection:
// /api/VERSION or /apis/GROUP/VERSION, the namespace if there is one, and at least the plural
// of the kind and a name.
func isObjectPath(path string) bool {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch parts[0] {
	case "api":
		parts = parts[1:]
	case "apis":
		parts = parts[min(2, len(parts)):]
	default:
		return false
	}
	if len(parts) > 3 && parts[1] == "namespaces" {
		parts = parts[2:]
	}
	return len(parts) >= 3
}

// reportWarnings sends the warnings in a response, such as one about a deprecated API version,
// to the client's progress function.
func (c *Client) reportWarnings(h http.Header) {
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
