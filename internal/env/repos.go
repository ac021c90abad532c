// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"

	"github.com/moonhelm/moonhelm/fetch"
)

// Repositories implements fetch.Repositories over the file of repositories and
// the cached indexes.
type Repositories struct{}

// Repositories are those that were added, and any other by its URL.
func (e *Env) Repositories() *Repositories { return &Repositories{} }

// Named implements fetch.Repositories.
func (r *Repositories) Named(string) (fetch.Repository, error) {
	return fetch.Repository{}, errors.New("not there yet")
}

// ByURL implements fetch.Repositories.
func (r *Repositories) ByURL(string) (fetch.Repository, bool) { return fetch.Repository{}, false }

// Find implements fetch.Repositories.
func (r *Repositories) Find(context.Context, fetch.Repository, string, string, bool) (fetch.Entry, error) {
	return fetch.Entry{}, errors.New("not there yet")
}
