// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"

	"github.com/moonhelm/moonhelm/release"
)

// Prune deletes the oldest revisions of a release until at most most are left. It keeps those
// for which keep returns true (if keep is not nil), and those in a record format that this
// version does not support; both count. To recognize the latter, it reads records without a summary
// before it deletes them. If most is less than 1, it deletes nothing. A revision that another
// client deletes at the same time counts as deleted.
//
// It deletes revisions one by one, oldest first, so that there are no gaps if it is
// interrupted.
func (s *Storage) Prune(ctx context.Context, name string, most int, keep func(Record) bool) error {
	if most < 1 {
		return nil
	}
	if err := s.checkAllowed(ctx); err != nil {
		return err
	}
	records, err := s.Revisions(ctx, name)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
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
		if foreign, err := s.isForeign(ctx, r); err != nil {
			return err
		} else if foreign {
			continue
		}
		if err := s.driver.Delete(ctx, r.Key, r.Version); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		surplus--
	}
	return nil
}

// isForeign reports whether a client of another generation wrote a record. It is false for
// damaged records.
func (s *Storage) isForeign(ctx context.Context, listed Record) (bool, error) {
	err := listed.Unsupported()
	if err == nil && listed.Summary == nil { // a record with a summary was written by Moonhelm
		_, err = s.read(ctx, listed.Key, listed.Version)
	}
	var other *release.UnsupportedError
	var unreadable *UnreadableError
	var incomplete *PartError
	switch {
	case errors.As(err, &other):
		return true, nil
	case err == nil, errors.Is(err, ErrNotFound), errors.As(err, &unreadable), errors.As(err, &incomplete):
		return false, nil
	}
	return false, err
}
