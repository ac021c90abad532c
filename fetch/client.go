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

// Client downloads over HTTP and HTTPS, and keeps connections for further requests. The
// zero value is ready for use. It is safe for concurrent use, and must not be copied.
type Client struct {
	UserAgent string        // "" is "moonhelm"
	Progress  progress.Func // is told of each download; may be nil

	patience patience

	mu         sync.Mutex
	transports map[trust]*http.Transport
}

// patience is how long a client puts up with a server. Zero fields are the
// usual; tests have less.
type patience struct {
	idle  time.Duration // nothing arrives: no header, or no further byte
	grace time.Duration // before the average pace counts
	pace  int64         // bytes per second that must arrive on average
	pause time.Duration // before the first repetition, twice that before the next
}

func (p patience) orUsual() patience {
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

// Get writes the content at address, an http or https URL, to w: at most limit bytes,
// counted after a transfer compression is undone. home is the URL that a's credentials and
// client certificate were given for, "" for address itself: they are sent to the same
// scheme, host and port only, unless a.PassAll. So is a user:password@ in a URL. Redirects
// are followed, and drop them where they lead to another origin.
//
// It gives up on servers that stall, and repeats requests that failed for a temporary
// reason as long as w has received nothing; a download that breaks off is continued if the
// server confirms that the content is still the same. When Get fails, w may have received
// a part.
//
// Errors: [*URLError], [*StatusError], [*UntrustedError], [*UnreachableError],
// [*StalledError], [*SizeError], [*EncodingError], [*CertificateError],
// [*InterruptedError] where the context has ended, and those of w. None has a password
// in it.
func (c *Client) Get(ctx context.Context, address, home string, a HostOptions, limit int64, w io.Writer) error {
	return c.fetch(ctx, want{address: address, home: home, access: a, limit: limit, packed: isPacked(address)}, w)
}

// want is what to fetch, and how.
type want struct {
	address, home string
	access        HostOptions
	limit         int64
	// packed has the body taken as it is. Servers that call an archive's own
	// compression the transfer's would have it unpacked, and its digest change.
	packed bool
	text   string     // what progress calls it, "" for what the URL says
	have   Validator  // of the content that we have, see [Client.GetChanged]
	said   *Validator // takes that of the content that arrives; may be nil
}

// isPacked reports whether the content is compressed by itself, by its name.
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

func (c *Client) fetch(ctx context.Context, wanted want, w io.Writer) error {
	d, err := c.newDownload(wanted, w)
	if err != nil {
		return err
	}
	defer d.close()
	return d.run(ctx)
}

// Text returns the document at an http or https URL, of at most [MaxText] bytes, asked for
// without credentials except those in the URL. Errors are those of [Client.Get].
func (c *Client) Text(ctx context.Context, location string) ([]byte, error) {
	var b strings.Builder
	if err := c.Get(ctx, location, "", HostOptions{}, MaxText, &b); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

// Close closes idle connections. Requests in progress go on, and the Client may be used
// again. It returns nil.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
	return nil
}
