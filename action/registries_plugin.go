// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/plugin"
	"github.com/moonhelm/moonhelm/registry"
)

// PullPlugin writes the archive of a plugin in an OCI registry to w: of the tag or
// digest in ref, or else of the version that is wanted.
func (r *Registries) PullPlugin(ctx context.Context, ref, version string, access fetch.HostOptions,
	w io.Writer) (plugin.Pulled, error) {
	at, client, err := r.At(ctx, ref, access)
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
	tell, end := r.Transfer(at.Name())
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
