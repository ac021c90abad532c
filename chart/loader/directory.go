// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/file"
)

// readDirectory reads the files of a chart's directory. Their order is that of
// [filepath.WalkDir].
func readDirectory(dir string, limits Limits) ([]*chart.File, []string, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err == nil {
		resolved, err = filepath.Abs(resolved)
	}
	if err != nil {
		return nil, nil, err
	}
	w := &walk{root: resolved, limits: limits}
	if w.ignore, err = readIgnore(resolved); err != nil {
		return nil, nil, err
	}
	if err := w.dir(resolved, "", []string{resolved}); err != nil {
		return nil, w.warnings, err
	}
	files, err := w.read()
	return files, w.warnings, err
}

func readIgnore(root string) (IgnoreRules, error) {
	name := filepath.Join(root, chart.FileIgnore)
	resolved, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		return ParseIgnore(nil)
	}
	if err != nil {
		return IgnoreRules{}, err
	}
	if !within(root, resolved) {
		return IgnoreRules{}, outsideError(chart.FileIgnore, resolved)
	}
	data, err := readBounded(resolved, 1<<20, chart.FileIgnore, &budget{total: 1 << 20}, new(contents))
	if err != nil {
		return IgnoreRules{}, fmt.Errorf("read %s: %w", chart.FileIgnore, err)
	}
	return ParseIgnore(data)
}

// walk collects the files of a chart's directory.
type walk struct {
	root     string // absolute, without symbolic links
	ignore   IgnoreRules
	limits   Limits
	found    []source
	visited  int64
	warnings []string
}

// source is a file to read: its path and its name in the chart.
type source struct{ path, name string }

// dir visits a directory. resolved is its path without symbolic links, and name its path
// in the chart, "" for the top. above has the resolved paths of the directories that are
// being visited, to detect links that form a loop.
func (w *walk) dir(resolved, name string, above []string) error {
	entries, err := os.ReadDir(resolved)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if w.visited++; w.visited > w.limits.Entries {
			return &LimitError{What: "the directory", Limit: w.limits.Entries, Unit: "files"}
		}
		if err := w.entry(resolved, path.Join(name, e.Name()), e, above); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(dir, name string, e fs.DirEntry, above []string) error {
	if strings.HasPrefix(name, stagePrefix) {
		return nil // left by a Replace that was killed
	}
	resolved, mode := filepath.Join(dir, e.Name()), e.Type()
	if mode&fs.ModeSymlink != 0 {
		if w.ignore.Ignored(name, false) {
			return nil
		}
		target, info, err := w.resolve(resolved, name)
		if err != nil || w.ignore.Ignored(name, info.IsDir()) {
			return err
		}
		w.warnings = append(w.warnings, fmt.Sprintf("found symbolic link in path. Contents of linked file "+
			"included and used: %s -> %s", name, filepath.ToSlash(target)))
		resolved, mode = target, info.Mode().Type()
	} else if w.ignore.Ignored(name, mode.IsDir()) {
		return nil
	}
	switch {
	case mode.IsDir():
		for _, a := range above {
			if within(resolved, a) {
				return &EntryError{Entry: name, Problem: "is a symbolic link to a directory that contains it"}
			}
		}
		return w.dir(resolved, name, append(above[:len(above):len(above)], resolved))
	case mode.IsRegular():
		if problem := pathProblem(name); problem != "" {
			return &EntryError{Entry: name, Problem: problem + ", or list it in " + chart.FileIgnore}
		}
		w.found = append(w.found, source{path: resolved, name: name})
		return nil
	}
	return &EntryError{Entry: name, Problem: "is neither a file nor a directory"}
}

// resolve returns the target of a symbolic link. A target outside the chart is an error.
func (w *walk) resolve(resolved, name string) (string, fs.FileInfo, error) {
	switch path.Base(name) {
	case chart.FileLock, chart.FileRequirementsLock:
		return "", nil, &EntryError{Entry: name, Problem: "is a symbolic link; a lock file must be a regular file"}
	}
	target, err := filepath.EvalSymlinks(resolved)
	if err != nil {
		return "", nil, fmt.Errorf("follow the symbolic link %s: %w", name, err)
	}
	if !within(w.root, target) {
		return "", nil, outsideError(name, target)
	}
	info, err := os.Lstat(target)
	if err != nil {
		return "", nil, fmt.Errorf("follow the symbolic link %s: %w", name, err)
	}
	return target, info, nil
}

func outsideError(name, target string) error {
	return &EntryError{Entry: name, Problem: fmt.Sprintf("is a symbolic link that leaves the chart (to %s); copy what "+
		"it points to into the chart, or list the link in %s", target, chart.FileIgnore)}
}

// within reports whether file is dir or below it. Both must be absolute.
func within(dir, file string) bool {
	rest, ok := strings.CutPrefix(file, dir)
	return ok && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(dir[len(dir)-1]))
}

// read reads the collected files.
func (w *walk) read() ([]*chart.File, error) {
	files := make([]*chart.File, len(w.found))
	errs := make([]error, len(w.found))
	total := &budget{total: w.limits.Total}
	var shared contents
	var failed atomic.Bool
	newPool().each(len(w.found), func(i int) {
		if failed.Load() {
			return
		}
		s := w.found[i]
		limit := w.limits.File
		if isSubchartArchive(s.name) { // its files are limited when it is unpacked
			limit = w.limits.Total
		}
		data, err := readBounded(s.path, limit, s.name, total, &shared)
		if err != nil {
			errs[i] = err
			failed.Store(true)
			return
		}
		files[i] = &chart.File{Name: s.name, Data: trimBOM(data)}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// isSubchartArchive reports whether name is that of an archive in charts/ or library/.
func isSubchartArchive(name string) bool {
	dir := path.Base(path.Dir(name))
	return path.Ext(name) == ".tgz" && (dir == chart.DirCharts || dir == chart.DirLibrary)
}

// readBounded reads a regular file of at most limit bytes. It takes the file's size from
// total before it reads the file.
func readBounded(path string, limit int64, name string, total *budget, shared *contents) ([]byte, error) {
	f, err := file.Open(path)
	if _, ok := errors.AsType[*file.KindError](err); ok {
		return nil, &EntryError{Entry: name, Problem: "is not a regular file"}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &LimitError{What: name, Limit: limit, Unit: "bytes"}
	}
	if err := total.take(info.Size()); err != nil {
		return nil, err
	}
	data, err := shared.read(f, info.Size())
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) { // it may have been truncated since Stat
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// explainMissing adds to an ErrNoMetadata the pattern of .helmignore that excludes Chart.yaml,
// if there is one.
func explainMissing(dir string, err error) error {
	var sub *SubchartError
	if !errors.Is(err, ErrNoMetadata) || errors.As(err, &sub) {
		return err
	}
	if _, statErr := os.Lstat(filepath.Join(dir, chart.FileMetadata)); statErr != nil {
		return err
	}
	rules, ignoreErr := readIgnore(dir)
	if ignoreErr != nil {
		return err
	}
	if r := rules.match(chart.FileMetadata, false); r != nil {
		return fmt.Errorf("%w: %s:%d (%s) leaves it out", err, chart.FileIgnore, r.line, r.text)
	}
	return err
}
