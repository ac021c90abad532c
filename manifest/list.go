// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"maps"
	"strings"
)

// Flatten returns objs with the items of lists in place of the lists: of a List,
// of a typed list such as a ConfigMapList, and of lists in lists. Each item is an
// object of its own, with its list as [Object.List]. An item of a typed list that
// does not say its kind or apiVersion has those of the list, as with kubectl and
// Helm. Every other object is returned as it is. Only what has a list's kind is
// decoded. The error names the list, and the item that is not an object; it is a
// [*SyntaxError] for a list that cannot be read. objs is not changed.
func Flatten(objs []*Object) ([]*Object, error) {
	out := make([]*Object, 0, len(objs))
	for _, o := range objs {
		if !strings.HasSuffix(o.Kind, listSuffix) {
			out = append(out, o)
			continue
		}
		m, err := o.Map()
		if err != nil {
			return nil, err
		}
		items, list, err := listItems(m)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", o.Source, o.Kind, err)
		}
		if !list {
			out = append(out, o)
			continue
		}
		for i, item := range items {
			part, err := itemOf(o, item)
			if err != nil {
				return nil, fmt.Errorf("%s: items[%d] of %s: %w", o.Source, i, o.Kind, err)
			}
			out = append(out, part)
		}
	}
	return out, nil
}

const listSuffix = "List"

// listItems returns the objects that a list holds, those of lists in it too, and
// reports whether m is a list: its kind ends in "List", and it has items.
func listItems(m map[string]any) (objects []map[string]any, list bool, err error) {
	kind, _ := m["kind"].(string)
	items, ok := m["items"].([]any)
	if !ok || !strings.HasSuffix(kind, listSuffix) {
		return nil, false, nil
	}
	for i, item := range items {
		if item == nil {
			continue // as a document that holds comments only
		}
		object, ok := item.(map[string]any)
		if !ok {
			return nil, true, fmt.Errorf("items[%d] must be an object, it is %s", i, describe(item))
		}
		object = typed(object, m)
		inner, list, err := listItems(object)
		if err != nil {
			return nil, true, fmt.Errorf("items[%d]: %w", i, err)
		}
		if !list {
			inner = []map[string]any{object}
		}
		objects = append(objects, inner...)
	}
	return objects, true, nil
}

// typed is an item of a list with what the list says of its type.
func typed(item, list map[string]any) map[string]any {
	listKind, _ := list["kind"].(string)
	kind := strings.TrimSuffix(listKind, listSuffix)
	if kind == "" {
		return item
	}
	for key, value := range map[string]any{"kind": kind, "apiVersion": list["apiVersion"]} {
		if text, _ := item[key].(string); text == "" && value != nil {
			item = maps.Clone(item)
			item[key] = value
		}
	}
	return item
}

func itemOf(list *Object, item map[string]any) (*Object, error) {
	raw, err := Encode(item)
	if err != nil {
		return nil, err
	}
	o := &Object{Source: list.Source, Raw: raw, List: list}
	if err := o.readHead(item); err != nil {
		return nil, err
	}
	o.once.Do(func() { o.data = item })
	return o, nil
}
