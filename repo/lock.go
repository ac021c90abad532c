// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	patience = 30 * time.Second      // as long as Helm's
	pause    = 10 * time.Millisecond // between two looks at the lock
)

// Update changes the file of repositories at path, or makes it: it is read,
// edited and saved while nobody else does so, Helm included. Where edit fails,
// nothing is saved.
func Update(ctx context.Context, path string, edit func(*File) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make a folder for %s: %w", filepath.Base(path), err)
	}
	lock := flock.New(lockPath(path), flock.SetPermissions(0o600))
	if err := take(ctx, lock); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	f, err := Load(path)
	if err != nil {
		return err
	}
	if err := edit(f); err != nil {
		return err
	}
	return f.Save(path)
}

func take(ctx context.Context, lock *flock.Flock) error {
	waiting, cancel := context.WithTimeoutCause(ctx, patience, &LockedError{Path: lock.Path()})
	defer cancel()
	if _, err := lock.TryLockContext(waiting, pause); err != nil {
		if cause := context.Cause(waiting); cause != nil {
			return cause
		}
		return fmt.Errorf("lock %s: %w", lock.Path(), bare(err))
	}
	return nil
}

// lockPath is Helm's: the path with its extension replaced.
func lockPath(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".lock" }
