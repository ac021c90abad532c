// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"maps"
	"strings"
)

// Flatten returns objs with every list replaced by its items: a List, a typed list such as a
// ConfigMapList, and lists in lists. Each item becomes an object with [Object.List] set. As with
// kubectl and Helm, an item of a typed list without a kind or apiVersion gets the list's. Other
// objects are returned as they are; only objects with the kind of a list are decoded. An error
// names the list, and the item if it is not an object. It is a [*SyntaxError] if a list cannot
// be decoded. Flatten does not change objs.
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
		items, isList, err := listItems(m)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", o.Source, o.Kind, err)
		}
		if !isList {
			out = append(out, o)
			continue
		}
		for i, item := range items {
			object, err := newItem(o, item)
			if err != nil {
				return nil, fmt.Errorf("%s: items[%d] of %s: %w", o.Source, i, o.Kind, err)
			}
			out = append(out, object)
		}
	}
	return out, nil
}

const listSuffix = "List"

// listItems returns the objects in a list, including those of nested lists, and reports
// whether m is a list: its kind ends in "List", and it has items.
func listItems(m map[string]any) (objects []map[string]any, isList bool, err error) {
	kind, _ := m["kind"].(string)
	items, ok := m["items"].([]any)
	if !ok || !strings.HasSuffix(kind, listSuffix) {
		return nil, false, nil
	}
	for i, item := range items {
		if item == nil {
			continue // like a document of comments only
		}
		object, ok := item.(map[string]any)
		if !ok {
			return nil, true, fmt.Errorf("items[%d] must be an object, it is %s", i, describe(item))
		}
		object = withListType(object, m)
		nested, isList, err := listItems(object)
		if err != nil {
			return nil, true, fmt.Errorf("items[%d]: %w", i, err)
		}
		if !isList {
			nested = []map[string]any{object}
		}
		objects = append(objects, nested...)
	}
	return objects, true, nil
}

// withListType returns an item of a list, with a missing kind and apiVersion set from the list.
func withListType(item, list map[string]any) map[string]any {
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

// newItem returns an item of a list as an object. Its Raw is the item encoded as YAML.
func newItem(list *Object, item map[string]any) (*Object, error) {
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
