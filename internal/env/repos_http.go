// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/repo"
)

// maxIndex is the largest index that is fetched, in bytes.
const maxIndex = 200 << 20

// indexGetter implements repo.Getter over HTTP and the plugins that download.
type indexGetter struct {
	http    *fetch.Client
	plugins func() *Plugins
}

// Get implements repo.Getter.
func (g *indexGetter) Get(ctx context.Context, e repo.Entry, address string, have repo.Mark, w io.Writer) (repo.Mark, error) {
	access := repository(e).Access
	scheme, _, _ := strings.Cut(address, "://")
	scheme = strings.ToLower(scheme)
	if scheme == "http" || scheme == "https" {
		said, err := g.http.GetChanged(ctx, address, e.URL, access, maxIndex, fetch.Mark(have), w)
		if errors.Is(err, fetch.ErrUnchanged) {
			err = repo.ErrUnchanged
		}
		return repo.Mark(said), err
	}
	plugins := g.plugins()
	if !slices.Contains(plugins.Schemes(), scheme) {
		return repo.Mark{}, &fetch.SchemeError{URL: fetch.Clean(address), Scheme: scheme, Known: append([]string{"http", "https"}, plugins.Schemes()...)}
	}
	return repo.Mark{}, plugins.Get(ctx, address, access, &bounded{w: w, left: maxIndex, url: fetch.Clean(address)})
}

// bounded is a writer that takes so many bytes.
type bounded struct {
	w    io.Writer
	left int64
	url  string
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, &fetch.SizeError{URL: b.url, Limit: maxIndex}
	}
	return b.w.Write(p)
}
