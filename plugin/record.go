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

// record is the recorded source of a plugin, for updates and for the plugin list.
type record struct {
	Source  string `json:"source"` // without user and password
	Version string `json:"version,omitempty"`
	Verify  bool   `json:"verify,omitempty"`
	// Git is set if the plugin is a clone of a git repository.
	Git bool `json:"git,omitempty"`
	// Digest is the archive's SHA-256 in hex.
	Digest string `json:"digest,omitempty"`
}

// records is the directory of records, next to the plugins.
const records = ".sources"

// recordOf returns the path of a plugin's record.
func recordOf(p *Plugin) string {
	return filepath.Join(filepath.Dir(p.Dir), records, p.Name+".json")
}

// write writes the record of a plugin. A plugin from a local archive has no record; an old one
// is removed.
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
	return os.WriteFile(path, append(data, '\n'), 0o600) // the query of the URL may be a token
}

// readRecord returns the record of a plugin, or false if there is none.
func readRecord(p *Plugin) (record, bool, error) {
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
	// Helm does not use records and may have replaced the plugin.
	is := archiveOf(p)
	if r.Git {
		is = filepath.Join(p.Dir, ".git")
	}
	return r, exists(is), nil
}
