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

// stagePrefix begins the names of directories in which new charts/ and library/
// directories come to be. They are in the chart's directory, for only within one
// file system is a rename a single step.
const stagePrefix = ".tmp-dependencies-"

// oldPrefix begins the names, in such a directory, of what was renamed away.
const oldPrefix = "old-"

// staleAfter is the age at which a directory that was left behind is rubbish.
const staleAfter = time.Hour

// replacement says what is to become of a chart's directory.
type replacement struct {
	// write are archives to be there; one that is there already in these bytes is
	// left alone.
	put []NewArchive
	// drop are archives to be gone, their provenance files with them.
	drop []Vendored
	// lock is the text of the file lockName, nil where that stays as it is.
	lockName string
	lock     []byte

	at func(step string) // for tests: called before each step that shows
}

// Replace makes the directory's charts/ and library/ what is said: put are archives to be
// there, where one that is there already in these bytes is left alone, drop archives to be
// gone, their provenance files with them, and lock is the text of the lock file, nil where
// that stays as it is. Everything else
// in them stays: unpacked charts, links, files of any kind. Both directories change
// in one step each, from all that was to all that is new, and the lock last;
// before the first step nothing has changed, whatever goes wrong or ctx ends.
// On systems that cannot exchange two directories at once, [Recover] finishes what
// was killed in between.
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

// prepare builds the new directory dir, and reports whether it differs from the one
// that is there.
func (s stage) prepare(ctx context.Context, dir string) (changed bool, err error) {
	old, next := filepath.Join(s.root, dir), filepath.Join(s.temp, dir)
	info, err := os.Lstat(old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	there := err == nil
	if there && !info.IsDir() {
		return false, &EntryError{Entry: dir, Problem: "is not a directory; make it one, or move it " +
			"away, to have charts in it"}
	}
	gone := map[string]bool{}
	for _, d := range s.drop {
		if chartsDir(d.Library) == dir {
			gone[d.File], gone[d.File+".prov"], changed = true, true, true
		}
	}
	mode := fs.FileMode(0o755)
	if there {
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
		gone[n.File] = true
		if differs {
			gone[n.File+".prov"] = true
		}
	}
	if !changed || !there {
		return changed, nil
	}
	return true, keep(ctx, old, next, func(name string) bool { return !gone[name] })
}

// write writes an archive into the new directory, and reports whether the old one has
// another or none.
func (s stage) write(old, next string, n NewArchive) (differs bool, err error) {
	data, err := n.Read()
	if err != nil {
		return false, err
	}
	have, err := file.Read(filepath.Join(old, n.File), int64(len(data)))
	differs = err != nil || !bytes.Equal(have, data)
	return differs, os.WriteFile(filepath.Join(next, n.File), data, 0o644)
}

// newLock is the name of the new lock until it takes its place: a disk that is full
// is noticed before anything has changed.
const newLock = "lock"

func (s stage) prepareLock() error {
	if err := chart.ValidateName(s.lockName); err != nil {
		return fmt.Errorf("write the lock: its name %w", err)
	}
	if err := noLink(filepath.Join(s.root, s.lockName), s.lockName); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.temp, newLock), s.lock, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(s.root, s.lockName), err)
	}
	return nil
}

// commit takes the steps that show.
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
	if s.at != nil {
		s.at(name)
	}
}

// swap puts the new directory in the place of the old one.
func (s stage) swap(dir string) error {
	old, next := filepath.Join(s.root, dir), filepath.Join(s.temp, dir)
	if _, err := os.Lstat(old); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(next, old)
	}
	if exchange(next, old) == nil {
		return nil
	}
	return s.turn(old, next, filepath.Join(s.temp, oldPrefix+dir))
}

// turn is swap in two steps, for systems that have no single one.
func (s stage) turn(old, next, aside string) error {
	if err := os.Rename(old, aside); err != nil {
		return err
	}
	s.step("between")
	if err := os.Rename(next, old); err != nil {
		return errors.Join(err, os.Rename(aside, old))
	}
	return nil
}

// Recover puts back what a [Directory.Replace] has moved away that was killed
// between two steps, and removes what such have left.
func Recover(path string) error {
	left, err := filepath.Glob(filepath.Join(escape(path), stagePrefix+"*"))
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
		// One that is young may be in use by another process.
		if info, err := os.Lstat(temp); err == nil && time.Since(info.ModTime()) > staleAfter {
			if err := os.RemoveAll(temp); err != nil {
				return fmt.Errorf("clean up: %w", err)
			}
		}
	}
	return nil
}

// escape is path with nothing in it that Glob would take for a pattern.
func escape(path string) string {
	return strings.NewReplacer(`[`, `[[]`, `*`, `[*]`, `?`, `[?]`).Replace(path)
}

// keep makes the entries of old that want names be in next too. Files become
// links to the same content, where the file system has such.
func keep(ctx context.Context, old, next string, want func(name string) bool) error {
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
		if err := keepEntry(ctx, e, filepath.Join(old, e.Name()), filepath.Join(next, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func keepEntry(ctx context.Context, e fs.DirEntry, from, to string) error {
	switch mode := e.Type(); {
	case mode.IsDir():
		info, err := e.Info()
		if err != nil {
			return err
		}
		if err := os.Mkdir(to, info.Mode().Perm()|0o700); err != nil {
			return err
		}
		if err := keep(ctx, from, to, func(string) bool { return true }); err != nil {
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
