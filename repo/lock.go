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

// lockWait configures waiting for the lock of repositories.yaml.
type lockWait struct {
	most  time.Duration // timeout
	pause time.Duration // between two attempts
	quiet time.Duration // before waiting is called
	// waiting, if not nil, is called once if the lock is not taken after quiet.
	waiting func(*LockedError)
}

// defaultWait waits as long as Helm does.
func defaultWait(waiting func(*LockedError)) lockWait {
	return lockWait{most: 30 * time.Second, pause: 10 * time.Millisecond, quiet: time.Second, waiting: waiting}
}

// Update loads the repositories.yaml at path, calls edit and saves it. A missing file is
// created. The file is locked meanwhile, also for Helm. If edit fails, nothing is saved. If
// another process holds the lock for 30 seconds, the error is a [*LockedError].
func Update(ctx context.Context, path string, edit func(*File) error) (err error) {
	return update(ctx, path, defaultWait(nil), edit)
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

// take locks the file at path, which it creates if it is missing.
func (w lockWait) take(ctx context.Context, path string) (*flock.Flock, error) {
	// Opening a file that is not regular, such as a pipe, could block.
	made, err := file.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, file.WithoutPath(err))
	}
	if err := made.Close(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, file.WithoutPath(err))
	}
	lock := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_RDONLY|os.O_CREATE|file.NonBlock))
	waiting, cancel := context.WithTimeoutCause(ctx, w.most, &LockedError{Path: path})
	defer cancel()
	timer := time.AfterFunc(w.quiet, func() {
		if w.waiting != nil {
			w.waiting(&LockedError{Path: path, Holder: holder(path)})
		}
	})
	defer timer.Stop()
	if _, err := lock.TryLockContext(waiting, w.pause); err != nil {
		if late := (*LockedError)(nil); errors.As(context.Cause(waiting), &late) {
			return nil, &LockedError{Path: path, Holder: holder(path), After: w.most}
		}
		if cause := context.Cause(waiting); cause != nil {
			return nil, cause
		}
		return nil, fmt.Errorf("lock %s: %w", path, file.WithoutPath(err))
	}
	return lock, nil
}

// lockPath returns the path of the lock file as in Helm: the extension is replaced.
func lockPath(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".lock" }

// A LockedError is returned if another process holds the lock of repositories.yaml.
type LockedError struct {
	Path   string        // of the lock file
	Holder string        // "process 4711 (helm)", or "" if it is unknown
	After  time.Duration // the timeout, or 0 while waiting
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
