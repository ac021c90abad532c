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

// Cache is a directory of fetched indexes, in Helm's layout with an additional file for the
// validator of each index.
type Cache struct{ Dir string }

// The suffixes of a repository's files in the cache: its index, the names of its charts, and
// the validator of its index.
const (
	indexSuffix     = "-index.yaml"
	namesSuffix     = "-charts.txt"
	validatorSuffix = "-index.mark"
)

// path returns the path of a file of a repository. The name may be from a file that the user
// has edited; it must not refer to another directory.
func (c Cache) path(name, suffix string) (string, error) {
	if strings.ContainsAny(name, `/\`) || strings.ContainsRune(name, 0) {
		return "", CheckName(name)
	}
	if name == "" {
		suffix = strings.TrimPrefix(suffix, "-") // Helm calls the index of an unnamed repository index.yaml
	}
	return filepath.Join(c.Dir, name+suffix), nil
}

// Index opens the cached index of a repository. It returns a [*NameError] if the name is
// invalid, and an [*UncachedError] if there is no index.
func (c Cache) Index(name string) (*index.Index, error) {
	path, err := c.path(name, indexSuffix)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, &UncachedError{Name: name, Err: file.WithoutPath(err)}
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
	for _, suffix := range []string{indexSuffix, namesSuffix, validatorSuffix} {
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

// createTemp creates a temporary file for an index, and removes those that processes which
// were killed left more than an hour ago.
func (c Cache) createTemp(name string) (*os.File, error) {
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

// commit moves the fetched index in the file temp to the cache, with the given mode, and then
// writes the names of its charts.
func (c Cache) commit(name, temp string, charts []string, mode fs.FileMode) error {
	to, err := c.path(name, indexSuffix)
	if err != nil {
		return err
	}
	names, err := c.path(name, namesSuffix)
	if err != nil {
		return err
	}
	if err := os.Chmod(temp, mode); err != nil {
		return err
	}
	if err := os.Rename(temp, to); err != nil {
		return err
	}
	return writeFile(names, mode, []byte(chartLines(charts)))
}

// protect sets the mode of a repository's files, if possible. Helm and old versions of
// Moonhelm have made them world-readable.
func (c Cache) protect(name string, mode fs.FileMode) {
	for _, suffix := range []string{indexSuffix, namesSuffix, validatorSuffix} {
		if path, err := c.path(name, suffix); err == nil {
			_ = os.Chmod(path, mode) // the next update tries again
		}
	}
}

// chartLines returns one line per name, without names that have control characters: they would
// break lines, or control the terminal.
func chartLines(names []string) string {
	var b strings.Builder
	for _, name := range names {
		if !strings.ContainsFunc(name, unicode.IsControl) {
			b.WriteString(name + "\n")
		}
	}
	return b.String()
}
