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

// Cache is the directory of the indexes that were fetched, in Helm's layout.
type Cache struct{ Dir string }

// The files of a repository in the cache: its index, the names of its charts,
// and what we remember of the last answer of its server.
const (
	indexSuffix = "-index.yaml"
	namesSuffix = "-charts.txt"
	markSuffix  = "-index.mark"
)

// path is a file of the repository of that name. Names come from a file that
// the user may have edited, and must not lead out of the directory.
func (c Cache) path(name, suffix string) (string, error) {
	if strings.ContainsAny(name, `/\`) || strings.ContainsRune(name, 0) {
		return "", CheckName(name)
	}
	if name == "" {
		suffix = strings.TrimPrefix(suffix, "-") // as Helm has it
	}
	return filepath.Join(c.Dir, name+suffix), nil
}

// Index opens the index of the repository of that name. Errors are a
// [*NameError] and an [*UncachedError].
func (c Cache) Index(name string) (*index.Index, error) {
	path, err := c.path(name, indexSuffix)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, &UncachedError{Name: name, Err: bare(err)}
	}
	x, err := index.Open(path)
	if err != nil {
		return nil, &UncachedError{Name: name, Err: unnamed(err)}
	}
	return x, nil
}

// Charts returns the names of the charts of a repository, for completion: nil where they
// are not cached.
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
		// Helm writes names as an index has them.
		if line := strings.TrimSpace(s.Text()); line != "" && !strings.ContainsFunc(line, unicode.IsControl) {
			names = append(names, line)
		}
	}
	return names
}

// remove removes what is there of a repository.
func (c Cache) remove(name string) error {
	var errs []error
	for _, suffix := range []string{indexSuffix, namesSuffix, markSuffix} {
		path, err := c.path(name, suffix)
		if err != nil {
			return nil // nothing of it can be there
		}
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// part opens a file to fetch an index into. It is gone after a failure; what
// a killed process left goes when it is an hour old.
func (c Cache) part(name string) (*os.File, error) {
	path, err := c.path(name, indexSuffix)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	prefix := "." + filepath.Base(path) + "-"
	entries, _ := os.ReadDir(c.Dir) // if it cannot be read, nothing can be tidied
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), ".part") &&
			time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(c.Dir, e.Name()))
		}
	}
	return os.CreateTemp(c.Dir, prefix+"*.part")
}

// keep puts a fetched index in its place, with the names of its charts.
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
	return place(names, mode, strings.NewReader(list(charts)))
}

// protect gives what is there of a repository a mode, as far as it can be: Helm, or an
// older helm, has let everyone read it.
func (c Cache) protect(name string, mode fs.FileMode) {
	for _, suffix := range []string{indexSuffix, namesSuffix, markSuffix} {
		if path, err := c.path(name, suffix); err == nil {
			_ = os.Chmod(path, mode) // the next update tries again
		}
	}
}

// list has a line for each name. A name with control characters is no one's
// wish, and would be two lines, or steer a terminal.
func list(names []string) string {
	var b strings.Builder
	for _, name := range names {
		if !strings.ContainsFunc(name, unicode.IsControl) {
			b.WriteString(name + "\n")
		}
	}
	return b.String()
}
