// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"github.com/moonhelm/moonhelm/release"
)

// A HistoryReader reads summaries of a release's revisions. [*storage.Storage] implements it.
type HistoryReader interface {
	History(ctx context.Context, name string, limit int) ([]release.Summary, error)
}

// History lists a release's revisions.
type History struct {
	Releases HistoryReader
}

// Run returns the newest limit revisions of the release, oldest first; all of them if limit is
// 0. Errors: [*ConfigError], [ErrNoName], [*storage.NotFoundError], and those of the driver.
func (h History) Run(ctx context.Context, name string, limit int) ([]release.Summary, error) {
	if err := requireReleases(h.Releases, "history"); err != nil {
		return nil, err
	}
	if err := CheckName(name); err != nil {
		return nil, err
	}
	return h.Releases.History(ctx, name, limit)
}
