// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/repo/index"
)

// Cache is a directory of fetched indexes, in Helm's layout.
type Cache struct{ Dir string }

// The suffixes of a repository's files in the cache: its index, the names of its charts, and
// the validator of its index.
const (
	indexSuffix = "-index.yaml"
	namesSuffix = "-charts.txt"
	markSuffix  = "-index.mark"
)

// path returns the path of a file of a repository. The name may be from a file that the user
// has edited; it must not refer to another directory.
func (c Cache) path(name, suffix string) (string, error) {
	if strings.ContainsAny(name, `/\`) || strings.ContainsRune(name, 0) {
		return "", CheckName(name)
	}
	if name == "" {
		suffix = strings.TrimPrefix(suffix, "-") // as in Helm
	}
	return filepath.Join(c.Dir, name+suffix), nil
}

// Index opens the cached index of a repository. Errors are a [*NameError] and an
// [*UncachedError].
func (c Cache) Index(name string) (*index.Index, error) {
	path, err := c.path(name, indexSuffix)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, &UncachedError{Name: name, Err: withoutPath(err)}
	}
	x, err := index.Open(path)
	if err != nil {
		return nil, &UncachedError{Name: name, Err: withoutFile(err)}
	}
	return x, nil
}

// Charts returns the names of a repository's charts, for completion, or nil if they are not
// cached.
func (c Cache) Charts(name string) []string {
	path, err := c.path(name, namesSuffix)
	if err != nil {
		return nil
	}
	f, err := file.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var names []string
	for s := bufio.NewScanner(f); s.Scan(); {
		// Helm writes the names unchecked.
		if line := strings.TrimSpace(s.Text()); line != "" && !strings.ContainsFunc(line, unicode.IsControl) {
			names = append(names, line)
		}
	}
	return names
}

// remove removes the files of a repository.
func (c Cache) remove(name string) error {
	var errs []error
	for _, suffix := range []string{indexSuffix, namesSuffix, markSuffix} {
		path, err := c.path(name, suffix)
		if err != nil {
			return nil // an invalid name has no files
		}
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// part creates a temporary file for an index. It removes the files of killed processes that
// are more than an hour old.
func (c Cache) part(name string) (*os.File, error) {
	path, err := c.path(name, indexSuffix)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	prefix := "." + filepath.Base(path) + "-"
	entries, _ := os.ReadDir(c.Dir) // on error, nothing is removed
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), ".part") &&
			time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(c.Dir, e.Name()))
		}
	}
	return os.CreateTemp(c.Dir, prefix+"*.part")
}

// keep moves a fetched index to the cache and writes the names of its charts.
func (c Cache) keep(name, part string, charts []string, mode fs.FileMode) error {
	to, err := c.path(name, indexSuffix)
	if err != nil {
		return err
	}
	names, err := c.path(name, namesSuffix)
	if err != nil {
		return err
	}
	if err := os.Chmod(part, mode); err != nil {
		return err
	}
	if err := os.Rename(part, to); err != nil {
		return err
	}
	return writeFile(names, mode, strings.NewReader(list(charts)))
}

// protect sets the mode of a repository's files, if possible. Helm and old versions of
// Moonhelm have made them world-readable.
func (c Cache) protect(name string, mode fs.FileMode) {
	for _, suffix := range []string{indexSuffix, namesSuffix, markSuffix} {
		if path, err := c.path(name, suffix); err == nil {
			_ = os.Chmod(path, mode) // the next update tries again
		}
	}
}

// list returns one line per name, without names that have control characters: they would
// break lines, or control the terminal.
func list(names []string) string {
	var b strings.Builder
	for _, name := range names {
		if !strings.ContainsFunc(name, unicode.IsControl) {
			b.WriteString(name + "\n")
		}
	}
	return b.String()
}
