// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
)

// Prune deletes the oldest revisions of a release until no more than most are
// left, without reading any. Those that keep names stay and count; a nil keep
// names none. With most below 1 everything stays. A revision that somebody else
// deletes meanwhile is as good as deleted.
//
// Revisions go one by one, oldest first, so that a history that is cut short has
// no hole.
func (s *Store) Prune(ctx context.Context, name string, most int, keep func(Record) bool) error {
	if most < 1 {
		return nil
	}
	records, err := s.Revisions(ctx, name)
	if err != nil {
		return err
	}
	surplus := len(records) - most
	for _, r := range records {
		if surplus <= 0 {
			return nil
		}
		if keep != nil && keep(r) {
			continue
		}
		if err := s.driver.Delete(ctx, r.Key, r.Version); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		surplus--
	}
	return nil
}
