// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/moonhelm/moonhelm/internal/file"
)

// cacheFile is where something about this cluster is kept, "" for nowhere.
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

// maxCache is the largest cache that is read, in bytes.
const maxCache = 64 << 20

// readCache returns nil where there is no cache or it cannot be used: it is a
// help, and never a reason to fail.
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

// Server is the address of the cluster, "" where the client does not know one.
func (c *Client) Server() string {
	conn, err := c.connect()
	if err != nil {
		return ""
	}
	return conn.base.String()
}

// LoadCache reads what [Client.SaveCache] has kept; nil where there is nothing. What it
// keeps has to name the server that it is of: two may share an address.
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

// SaveCache keeps text about this cluster between runs, under a name that begins with
// prefix. It writes the file in one step, or leaves it as it was.
func (c *Client) SaveCache(prefix string, text []byte) {
	path := c.cacheFile(prefix)
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".cache-*")
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
