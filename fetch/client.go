// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/progress"
)

// Client downloads over HTTP and HTTPS and reuses connections. The zero value is ready to
// use. It is safe for concurrent use and must not be copied.
type Client struct {
	UserAgent string        // default "moonhelm"
	Progress  progress.Func // receives downloads; may be nil

	timeouts timeouts

	mu         sync.Mutex
	transports map[trust]*http.Transport
}

// timeouts limit how long a client waits for a server. Zero fields are the defaults; tests
// use shorter ones.
type timeouts struct {
	idle  time.Duration // without data: no header, or no further byte
	grace time.Duration // before the minimum rate applies
	pace  int64         // minimum average rate in bytes per second
	pause time.Duration // before the first retry; doubles for each further one
}

func (p timeouts) withDefaults() timeouts {
	if p.idle == 0 {
		p.idle = time.Minute
	}
	if p.grace == 0 {
		p.grace = 2 * time.Minute
	}
	if p.pace == 0 {
		p.pace = 4 << 10
	}
	if p.pause == 0 {
		p.pause = 500 * time.Millisecond
	}
	return p
}

// Get writes the content of address, an http or https URL, to w: at most limit bytes, counted
// after decompression of a transfer encoding. home is the URL that a's credentials and client
// certificate were given for, or "" for address: unless a.PassAll is set, they are sent only to
// the same scheme, host and port, like a user:password@ in a URL. Get follows redirects and
// does not send them to another origin.
//
// It aborts if the server stalls, and retries temporary failures until data was written to w;
// an interrupted download is resumed if the server confirms that the content is unchanged. If
// Get fails, part of the content may have been written to w.
//
// Errors: [*URLError], [*StatusError], [*UntrustedError], [*UnreachableError],
// [*StalledError], [*SizeError], [*EncodingError], [*CertificateError],
// [*InterruptedError] if ctx is done, and those of w. None contains a password.
func (c *Client) Get(ctx context.Context, address, home string, a HostOptions, limit int64, w io.Writer) error {
	return c.fetch(ctx, request{address: address, home: home, access: a, limit: limit, packed: isPacked(address)}, w)
}

// request describes what to fetch.
type request struct {
	address, home string
	access        HostOptions
	limit         int64
	// packed leaves the body compressed. Some servers declare an archive's own compression
	// as a transfer encoding; decompressing it would change the digest.
	packed    bool
	text      string     // the name in progress reports, "" for one from the URL
	have      Validator  // of the caller's content, see [Client.GetChanged]
	validator *Validator // receives the validator of the fetched content; may be nil
}

// isPacked reports whether the content is compressed, by the extension of its name.
func isPacked(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch path.Ext(u.Path) {
	case ".tgz", ".gz", ".zip", ".prov":
		return true
	}
	return false
}

func (c *Client) fetch(ctx context.Context, wanted request, w io.Writer) error {
	d, err := c.newDownload(wanted, w)
	if err != nil {
		return err
	}
	defer d.close()
	return d.run(ctx)
}

// Text returns the content of an http or https URL, of at most [MaxText] bytes. It sends no
// credentials except those in the URL. Errors are those of [Client.Get].
func (c *Client) Text(ctx context.Context, location string) ([]byte, error) {
	var b strings.Builder
	if err := c.Get(ctx, location, "", HostOptions{}, MaxText, &b); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

// Close closes idle connections. It does not affect requests in progress, and the Client can
// still be used. It returns nil.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
	return nil
}
