// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"fmt"

	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
)

// Keep copies an archive that was found into dir, with its provenance file where
// that was fetched, and returns its path. A file of that name is replaced.
func (e *Env) Keep(a *fetch.Archive, dir string) (string, error) {
	f, err := file.Open(a.Path)
	if err != nil {
		return "", fmt.Errorf("keep %s: %w", a.Name, err)
	}
	defer f.Close()
	path, err := loader.Put(dir, a.Name, f)
	if err != nil || a.Provenance == nil {
		return path, err
	}
	_, err = loader.Put(dir, a.Name+".prov", bytes.NewReader(a.Provenance))
	return path, err
}

// Unpack unpacks an archive that was found into a directory below dir that bears
// the chart's name, and returns that directory's path.
func (e *Env) Unpack(a *fetch.Archive, dir string) (string, error) {
	f, err := file.Open(a.Path)
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", a.Name, err)
	}
	defer f.Close()
	return loader.Expand(dir, f)
}
