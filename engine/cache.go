// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"maps"
	"sync"
)

// Cache keeps the parsed texts of templates, and the functions, for renderings of the same charts with
// other values. The zero value is empty. It is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	texts map[string]*parsed
	size  int
	// funcs are the functions, which are the same for all renderings except those of inputFuncs.
	funcs map[string]*function
	known map[string]any
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

// functions returns the functions for in, and their names, which must not be modified.
func (c *Cache) functions(in *Input) (funcs map[string]*function, known map[string]any) {
	if c == nil {
		funcs = functions(in)
		return funcs, knownNames(funcs)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.funcs == nil {
		c.funcs = functions(&Input{})
		c.known = knownNames(c.funcs)
	}
	funcs = maps.Clone(c.funcs)
	own := inputFuncs(in)
	setLimits(own)
	maps.Copy(funcs, own)
	return funcs, c.known
}

func knownNames(funcs map[string]*function) map[string]any {
	known := make(map[string]any, len(funcs))
	for name := range funcs {
		known[name] = true
	}
	return known
}
