// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
)

// stagePrefix begins the names of temporary directories.
const stagePrefix = ".tmp-create-"

// Write writes a chart's files to the directory target and returns the paths of the files
// that it overwrote. It creates target if needed, but not its parent. If Write returns an
// error, target is unchanged. It does not follow symbolic links out of target.
func Write(target string, files []*chart.File) (overwritten []string, err error) {
	info, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, writeNew(target, files)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("file %s already exists and is not a directory", target)
	}
	return writeInto(target, files)
}

// writeNew writes the files to a temporary directory and renames it to target.
func writeNew(target string, files []*chart.File) error {
	target = filepath.Clean(target)
	stage := filepath.Join(filepath.Dir(target), stagePrefix+rand.Text())
	if err := os.Mkdir(stage, 0o755); err != nil {
		return err
	}
	err := writeAll(stage, files)
	if err == nil {
		err = os.Rename(stage, target)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(stage))
	}
	return nil
}

// writeAll writes the files of a chart to the empty directory dir.
func writeAll(dir string, files []*chart.File) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		if err := writeFile(root, filepath.FromSlash(f.Name), f.Data); err != nil {
			return err
		}
	}
	return root.MkdirAll(chart.DirCharts, 0o755)
}

func writeFile(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return root.WriteFile(name, data, 0o644)
}

// writeInto writes the files to a directory that exists. It writes all of them to a
// temporary directory in it and then renames each.
func writeInto(target string, files []*chart.File) (overwritten []string, err error) {
	root, err := os.OpenRoot(target)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	stage := stagePrefix + rand.Text()
	if err := root.Mkdir(stage, 0o755); err != nil {
		return nil, err
	}
	m := move{root: root, from: filepath.Join(stage, "new"), aside: filepath.Join(stage, "old")}
	defer func() {
		if err != nil {
			overwritten, err = nil, errors.Join(err, m.undo())
		}
		err = errors.Join(err, root.RemoveAll(stage))
	}()
	places := make([]string, len(files))
	for i, f := range files {
		if places[i], err = resolvePath(root, target, filepath.FromSlash(f.Name)); err != nil {
			return nil, err
		}
		if err := writeFile(root, filepath.Join(m.from, filepath.FromSlash(f.Name)), f.Data); err != nil {
			return nil, err
		}
	}
	for i, f := range files {
		replaced, err := m.file(filepath.FromSlash(f.Name), places[i])
		if err != nil {
			return nil, err
		}
		if replaced {
			overwritten = append(overwritten, filepath.Join(target, filepath.FromSlash(f.Name)))
		}
	}
	return overwritten, m.directory(chart.DirCharts)
}

// resolvePath returns the path to which a file is written: its name or, if that is a
// symbolic link, the link's target in target.
func resolvePath(root *os.Root, target, name string) (string, error) {
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return name, nil // nothing, or a link to nothing
	case err != nil:
		return "", err
	case info.IsDir():
		return "", &fs.PathError{Op: "write", Path: filepath.Join(target, name), Err: errors.New("is a directory")}
	}
	top, err := filepath.EvalSymlinks(target)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(target, name))
	if err != nil {
		return "", err
	}
	return filepath.Rel(top, resolved)
}

// move renames files from one directory of root to their paths. It moves files that it
// replaces to the directory aside and records how to undo each change.
type move struct {
	root        *os.Root
	from, aside string
	undos       []func() error
}

// undo undoes all changes, the last first.
func (m *move) undo() error {
	var errs []error
	for _, f := range slices.Backward(m.undos) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// file renames the file name to place and reports whether it replaced a file.
func (m *move) file(name, place string) (replaced bool, err error) {
	if err := m.directory(filepath.Dir(place)); err != nil {
		return false, err
	}
	from := filepath.Join(m.from, name)
	if info, err := m.root.Lstat(place); err == nil {
		if err := m.setAside(place, from, info); err != nil {
			return false, err
		}
		replaced = true
	}
	if err := m.root.Rename(from, place); err != nil {
		return false, err
	}
	m.undos = append(m.undos, func() error { return m.root.Remove(place) })
	return replaced, nil
}

// setAside moves the file at place aside. It gives the new file, from, the same permissions.
func (m *move) setAside(place, from string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		if err := m.root.Chmod(from, info.Mode().Perm()); err != nil {
			return err
		}
	}
	aside := filepath.Join(m.aside, place)
	if err := m.root.MkdirAll(filepath.Dir(aside), 0o755); err != nil {
		return err
	}
	if err := m.root.Rename(place, aside); err != nil {
		return err
	}
	m.undos = append(m.undos, func() error { return m.root.Rename(aside, place) })
	return nil
}

// directory creates a directory and its parents.
func (m *move) directory(name string) error {
	if info, err := m.root.Stat(name); err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: name, Err: errors.New("is not a directory")}
		}
		return nil
	}
	if err := m.directory(filepath.Dir(name)); err != nil {
		return err
	}
	if err := m.root.Mkdir(name, 0o755); err != nil {
		return err
	}
	m.undos = append(m.undos, func() error { return m.root.Remove(name) })
	return nil
}
