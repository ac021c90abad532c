// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/moonhelm/moonhelm/chart"
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

// ParseAhead starts to parse the templates of root's tree and returns, for a rendering that has to wait for
// something first. It ends with ctx, and closes the channel at its end. What is not valid is left to the
// rendering.
func (c *Cache) ParseAhead(ctx context.Context, root *chart.Chart) (ended <-chan struct{}) {
	var texts []string
	root.Walk(func(of *chart.Chart) {
		for _, t := range of.Templates {
			texts = append(texts, fileText(t.Data))
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		e := newEngine(&Input{Cache: c})
		var nodes arena
		// The rendering may begin in the middle of this, with the first.
		for _, text := range slices.Backward(texts) {
			if ctx.Err() != nil {
				return
			}
			e.parseText(textOf{text: text}, &nodes)
		}
	}()
	return done
}

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
