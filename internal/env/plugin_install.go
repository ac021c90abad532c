// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/moonhelm/moonhelm/archive"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/plugin"
)

// Installer installs plugins into the first folder of HELM_PLUGINS. Archives are
// fetched with access, and verified with the public keys of keyring; verified is
// told who signed one.
func (e *Env) Installer(access fetch.Access, keyring string, verified func(signer string)) plugin.Installer {
	return plugin.Installer{
		Dir: e.pluginsDir(),
		Download: func(ctx context.Context, url string, limit int64, w io.Writer) error {
			return e.HTTP().Get(ctx, url, "", access, limit, w)
		},
		Pull: func(ctx context.Context, ref, version string, w io.Writer) (plugin.Pulled, error) {
			return e.pullPlugin(ctx, ref, version, access, w)
		},
		Verify: func(name string, archive io.Reader, provenance []byte) (string, error) {
			return e.Verifier(keyring).Verify(name, archive, provenance)
		},
		Hook:     func(ctx context.Context, name string, p *plugin.Plugin) error { return e.Plugins().Hook(ctx, name, p) },
		Verified: verified,
	}
}

func (e *Env) pluginsDir() string {
	for _, dir := range filepath.SplitList(e.Settings.Plugins) {
		if dir != "" {
			return dir
		}
	}
	return e.Settings.Plugins
}

// pullPlugin writes the archive of a plugin in an OCI registry to w.
func (e *Env) pullPlugin(context.Context, string, string, fetch.Access, io.Writer) (plugin.Pulled, error) {
	return plugin.Pulled{}, errors.New("plugins cannot be pulled from registries yet")
}

// PackPlugin writes a plugin as an archive to w. SOURCE_DATE_EPOCH sets the time
// that its entries carry.
func (e *Env) PackPlugin(p *plugin.Plugin, w io.Writer) error {
	at, err := archive.ModTime(e.Getenv)
	if err != nil {
		return err
	}
	return plugin.Pack(p, at, w)
}
