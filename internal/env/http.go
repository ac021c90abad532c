// SPDX-License-Identifier: Apache-2.0

package env

import (
	"sync"

	"github.com/moonhelm/moonhelm/fetch"
)

// wireFetch has the client and the cache made when first asked for.
func (e *Env) wireFetch() {
	e.web = sync.OnceValue(func() *fetch.Client {
		return &fetch.Client{UserAgent: "moonhelm", Progress: e.Report()}
	})
	e.content = sync.OnceValue(func() *fetch.Cache {
		c := &fetch.Cache{Dir: e.Settings.ContentCache}
		e.closers = append(e.closers, c.Close)
		return c
	})
}

// HTTP is the client that everything that is fetched goes through. It is one, so
// that connections are used again.
func (e *Env) HTTP() *fetch.Client { return e.web() }

// Cache is the content cache.
func (e *Env) Cache() *fetch.Cache { return e.content() }
