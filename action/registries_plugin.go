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

// PullPlugin writes the archive of the plugin at ref, in an OCI registry, to w. If ref has
// neither tag nor digest, the newest tag that matches version is pulled; "" matches every
// release. A version that differs from the tag of ref is an error. The version of the result
// is "" if the tag is not a semantic version.
func (r *Registries) PullPlugin(ctx context.Context, ref, version string, host fetch.HostOptions,
	w io.Writer) (plugin.Pulled, error) {
	parsed, client, err := r.At(ctx, ref, host)
	if err != nil {
		return plugin.Pulled{}, err
	}
	if parsed.Tag == "" && parsed.Digest == "" {
		tags, err := client.Tags(ctx, parsed)
		if err != nil {
			return plugin.Pulled{}, err
		}
		chosen, err := dependency.Version(tags, version, false)
		if err != nil {
			return plugin.Pulled{}, fmt.Errorf("%s: %w", parsed, err)
		}
		parsed.Tag = registry.TagOf(chosen)
	} else if version != "" && parsed.Tag != "" && registry.VersionOf(parsed.Tag) != version {
		return plugin.Pulled{}, fmt.Errorf("version %s differs from the tag of %s", version, parsed)
	}
	report, done := r.Transfer(parsed.Name())
	defer done()
	pulled, err := client.PullPlugin(ctx, parsed, w, report)
	if err != nil {
		return plugin.Pulled{}, err
	}
	out := plugin.Pulled{Name: pulled.Name, Provenance: pulled.Provenance}
	v := registry.VersionOf(parsed.Tag)
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(v, "v")); err == nil {
		out.Version = v
	}
	return out, nil
}
