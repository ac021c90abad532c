// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/file"
)

// stagePrefix begins the names of the temporary directories in which Replace prepares new
// charts/ and library/ directories. They are in the chart's directory, because a rename
// works only within a file system.
const stagePrefix = ".tmp-dependencies-"

// oldPrefix begins the names of old directories that were moved to a temporary directory.
const oldPrefix = "old-"

// staleAfter is the age after which Recover removes a temporary directory.
const staleAfter = time.Hour

// replacement lists the changes to a chart's directory; see [Directory.Replace].
type replacement struct {
	put      []NewArchive
	drop     []Vendored
	lockName string
	lock     []byte

	onStep func(step string) // for tests: called before each change to the directory
}

// Replace adds the archives put to charts/ and library/, removes the archives drop with
// their provenance files, and writes the lock file, unless lock is nil. All other files
// in the two directories stay.
//
// Replace prepares a copy of each directory and swaps it with the old one, first charts/,
// then library/; it writes the lock last. If preparing fails or ctx is canceled, the chart
// is unchanged. On platforms without an atomic swap, a process that is killed during the
// swap leaves a directory missing; [Recover] restores it.
func (f *Directory) Replace(ctx context.Context, put []NewArchive, drop []Vendored, lock []byte) error {
	return f.replace(ctx, replacement{put: put, drop: drop, lockName: f.lockName, lock: lock})
}

func (f *Directory) replace(ctx context.Context, r replacement) (err error) {
	for _, n := range r.put {
		if err := chart.ValidateName(n.File); err != nil {
			return fmt.Errorf("write a dependency: its file's name %w", err)
		}
	}
	temp := filepath.Join(f.Path, stagePrefix+rand.Text())
	if err := os.Mkdir(temp, 0o755); err != nil {
		return fmt.Errorf("write the dependencies of %s: %w", f.Path, err)
	}
	defer func() {
		if clean := os.RemoveAll(temp); err == nil && clean != nil {
			err = fmt.Errorf("clean up: %w", clean)
		}
	}()
	s := stage{root: f.Path, temp: temp, replacement: r}
	var swaps []string
	for _, dir := range []string{chart.DirCharts, chart.DirLibrary} {
		changed, err := s.prepare(ctx, dir)
		if err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(f.Path, dir), err)
		}
		if changed {
			swaps = append(swaps, dir)
		}
	}
	if r.lock != nil {
		if err := s.prepareLock(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.commit(swaps)
}

type stage struct {
	replacement
	root, temp string
}

// prepare builds the new directory dir and reports whether it differs from the old one.
func (s stage) prepare(ctx context.Context, dir string) (changed bool, err error) {
	old, next := filepath.Join(s.root, dir), filepath.Join(s.temp, dir)
	info, err := os.Lstat(old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	exists := err == nil
	if exists && !info.IsDir() {
		return false, &EntryError{Entry: dir, Problem: "is not a directory; make it one, or move it " +
			"away, to have charts in it"}
	}
	removed := map[string]bool{}
	for _, d := range s.drop {
		if chartsDir(d.Library) == dir {
			removed[d.File], removed[d.File+".prov"], changed = true, true, true
		}
	}
	mode := fs.FileMode(0o755)
	if exists {
		mode = info.Mode().Perm() | 0o700
	}
	if err := os.Mkdir(next, mode); err != nil {
		return false, err
	}
	for _, n := range s.put {
		if chartsDir(n.Library) != dir {
			continue
		}
		differs, err := s.write(old, next, n)
		if err != nil {
			return false, err
		}
		changed = changed || differs
		removed[n.File] = true
		if differs {
			removed[n.File+".prov"] = true
		}
	}
	if !changed || !exists {
		return changed, nil
	}
	return true, linkOrCopy(ctx, old, next, func(name string) bool { return !removed[name] })
}

// write writes an archive to the directory next and reports whether the file in old is
// missing or different.
func (s stage) write(old, next string, n NewArchive) (differs bool, err error) {
	data, err := n.Read()
	if err != nil {
		return false, err
	}
	have, err := file.Read(filepath.Join(old, n.File), int64(len(data)))
	differs = err != nil || !bytes.Equal(have, data)
	return differs, os.WriteFile(filepath.Join(next, n.File), data, 0o644)
}

// newLock is the name of the new lock file in the temporary directory. It is written there
// first, so that a full disk is an error before the chart is changed.
const newLock = "lock"

func (s stage) prepareLock() error {
	if err := chart.ValidateName(s.lockName); err != nil {
		return fmt.Errorf("write the lock: its name %w", err)
	}
	if err := rejectSymlink(filepath.Join(s.root, s.lockName), s.lockName); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.temp, newLock), s.lock, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(s.root, s.lockName), err)
	}
	return nil
}

// commit moves the prepared directories and the lock file into the chart's directory.
func (s stage) commit(dirs []string) error {
	for _, dir := range dirs {
		s.step("swap " + dir)
		if err := s.swap(dir); err != nil {
			return fmt.Errorf("put the new %s in place: %w", filepath.Join(s.root, dir), err)
		}
	}
	if s.lock != nil {
		s.step("lock")
		if err := os.Rename(filepath.Join(s.temp, newLock), filepath.Join(s.root, s.lockName)); err != nil {
			return fmt.Errorf("put the new %s in place: %w", s.lockName, err)
		}
	}
	s.step("done")
	return nil
}

func (s stage) step(name string) {
	if s.onStep != nil {
		s.onStep(name)
	}
}

// swap replaces the old directory by the new one.
func (s stage) swap(dir string) error {
	old, next := filepath.Join(s.root, dir), filepath.Join(s.temp, dir)
	if _, err := os.Lstat(old); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(next, old)
	}
	if exchange(next, old) == nil {
		return nil
	}
	return s.swapInTwoSteps(old, next, filepath.Join(s.temp, oldPrefix+dir))
}

// swapInTwoSteps is swap for platforms that cannot swap directories atomically.
func (s stage) swapInTwoSteps(old, next, aside string) error {
	if err := os.Rename(old, aside); err != nil {
		return err
	}
	s.step("between")
	if err := os.Rename(next, old); err != nil {
		return errors.Join(err, os.Rename(aside, old))
	}
	return nil
}

// Recover restores a charts/ or library/ directory that is missing because a
// [Directory.Replace] was killed, and removes the temporary directories of such calls once
// they are an hour old.
func Recover(path string) error {
	left, err := filepath.Glob(filepath.Join(escapeGlob(path), stagePrefix+"*"))
	if err != nil {
		return err
	}
	for _, temp := range left {
		for _, dir := range []string{chart.DirCharts, chart.DirLibrary} {
			place, aside := filepath.Join(path, dir), filepath.Join(temp, oldPrefix+dir)
			if _, err := os.Lstat(place); !errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err := os.Rename(aside, place); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("put %s back in its place: %w", place, err)
			}
		}
		// A newer one may be in use by another process.
		if info, err := os.Lstat(temp); err == nil && time.Since(info.ModTime()) > staleAfter {
			if err := os.RemoveAll(temp); err != nil {
				return fmt.Errorf("clean up: %w", err)
			}
		}
	}
	return nil
}

// escapeGlob escapes the characters of path that have a meaning in patterns of Glob.
func escapeGlob(path string) string {
	return strings.NewReplacer(`[`, `[[]`, `*`, `[*]`, `?`, `[?]`).Replace(path)
}

// linkOrCopy adds the entries of the directory old for which want returns true to the
// directory next. It makes hard links if the file system has them, and copies otherwise.
func linkOrCopy(ctx context.Context, old, next string, want func(name string) bool) error {
	entries, err := os.ReadDir(old)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !want(e.Name()) {
			continue
		}
		if err := linkOrCopyEntry(ctx, e, filepath.Join(old, e.Name()), filepath.Join(next, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func linkOrCopyEntry(ctx context.Context, e fs.DirEntry, from, to string) error {
	switch mode := e.Type(); {
	case mode.IsDir():
		info, err := e.Info()
		if err != nil {
			return err
		}
		if err := os.Mkdir(to, info.Mode().Perm()|0o700); err != nil {
			return err
		}
		if err := linkOrCopy(ctx, from, to, func(string) bool { return true }); err != nil {
			return err
		}
		return os.Chtimes(to, time.Time{}, info.ModTime())
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case mode.IsRegular():
		if os.Link(from, to) == nil {
			return nil
		}
		return copyFile(from, to)
	}
	return &EntryError{Entry: e.Name(), Problem: "is neither a file nor a directory"}
}

func copyFile(from, to string) error {
	r, err := file.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return err
	}
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		return errors.Join(err, w.Close())
	}
	return errors.Join(w.Close(), os.Chtimes(to, time.Time{}, info.ModTime()))
}
