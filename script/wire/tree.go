// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Node is a map or list that both ends know by the ID of its Ref.
type Node struct {
	Ref
	// Content is the map or list as it was sent: a map[string]any or []any that may hold the
	// Refs of other nodes. nil is content that was not sent yet.
	Content any
}

// Receive takes v as the node's content. An error is returned for a map in place of a list,
// and for anything else that the Ref does not say.
func (n *Node) Receive(v any) error {
	_, isList := v.([]any)
	_, isMap := v.(map[string]any)
	if isList != n.List || isMap == n.List {
		return fmt.Errorf("the content of number %d is of the wrong type", n.ID)
	}
	n.Content = v
	return nil
}

// Diff returns how now differs from the node's content, as [Call] describes a change; nil
// where it does not differ.
func (n *Node) Diff(now any) (map[string]any, error) {
	switch now := now.(type) {
	case []any:
		sent, ok := n.Content.([]any)
		if !ok {
			return nil, fmt.Errorf("is a map, and cannot become a list")
		}
		if slices.EqualFunc(now, sent, Equal) {
			return nil, nil
		}
		return map[string]any{"id": int64(n.ID), "list": now}, nil
	case map[string]any:
		sent, ok := n.Content.(map[string]any)
		if ok {
			return n.diffMap(now, sent), nil
		}
		if len(now) == 0 { // an empty table may be either
			return n.Diff([]any{})
		}
	}
	return nil, fmt.Errorf("is a list, and cannot become a map")
}

func (n *Node) diffMap(now, sent map[string]any) map[string]any {
	set, drop := map[string]any{}, []any{}
	for k, v := range now {
		if old, was := sent[k]; !was || !Equal(v, old) {
			set[k] = v
		}
	}
	for k := range sent {
		if _, is := now[k]; !is {
			drop = append(drop, k)
		}
	}
	slices.SortFunc(drop, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	if len(set)+len(drop) == 0 {
		return nil
	}
	return map[string]any{"id": int64(n.ID), "set": set, "drop": drop}
}

// Apply returns the node's content with a change made, as [Node.Diff] describes it. The
// content itself stays as it is. An error is returned for a change that is not one of such
// a node.
func (n *Node) Apply(change map[string]any) (any, error) {
	if n.List {
		list, ok := change["list"].([]any)
		if !ok {
			return nil, fmt.Errorf("is a list, and was not changed as one")
		}
		return list, nil
	}
	set, ok := change["set"].(map[string]any)
	drop, isList := change["drop"].([]any)
	if !ok && change["set"] != nil || !isList && change["drop"] != nil || change["list"] != nil {
		return nil, fmt.Errorf("is a map, and was not changed as one")
	}
	sent, _ := n.Content.(map[string]any)
	now := make(map[string]any, len(sent)+len(set))
	maps.Copy(now, sent)
	for _, k := range drop {
		key, ok := k.(string)
		if !ok {
			return nil, fmt.Errorf("is a map, and was not changed as one")
		}
		delete(now, key)
	}
	maps.Copy(now, set)
	return now, nil
}

// Equal reports whether two values are the same. A whole number and a float are not.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	}
	return a == b
}

// Size returns about how many bytes of memory a value takes. It stops counting above most,
// and returns more than most for what nests deeper than depth.
func Size(v any, most, depth int) int {
	n := 16
	switch v := v.(type) {
	case string:
		n += len(v)
	case []any:
		if depth == 0 {
			return most + 1
		}
		n += 32
		for _, e := range v {
			if n > most {
				return n
			}
			n += Size(e, most-n, depth-1)
		}
	case map[string]any:
		if depth == 0 {
			return most + 1
		}
		n += 64
		for k, e := range v {
			if n > most {
				return n
			}
			n += 16 + len(k) + Size(e, most-n, depth-1)
		}
	}
	return n
}

// Refs calls f for the Refs in v: those of a list in its order, those of a map in the order
// of the keys.
func Refs(v any, f func(Ref)) {
	switch v := v.(type) {
	case Ref:
		f(v)
	case []any:
		for _, e := range v {
			Refs(e, f)
		}
	case map[string]any:
		var inner []string
		for k, e := range v {
			switch e.(type) {
			case Ref, []any, map[string]any:
				inner = append(inner, k)
			}
		}
		slices.Sort(inner)
		for _, k := range inner {
			Refs(v[k], f)
		}
	}
}
