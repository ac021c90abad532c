// SPDX-License-Identifier: Apache-2.0

package unused

import (
	"maps"
	"slices"

	"github.com/moonhelm/moonhelm/engine"
)

// collect adds the paths of vals that must be read to sought: those of values that are no tables, or
// empty ones, unless the charts have a default, or scripts read them and the tables that they are in.
func (s *search) collect(vals map[string]any, defaults spot, path []string, scripts bool, sought *pending) {
	for _, k := range slices.Sorted(maps.Keys(vals)) {
		below, known := defaults.step(k)
		at := append(path[:len(path):len(path)], k)
		other := s.all || !known
		inScripts := scripts && (!other || s.scripts.read(at))
		table, isTable := vals[k].(map[string]any)
		switch {
		case isTable && len(table) > 0:
			s.collect(table, below, at, inScripts, sought)
		case other && !inScripts:
			*sought = append(*sought, at)
		}
	}
}

// pending has the paths of values that nothing was found to read so far.
type pending [][]string

// allRead removes paths from the end that templates read as root has it, and reports whether none is
// left.
func (p *pending) allRead(root *engine.Usage) bool {
	for n := len(*p); n > 0 && isRead((*p)[n-1], root); n = len(*p) {
		*p = (*p)[:n-1]
	}
	return len(*p) == 0
}

// isRead reports whether the value at a path below one of nodes is read.
func isRead(path []string, nodes ...*engine.Usage) bool {
	for _, key := range path {
		if slices.ContainsFunc(nodes, func(n *engine.Usage) bool { return n.Whole }) {
			return true
		}
		if nodes = below(nodes, key); len(nodes) == 0 {
			return false
		}
	}
	return true
}

// below returns what is read of a key of tables.
func below(nodes []*engine.Usage, key string) []*engine.Usage {
	var list []*engine.Usage
	for _, n := range nodes {
		if c := n.Keys[key]; c != nil {
			list = append(list, c)
		}
		if n.Any != nil {
			list = append(list, n.Any)
		}
	}
	return list
}

// maxWords limits the words of a goal: each is sought in all templates.
const maxWords = 20

// words returns names that are probably in templates that read the values: those of the tables, and
// of values at the root.
func (p pending) words() []string {
	words := map[string]bool{}
	for _, path := range p {
		for _, word := range path[:max(1, len(path)-1)] {
			if len(words) < maxWords {
				words[word] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(words))
}
