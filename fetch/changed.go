// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Mark is what a server says of content by which it can tell later whether that
// is still the same: the headers ETag and Last-Modified.
type Mark struct{ ETag, Modified string }

// ErrUnchanged tells that a server has the very content that we have.
var ErrUnchanged = errors.New("the content has not changed")

// GetChanged is [Client.Get] for somebody who has had the content already: it
// writes nothing and returns [ErrUnchanged] if the server says that the content
// is still what have was said of. The zero Mark asks nothing. It returns what the
// server says of the content that it wrote.
func (c *Client) GetChanged(ctx context.Context, address, home string, a Access, limit int64, have Mark, w io.Writer) (Mark, error) {
	var said Mark
	err := c.fetch(ctx, want{address: address, home: home, access: a, limit: limit, packed: isPacked(address), have: have, said: &said}, w)
	return said, err
}

// askWhetherChanged adds what we know of the content that we have to a request.
func (d *download) askWhetherChanged(req *http.Request) {
	if d.done > 0 {
		return
	}
	if d.have.ETag != "" {
		req.Header.Set("If-None-Match", d.have.ETag)
	}
	if d.have.Modified != "" {
		req.Header.Set("If-Modified-Since", d.have.Modified)
	}
}

// settled is how old content must be for the time of its last change to tell it
// from later content, which may have been made in the same second (RFC 9110,
// 8.8.2.2).
const settled = time.Minute

func markOf(h http.Header) Mark {
	m := Mark{ETag: h.Get("ETag")}
	changed, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return m
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil && sent.Sub(changed) >= settled {
		m.Modified = h.Get("Last-Modified")
	}
	return m
}
