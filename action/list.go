// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// A Lister lists releases. [*storage.Storage] implements it.
type Lister interface {
	List(ctx context.Context, f storage.Filter) ([]release.Summary, error)
}

// List lists releases.
type List struct {
	Releases Lister
}

// A ListRequest selects and sorts releases.
type ListRequest struct {
	storage.Filter
	// ByDate sorts by the time of the last deployment, oldest first, instead of by name.
	ByDate  bool
	Reverse bool
	// Offset skips that many releases; Limit is the maximum number of results, or 0 for
	// all.
	Offset, Limit int
}

// Run returns the releases that req selects. It returns a [*ConfigError] without Releases, and
// else the errors of the storage driver. A record that cannot be decoded is not an error: its
// summary has Damaged set.
func (l List) Run(ctx context.Context, req ListRequest) ([]release.Summary, error) {
	if err := requireReleases(l.Releases, "list"); err != nil {
		return nil, err
	}
	all, err := l.Releases.List(ctx, req.Filter)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b release.Summary) int {
		if req.Reverse {
			a, b = b, a
		}
		byDate := 0
		if req.ByDate {
			byDate = a.Updated.Compare(b.Updated)
		}
		return cmp.Or(byDate, strings.Compare(a.Name, b.Name), strings.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Revision, b.Revision))
	})
	if req.Offset >= len(all) {
		return nil, nil
	}
	all = all[max(req.Offset, 0):]
	if req.Limit > 0 && len(all) > req.Limit {
		all = all[:req.Limit]
	}
	return all, nil
}
