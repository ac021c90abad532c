// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Validator identifies a state of content to its server (RFC 9110, 8.8): the values of the
// headers ETag and Last-Modified, "" where the server sent none. Caches keep it as JSON.
type Validator struct {
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
}

// ErrNotModified is returned where content has not changed since the caller got it.
var ErrNotModified = errors.New("the content has not changed")

// GetChanged is [Client.Get] for content that the caller may have already, with the Validator
// of an earlier call: it writes nothing and returns [ErrNotModified] if the server says that
// the content is still the same. With the zero Validator it always gets the content. It returns
// the Validator of the content that it wrote.
func (c *Client) GetChanged(ctx context.Context, address, home string, a HostOptions, limit int64, have Validator,
	w io.Writer) (Validator, error) {
	var said Validator
	err := c.fetch(ctx,
		want{address: address, home: home, access: a, limit: limit, packed: isPacked(address), have: have, said: &said}, w)
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

func validatorOf(h http.Header) Validator {
	m := Validator{ETag: h.Get("ETag")}
	changed, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return m
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil && sent.Sub(changed) >= settled {
		m.Modified = h.Get("Last-Modified")
	}
	return m
}
