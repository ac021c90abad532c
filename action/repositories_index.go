// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/repo"
)

// maxIndex is the maximum size of an index in bytes.
const maxIndex = 200 << 20

// An IndexGetter fetches the indexes of repositories over HTTP, and with plugins for other
// schemes. It implements [repo.Getter].
type IndexGetter struct {
	// HTTP is the HTTP client; nil means a new client for each index.
	HTTP *fetch.Client
	// Plugins returns the downloader plugins, and is called when the first is needed; nil
	// means no plugins.
	Plugins func() fetch.Downloader
}

var _ repo.Getter = (*IndexGetter)(nil)

// Get implements repo.Getter.
func (g *IndexGetter) Get(ctx context.Context, e repo.Entry, address string, have fetch.Validator,
	w io.Writer) (fetch.Validator, error) {
	access := repository(e).Host
	scheme, _, _ := strings.Cut(address, "://")
	scheme = strings.ToLower(scheme)
	if scheme == "http" || scheme == "https" {
		client := g.HTTP
		if client == nil {
			client = &fetch.Client{}
			defer client.Close()
		}
		return client.GetChanged(ctx, address, e.URL, access, maxIndex, have, w)
	}
	known := []string{"http", "https"}
	var plugins fetch.Downloader
	if g.Plugins != nil {
		plugins = g.Plugins()
		known = append(known, plugins.Schemes()...)
	}
	if !slices.Contains(known[2:], scheme) {
		return fetch.Validator{}, &fetch.SchemeError{URL: fetch.RedactURL(address), Scheme: scheme, Known: known}
	}
	return fetch.Validator{}, plugins.Get(ctx, address, access,
		&file.LimitWriter{W: w, Left: maxIndex, Err: &fetch.SizeError{URL: fetch.RedactURL(address), Limit: maxIndex}})
}
