// SPDX-License-Identifier: Apache-2.0

package values

import (
	"maps"
	"slices"
)

// A ListProposal is a list that could merge, with the key that tells its items apart.
type ListProposal struct {
	Path string // in the syntax of --set
	Key  string
}

// proposedKeys are the fields that tell items apart, the most usual first.
func proposedKeys() []string {
	return []string{"name", "id", "containerPort", "port", "mountPath", "host", "path", "ip", "topologyKey"}
}

// Propose returns the lists in vals, in the order of their paths, whose items could merge by a field:
// all of them have it, each with another value. It leaves out those whose schema has a type.
func (l *Lists) Propose(vals map[string]any) []ListProposal { return l.propose(vals, "") }

func (l *Lists) propose(vals map[string]any, at string) []ListProposal {
	var out []ListProposal
	for _, k := range slices.Sorted(maps.Keys(vals)) {
		path, below := join(at, k), l.field(k)
		switch v := vals[k].(type) {
		case map[string]any:
			out = append(out, below.propose(v, path)...)
		case []any:
			if below.hasType() {
				continue
			}
			for _, key := range proposedKeys() {
				if len(v) > 0 && tellsApart(v, key) {
					out = append(out, ListProposal{Path: path, Key: key})
					break
				}
			}
		}
	}
	return out
}

// hasType reports whether a schema has a type for the list, also one by which it does not merge.
func (l *Lists) hasType() bool {
	return l != nil && slices.ContainsFunc(l.schemas, func(s schemaAt) bool { return s.node[listTypeKeyword] != nil })
}

// tellsApart reports whether all items are tables with another scalar for key.
func tellsApart(list []any, key string) bool {
	seen := map[string]bool{}
	for _, v := range list {
		table, _ := v.(map[string]any)
		text, ok := scalarText(table[key])
		if !ok || seen[text] {
			return false
		}
		seen[text] = true
	}
	return true
}
