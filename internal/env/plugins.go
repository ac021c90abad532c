// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"io"

	"github.com/moonhelm/moonhelm/fetch"
)

// Plugins implements fetch.Downloader over the plugins that are installed.
type Plugins struct{}

// Plugins are those that are installed; they are looked for when first needed.
func (e *Env) Plugins() *Plugins { return &Plugins{} }

// Schemes implements fetch.Downloader.
func (p *Plugins) Schemes() []string { return nil }

// Get implements fetch.Downloader.
func (p *Plugins) Get(context.Context, string, fetch.Access, io.Writer) error {
	return errors.New("not there yet")
}
