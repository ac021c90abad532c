// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"sync"

	"github.com/moonhelm/moonhelm/fetch"
)

// initFetch makes HTTP and Cache create their values at the first use.
func (f *Factory) initFetch() {
	f.web = sync.OnceValue(func() *fetch.Client {
		return &fetch.Client{UserAgent: "moonhelm", Progress: f.Report()}
	})
	f.content = sync.OnceValue(func() *fetch.Cache {
		c := &fetch.Cache{Dir: f.Settings.ContentCache}
		f.closers = append(f.closers, c.Close)
		return c
	})
}

// HTTP returns the client for all downloads. There is one, so that connections are reused.
func (f *Factory) HTTP() *fetch.Client { return f.web() }

// Cache returns the content cache.
func (f *Factory) Cache() *fetch.Cache { return f.content() }
