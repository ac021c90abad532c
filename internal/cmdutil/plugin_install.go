// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"context"
	"io"
	"path/filepath"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/plugin"
)

// Installer returns an installer of plugins into the first directory of HELM_PLUGINS. It fetches
// archives with access, verifies them with the public keys of keyring, and passes the signer to
// verified.
func (f *Factory) Installer(access fetch.HostOptions, keyring string, verified func(signer string)) plugin.Installer {
	return plugin.Installer{
		Dir: f.pluginsDir(),
		Download: func(ctx context.Context, url string, limit int64, w io.Writer) error {
			return f.HTTP().Get(ctx, url, "", access, limit, w)
		},
		Pull: func(ctx context.Context, ref, version string, w io.Writer) (plugin.Pulled, error) {
			return f.Registry().PullPlugin(ctx, ref, version, access, w)
		},
		Verify: func(name string, archive io.Reader, provenance []byte) (string, error) {
			return f.Verifier(keyring).Verify(name, archive, provenance)
		},
		Hook:     func(ctx context.Context, name string, p *plugin.Plugin) error { return f.Plugins().Hook(ctx, name, p) },
		Verified: verified,
	}
}

func (f *Factory) pluginsDir() string {
	for _, dir := range filepath.SplitList(f.Settings.Plugins) {
		if dir != "" {
			return dir
		}
	}
	return f.Settings.Plugins
}
