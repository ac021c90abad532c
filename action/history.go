// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"github.com/moonhelm/moonhelm/release"
)

// HistoryReader reads what a history shows of each revision. [*storage.Storage] is
// one.
type HistoryReader interface {
	History(ctx context.Context, name string, limit int) ([]release.Summary, error)
}

// History tells a release's revisions.
type History struct {
	Releases HistoryReader
}

// Run returns the newest limit revisions of the release, oldest first.
func (h History) Run(ctx context.Context, name string, limit int) ([]release.Summary, error) {
	if err := requireReleases(h.Releases, "history"); err != nil {
		return nil, err
	}
	if err := CheckName(name); err != nil {
		return nil, err
	}
	return h.Releases.History(ctx, name, limit)
}
