// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/plugin"
	"github.com/moonhelm/moonhelm/registry"
)

// Installer installs plugins into the first directory of HELM_PLUGINS. Archives are
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

// pullPlugin writes the archive of a plugin in an OCI registry to w: of the tag or
// digest in ref, or else of the version that is wanted.
func (e *Env) pullPlugin(ctx context.Context, ref, version string, access fetch.Access, w io.Writer) (plugin.Pulled, error) {
	registries := e.Registry()
	at, client, err := registries.At(ctx, ref, access)
	if err != nil {
		return plugin.Pulled{}, err
	}
	if at.Tag == "" && at.Digest == "" {
		have, err := client.Tags(ctx, at)
		if err != nil {
			return plugin.Pulled{}, err
		}
		chosen, err := dependency.Version(have, version, false)
		if err != nil {
			return plugin.Pulled{}, fmt.Errorf("%s: %w", at, err)
		}
		at.Tag = registry.TagOf(chosen)
	} else if version != "" && at.Tag != "" && registry.VersionOf(at.Tag) != version {
		return plugin.Pulled{}, fmt.Errorf("%s has a version already, --version %s is another", at, version)
	}
	tell, end := registries.Transfer(at.Name())
	defer end()
	pulled, err := client.PullPlugin(ctx, at, w, tell)
	if err != nil {
		return plugin.Pulled{}, err
	}
	out := plugin.Pulled{Name: pulled.Name, Provenance: pulled.Provenance}
	v := registry.VersionOf(at.Tag)
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(v, "v")); err == nil {
		out.Version = v
	}
	return out, nil
}

// PackPlugin writes a plugin as an archive to w. SOURCE_DATE_EPOCH sets the time
// that its entries carry.
func (e *Env) PackPlugin(p *plugin.Plugin, w io.Writer) error {
	at, err := loader.ModTime(e.Getenv)
	if err != nil {
		return err
	}
	return plugin.Pack(p, at, w)
}
