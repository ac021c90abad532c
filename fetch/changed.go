// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Validator identifies a version of content on its server (RFC 9110, 8.8): the values of the
// headers ETag and Last-Modified, or "" if the server sent none. Caches store it as JSON.
type Validator struct {
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
}

// ErrNotModified is returned if content has not changed since the caller fetched it.
var ErrNotModified = errors.New("the content has not changed")

// GetChanged is [Client.Get] for content that the caller may have, with the Validator of the
// earlier call. If the server reports that the content is unchanged, GetChanged writes nothing
// and returns [ErrNotModified]. With the zero Validator it always fetches the content. It
// returns the Validator of the fetched content.
func (c *Client) GetChanged(ctx context.Context, address, home string, a HostOptions, limit int64, have Validator,
	w io.Writer) (Validator, error) {
	var v Validator
	err := c.fetch(ctx, request{
		address: address, home: home, access: a, limit: limit, packed: isPacked(address), have: have, validator: &v,
	}, w)
	return v, err
}

// setConditions makes a request conditional on a change of the content.
func (d *download) setConditions(req *http.Request) {
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

// minAge is how old content must be for Last-Modified to identify it: content that changed
// again in the same second has the same Last-Modified (RFC 9110, 8.8.2.2).
const minAge = time.Minute

func validatorOf(h http.Header) Validator {
	m := Validator{ETag: h.Get("ETag")}
	changed, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return m
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil && sent.Sub(changed) >= minAge {
		m.Modified = h.Get("Last-Modified")
	}
	return m
}
