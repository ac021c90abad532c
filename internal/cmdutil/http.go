// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"sync"

	"github.com/moonhelm/moonhelm/fetch"
)

// wireFetch has the client and the cache made when first asked for.
func (f *Factory) wireFetch() {
	f.web = sync.OnceValue(func() *fetch.Client {
		return &fetch.Client{UserAgent: "moonhelm", Progress: f.Report()}
	})
	f.content = sync.OnceValue(func() *fetch.Cache {
		c := &fetch.Cache{Dir: f.Settings.ContentCache}
		f.closers = append(f.closers, c.Close)
		return c
	})
}

// HTTP is the client that everything that is fetched goes through. It is one, so
// that connections are used again.
func (f *Factory) HTTP() *fetch.Client { return f.web() }

// Cache is the content cache.
func (f *Factory) Cache() *fetch.Cache { return f.content() }
