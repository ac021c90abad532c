// SPDX-License-Identifier: Apache-2.0

package env

import "github.com/moonhelm/moonhelm/fetch"

// HTTP is the client that everything that is fetched goes through.
func (e *Env) HTTP() *fetch.Client {
	return &fetch.Client{UserAgent: "moonhelm", Progress: e.Report()}
}

// Cache is the content cache.
func (e *Env) Cache() *fetch.Cache { return &fetch.Cache{Dir: e.Settings.ContentCache} }
