// SPDX-License-Identifier: Apache-2.0

// Package kube is a connection to a cluster: requests to its API, what kinds it serves, and
// errors that say what to do.
//
//	client := kube.New(kube.Options{REST: func() (*rest.Config, error) { return config, nil }})
//	object, err := client.Lookup(ctx, "apps/v1", "Deployment", "shop", "web")
//
// Package kube/apply changes objects over it, kube/wait waits for them, and kube/status
// shows them. None of these is known here.
//
// Errors name the object that they are about, and its template. A [Client] is safe for
// concurrent use and makes no request before the first call that needs one.
//
// The client speaks the API's JSON directly, over client-go's transport: a typed client
// brings the types of the whole API, which costs start-up and is not needed to pass objects
// on. It knows no releases.
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

// FieldManager is the field manager of all writes, and how the client introduces itself.
const FieldManager = "helm"

// Parallel bounds how many requests are under way at once. The server's own
// flow control does the rest.
const Parallel = 32

// Options say which cluster a [Client] speaks to.
type Options struct {
	// REST tells where the cluster is; it is called once, when the first
	// request is made.
	REST func() (*rest.Config, error)
	// CacheDir is where discovery is kept between runs; "" keeps it in memory.
	CacheDir string
	// Progress learns of every object written, and of the server's warnings.
	Progress progress.Func
	// UserAgent is how the client introduces itself; "" is [FieldManager].
	UserAgent string
	// Allow is asked before each request that writes, and its error is the
	// answer: an operation that has lost its lock must not go on. nil allows all.
	Allow func(ctx context.Context) error
}

// Client is a connection to one cluster. It is safe for concurrent use.
type Client struct {
	*shared
	progress progress.Func
	dryRun   bool
	// hasty takes the first answer for the last: what is asked can be done
	// without.
	hasty bool
}

// shared is what a client and its dry-run twin have in common.
type shared struct {
	options   Options
	connect   func() (*connection, error)
	discovery discovery
	told      atomic.Int64 // when trouble was last told
}

type connection struct {
	base *url.URL
	http *http.Client
	// answered reports that the server was there once.
	answered atomic.Bool
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

// WithoutRetry returns a client on the same connection that does not wait for
// trouble to pass.
func (c *Client) WithoutRetry() *Client {
	d := *c
	d.hasty = true
	return &d
}

// WithProgress returns a client on the same connection that reports to fn.
func (c *Client) WithProgress(fn progress.Func) *Client {
	d := *c
	d.progress = fn
	return &d
}

// IsDryRun reports whether the server keeps nothing of what the client writes, as
// [Client.DryRun] has it.
func (c *Client) IsDryRun() bool { return c.dryRun }

// Progress is where the client reports; nil is nowhere.
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

// Call makes one request and returns the body of the answer. Path is absolute
// ("/api/v1/secrets") and not escaped. An answer that is not a success is an error
// of apimachinery's api/errors, wrapped where there is more to say:
// [*ForbiddenError], [*UnreachableError], [*RetryError].
//
// Trouble that may pass (a lost connection, a server that is busy or starting)
// is waited out for half a minute at most, wherever asking again is safe. A
// creation or deletion that was done although its answer was lost is a success;
// an update that names a resourceVersion may then be refused as a conflict with
// itself, which the caller has to look into.
func (c *Client) Call(ctx context.Context, method, path string, query url.Values, header http.Header,
	body []byte) ([]byte, error) {
	_, text, err := c.exchange(ctx, &request{method, path, query, header, body}, true)
	return text, err
}

// Stream is [Client.Call] for an answer that takes long, such as a watch or a log: the
// caller reads and closes its body.
func (c *Client) Stream(ctx context.Context, method, path string, query url.Values, header http.Header,
	body []byte) (*http.Response, error) {
	resp, _, err := c.exchange(ctx, &request{method, path, query, header, body}, false)
	return resp, err
}

// request makes the request of r, whose body goes through the fence; nil for none.
func (conn *connection) request(ctx context.Context, r *request, fence *fencedBody) (*http.Request, error) {
	u := *conn.base
	u.Path = joinPath(conn.base.Path, r.path)
	u.RawQuery = r.query.Encode()
	var reader io.Reader // an untyped nil where there is no body
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

// plainPath reports whether every part of a path is a name. A path that leads
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

// namesObject reports whether a path leads to one object, and not to all of a
// kind: /api/VERSION or /apis/GROUP/VERSION, the namespace where there is one,
// and at least the kind's plural and a name.
func namesObject(path string) bool {
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
