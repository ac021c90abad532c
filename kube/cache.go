// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// cacheFile is where the kinds of this cluster are kept, "" for nowhere.
func (c *Client) cacheFile() string {
	conn, err := c.connect()
	if err != nil || c.options.CacheDir == "" {
		return ""
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, conn.base.Host+conn.base.Path)
	return filepath.Join(c.options.CacheDir, "kinds-"+name+".json")
}

// readCache returns nil where there is no cache or it cannot be used: it is a
// help, and never a reason to fail.
func (c *Client) readCache() *kinds {
	path := c.cacheFile()
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var k kinds
	conn, _ := c.connect()
	if json.Unmarshal(text, &k) != nil || k.Server != conn.base.String() || len(k.CoreVersions) == 0 {
		return nil
	}
	return &k
}

func (c *Client) writeCache(k *kinds) {
	path := c.cacheFile()
	if path == "" {
		return
	}
	text, err := json.Marshal(k)
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".kinds-*")
	if err != nil {
		return
	}
	_, err = f.Write(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}
