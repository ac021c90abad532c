// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"

	"github.com/moonhelm/moonhelm/release"
)

// Prune deletes the oldest revisions of a release until no more than most are
// left. Those that keep names stay and count, and so do those that a client of another
// generation has written, for which one that another program has written is read
// before it is deleted; a nil keep names none. With most below 1 everything stays. A revision
// that another client deletes meanwhile counts as deleted.
//
// Revisions go one by one, oldest first, so that a history that is cut short has
// no hole.
func (s *Storage) Prune(ctx context.Context, name string, most int, keep func(Record) bool) error {
	if most < 1 {
		return nil
	}
	if err := s.allowed(ctx); err != nil {
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
		if foreign, err := s.foreign(ctx, r); err != nil {
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

// foreign reports whether a client of another generation has written a record. One
// that is damaged is not foreign.
func (s *Storage) foreign(ctx context.Context, listed Record) (bool, error) {
	err := listed.Unsupported()
	if err == nil && listed.Summary == nil { // else it was written by this program
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
