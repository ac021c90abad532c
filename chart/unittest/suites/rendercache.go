// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"encoding/json"
	"sync"
)

// renderCache keeps renderings: many tests of a suite have the same settings. It is safe for concurrent
// use; outputs are never modified.
type renderCache struct {
	mu      sync.Mutex
	entries map[string]*cachedRendering
	order   []string // the keys, oldest first
}

type cachedRendering struct {
	once sync.Once
	out  *outputs
	err  error
}

// maxRenderings limits the entries of a cache. Tests of equal settings are mostly neighbours.
const maxRenderings = 16

// do returns the rendering with a key, which render makes if there is none.
func (c *renderCache) do(key string, render func() (*outputs, error)) (*outputs, error) {
	c.mu.Lock()
	e := c.entries[key]
	if e == nil {
		if len(c.order) == maxRenderings {
			delete(c.entries, c.order[0])
			c.order = append(c.order[:0], c.order[1:]...)
		}
		if c.entries == nil {
			c.entries = map[string]*cachedRendering{}
		}
		e = &cachedRendering{}
		c.entries[key] = e
		c.order = append(c.order, key)
	}
	c.mu.Unlock()
	e.once.Do(func() { e.out, e.err = render() })
	return e.out, e.err
}

// key returns a key of everything that the rendering for t depends on, or "" if it must not be shared:
// what a post-renderer does is not known, and coverage counts every run.
func (r *renderer) key(t *test, user map[string]any) string {
	caps, err := r.capabilities(t)
	if err != nil || r.Coverage != nil || r.postRenderer(t) != nil {
		return ""
	}
	text, err := json.Marshal([]any{
		user, r.selected.include, r.selected.exclude, r.def.IncludeCRDs, r.release(t), r.versions(t),
		caps.KubeVersion.Version, caps.APIVersions, r.def.Cluster, t.Cluster,
	})
	if err != nil {
		return "" // a value that JSON does not have
	}
	return string(text)
}
