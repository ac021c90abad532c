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

	"github.com/moonhelm/moonhelm/internal/file"
)

// lockWait is how the lock of a file of repositories is waited for.
type lockWait struct {
	most  time.Duration // in all
	pause time.Duration // between two looks at the lock
	quiet time.Duration // before waiting is called
	// waiting, if any, is called once, when a while has passed.
	waiting func(*LockedError)
}

// usual waits as long as Helm does.
func usual(waiting func(*LockedError)) lockWait {
	return lockWait{most: 30 * time.Second, pause: 10 * time.Millisecond, quiet: time.Second, waiting: waiting}
}

// Update changes the file of repositories at path, or makes it: it is read,
// edited and saved while no other process does so, Helm included. Where edit fails,
// nothing is saved. The error is a [*LockedError] where another process keeps the lock
// for half a minute.
func Update(ctx context.Context, path string, edit func(*File) error) (err error) {
	return update(ctx, path, usual(nil), edit)
}

func update(ctx context.Context, path string, wait lockWait, edit func(*File) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make a directory for %s: %w", filepath.Base(path), err)
	}
	lock, err := wait.take(ctx, lockPath(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	f, err := load(path)
	if err != nil {
		return err
	}
	if err := edit(f); err != nil {
		return err
	}
	return f.Save(path)
}

// take locks the file at path, which is made where it is missing.
func (w lockWait) take(ctx context.Context, path string) (*flock.Flock, error) {
	// What is not a regular file would be waited for without end before it is locked.
	made, err := file.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, bare(err))
	}
	if err := made.Close(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, bare(err))
	}
	lock := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_RDONLY|os.O_CREATE|file.NonBlock))
	waiting, cancel := context.WithTimeoutCause(ctx, w.most, &LockedError{Path: path})
	defer cancel()
	told := time.AfterFunc(w.quiet, func() {
		if w.waiting != nil {
			w.waiting(&LockedError{Path: path, Holder: holder(path)})
		}
	})
	defer told.Stop()
	if _, err := lock.TryLockContext(waiting, w.pause); err != nil {
		if late := (*LockedError)(nil); errors.As(context.Cause(waiting), &late) {
			return nil, &LockedError{Path: path, Holder: holder(path), After: w.most}
		}
		if cause := context.Cause(waiting); cause != nil {
			return nil, cause
		}
		return nil, fmt.Errorf("lock %s: %w", path, bare(err))
	}
	return lock, nil
}

// lockPath is Helm's: the path with its extension replaced.
func lockPath(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".lock" }

// A LockedError is returned when another process keeps the file of repositories locked.
type LockedError struct {
	Path   string        // of the lock
	Holder string        // "process 4711 (helm)", "" where the system does not say
	After  time.Duration // how long it was waited for, 0 while it still is
}

func (e *LockedError) Error() string {
	by := e.Holder
	if by == "" {
		by = "another process"
	}
	if e.After == 0 {
		return fmt.Sprintf("waiting for the lock %s, held by %s", e.Path, by)
	}
	return fmt.Sprintf("timed out after %v waiting for the lock %s, held by %s: another helm is changing the repositories",
		e.After, e.Path, by)
}
