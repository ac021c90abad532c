// SPDX-License-Identifier: Apache-2.0

package engine

import "sync"

// Cache keeps the parsed texts of templates, for renderings of the same charts with other values. The
// zero value is empty. It is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	texts map[string]*parsed
	size  int
}

// maxCached limits the texts of a cache, in bytes. Texts passed to tpl may depend on values.
const maxCached = 64 << 20

// find returns a parsed text, or nil. A nil Cache is empty.
func (c *Cache) find(text string) *parsed {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.texts[text]
}

// add adds a parsed text, which is never modified.
func (c *Cache) add(text string, p *parsed) {
	if c == nil || p.err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size+len(text) > maxCached || c.texts[text] != nil {
		return
	}
	if c.texts == nil {
		c.texts = map[string]*parsed{}
	}
	c.texts[text] = p
	c.size += len(text)
}
