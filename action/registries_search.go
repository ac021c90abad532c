// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/registry"
	"github.com/moonhelm/moonhelm/repo"
)

// Search finds versions of the chart at ref, oci://host/path/name. Registries list only
// versions. Search reads the metadata only if it finds a single version, because some
// registries count each read as a download.
func (r *Registries) Search(ctx context.Context, ref string, a fetch.HostOptions, q *repo.Query) ([]repo.Found, error) {
	parsed, client, err := r.At(ctx, ref, a)
	if err != nil {
		return nil, err
	}
	if parsed.Tag != "" || parsed.Digest != "" {
		return nil, fmt.Errorf("%s: --version looks for a version", ref)
	}
	tags, err := client.Tags(ctx, parsed)
	if err != nil {
		return nil, err
	}
	var found []repo.Found
	for _, v := range q.Choose(dependency.Versions(tags)) {
		found = append(found, repo.Found{Name: registry.Scheme + parsed.String(), Version: v})
	}
	if len(found) != 1 {
		return found, nil
	}
	parsed.Tag = registry.TagOf(found[0].Version)
	meta, err := client.Metadata(ctx, parsed)
	if err != nil {
		return nil, err
	}
	found[0].AppVersion, found[0].Description, found[0].Library = meta.AppVersion, meta.Description,
		meta.Type == chart.TypeLibrary
	return found, nil
}
