// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/moonhelm/moonhelm/internal/file"
)

// record is what is remembered of a plugin, so that it can be updated, and its
// source shown.
type record struct {
	Source  string `json:"source"` // without user and password
	Version string `json:"version,omitempty"`
	Verify  bool   `json:"verify,omitempty"`
	// Git reports that the source is a git repository, of which the clone is.
	Git bool `json:"git,omitempty"`
	// Digest is the archive's SHA-256 in hex.
	Digest string `json:"digest,omitempty"`
}

// records is the directory of records, among the plugins' directories.
const records = ".sources"

// recordOf is where the record of a plugin is.
func recordOf(p *Plugin) string {
	return filepath.Join(filepath.Dir(p.Dir), records, p.Name+".json")
}

// write remembers r of a plugin; there is nothing to remember of one that came
// from a file on this machine.
func (r record) write(p *Plugin) error {
	path := recordOf(p)
	if r.Source == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600) // a URL's query may be a token
}

// recall is what is remembered of a plugin, false for nothing.
func recall(p *Plugin) (record, bool, error) {
	path := recordOf(p)
	data, err := file.Read(path, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, false, nil
	}
	var r record
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return record{}, false, fmt.Errorf("read %s: %w", path, err)
	}
	// Helm, which knows no records, may have put another plugin there since.
	is := archiveOf(p)
	if r.Git {
		is = filepath.Join(p.Dir, ".git")
	}
	return r, exists(is), nil
}
