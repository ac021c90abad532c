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

	"github.com/moonhelm/moonhelm/chart"
)

// An ExistsError is returned if the path to which a chart is to be written exists. It wraps
// [fs.ErrExist].
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s already exists; move it away, or choose another directory", e.Path)
}
func (e *ExistsError) Unwrap() error { return fs.ErrExist }

// Expand unpacks a chart's archive into a directory in dst that has the chart's name, and
// returns the directory's path. It creates dst if needed. The directory appears complete
// or not at all, and no file is written outside it. If the directory exists, Expand
// returns an [*ExistsError].
func Expand(dst string, r io.Reader) (string, error) {
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return "", fmt.Errorf("unpack chart: %w", err)
	}
	temp, err := os.MkdirTemp(dst, ".tmp-")
	if err != nil {
		return "", fmt.Errorf("unpack chart: %w", err)
	}
	target, err := expand(dst, temp, r)
	if err != nil {
		return "", errors.Join(fmt.Errorf("unpack chart: %w", err), os.RemoveAll(temp))
	}
	return target, nil
}

func expand(dst, temp string, r io.Reader) (string, error) {
	root, err := os.OpenRoot(temp)
	if err != nil {
		return "", err
	}
	defer root.Close()
	limits := Limits{}.withDefaults()
	dirs := map[string]bool{".": true}
	err = unpack(r, limits, &budget{total: limits.Total}, func(name string, size int64, body io.Reader) error {
		return extract(root, dirs, name, size, body)
	})
	if err != nil {
		return "", err
	}
	text, err := root.ReadFile(chart.FileMetadata)
	if err != nil {
		return "", ErrNoMetadata
	}
	m, err := chart.ParseMetadata(chart.FileMetadata, trimBOM(text))
	if err != nil {
		return "", err
	}
	if err := chart.ValidateName(m.Name); err != nil {
		return "", chart.Locate(chart.FileMetadata, text, &chart.InvalidError{Field: "name", Problem: err.Error()})
	}
	target := filepath.Join(dst, m.Name)
	if _, err := os.Lstat(target); err == nil {
		return "", &ExistsError{Path: target}
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return "", err
	}
	return target, os.Rename(temp, target)
}

// extract writes a file below root. dirs has the directories that exist.
func extract(root *os.Root, dirs map[string]bool, name string, size int64, body io.Reader) error {
	if dir := path.Dir(name); !dirs[dir] {
		if err := root.MkdirAll(filepath.FromSlash(dir), 0o755); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		dirs[dir] = true
	}
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := io.CopyN(f, body, size); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return f.Close()
}
