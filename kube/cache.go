// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/moonhelm/moonhelm/internal/file"
)

// cacheFile returns the path of the cache file with the given prefix for this cluster, or "" if
// the client has no cache directory or no connection.
func (c *Client) cacheFile(prefix string) string {
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
	return filepath.Join(c.options.CacheDir, prefix+name+".json")
}

// maxCache is the maximum size of a cache file in bytes. Larger files are not read.
const maxCache = 64 << 20

// readCache returns the cached discovery, or nil if there is none or it is not usable.
func (c *Client) readCache() *kinds {
	var k kinds
	if json.Unmarshal(c.LoadCache("kinds-"), &k) != nil || k.Server != c.Server() || len(k.CoreVersions) == 0 {
		return nil
	}
	return &k
}

func (c *Client) writeCache(k *kinds) {
	if text, err := json.Marshal(k); err == nil {
		c.SaveCache("kinds-", text)
	}
}

// Server returns the address of the cluster, or "" if the client has no valid configuration.
func (c *Client) Server() string {
	conn, err := c.connect()
	if err != nil {
		return ""
	}
	return conn.base.String()
}

// LoadCache returns the data that [Client.SaveCache] saved, or nil if there is none. The data
// must contain the address of its server and the caller must check it: two servers may share a
// file name.
func (c *Client) LoadCache(prefix string) []byte {
	path := c.cacheFile(prefix)
	if path == "" {
		return nil
	}
	text, err := file.Read(path, maxCache)
	if err != nil {
		return nil
	}
	return text
}

// SaveCache saves text, data about this cluster, in a file whose name begins with prefix. It
// replaces the file atomically; if it fails, it leaves the previous file.
func (c *Client) SaveCache(prefix string, text []byte) {
	path := c.cacheFile(prefix)
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	_ = file.WriteAtomic(path, 0o600, func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
}
