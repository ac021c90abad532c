// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"

	"github.com/Masterminds/semver/v3"
	"oras.land/oras-go/v2/errdef"
)

const (
	maxTags     = 200_000
	maxTagPages = 2_000
)

// Tags are the versions of the chart at ref, with + for _, in the registry's
// order. As in Helm, tags that are no full semantic version ("latest", "v1.2.3",
// "1.2") are none.
func (c *Client) Tags(ctx context.Context, ref Ref) ([]string, error) {
	if err := chartRef(ref); err != nil {
		return nil, err
	}
	ctx, alive, stop := attentive(ctx, c.waiting())
	defer stop()
	call := c.call(ref)
	tooMany := &SizeError{Ref: ref.String(), What: "it has", Limit: maxTags, Unit: "tags"}
	var versions []string
	seen := 0
	err := call.repo.Tags(ctx, "", func(page []string) error {
		alive()
		if seen += len(page); seen > maxTags {
			return tooMany
		}
		for _, tag := range page {
			version := VersionOf(tag)
			if _, err := semver.StrictNewVersion(version); err == nil {
				versions = append(versions, version)
			}
		}
		return nil
	})
	if errors.Is(err, errdef.ErrTooManyPages) {
		err = tooMany
	}
	return versions, call.explain(ctx, err)
}
