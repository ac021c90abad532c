// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// find returns the index of the item whose keys are those of text, "name=web" or
// "port=80,protocol=TCP", and these keys. It appends the item if the list lacks it.
func (r *listRule) find(list []any, text string) (i int, key map[string]any, with []any, err error) {
	if key, err = r.parseKeys(text); err != nil {
		return 0, nil, nil, err
	}
	id := r.id(key)
	for i, v := range list {
		if r.id(v) != id {
			continue
		}
		if directive(v) == patchDelete { // what follows sets it again
			list[i] = maps.Clone(key)
			list[i].(map[string]any)[patchKey] = patchReplace
		}
		return i, key, list, nil
	}
	if len(list) > MaxIndex {
		return 0, nil, nil, fmt.Errorf("the list has more than %d items", MaxIndex)
	}
	if list != nil && len(list) == 0 { // an empty list replaces the one below
		list = append(list, marker())
	}
	return len(list), key, append(list, maps.Clone(key)), nil
}

// parseKeys parses the keys of an item.
func (r *listRule) parseKeys(text string) (map[string]any, error) {
	key := map[string]any{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		if !slices.Contains(r.keys, name) {
			return nil, fmt.Errorf("the items of the list merge by %s, not by %q", strings.Join(r.keys, " and "), name)
		}
		key[name] = value
		n, err := strconv.ParseInt(value, 10, 64)
		if err == nil && !r.text[name] && strconv.FormatInt(n, 10) == value {
			key[name] = n
		}
	}
	for _, name := range r.keys {
		if key[name] == nil {
			return nil, fmt.Errorf("the index [%s] has no %s: the items of the list merge by %s", text, name,
				strings.Join(r.keys, " and "))
		}
	}
	return key, nil
}

// checkKeys returns an error if the item that was found by key has others: it would be another item.
func (r *listRule) checkKeys(key map[string]any, item any) error {
	if r.id(item) == r.id(key) {
		return nil
	}
	step, _ := r.step(key)
	return fmt.Errorf("an item cannot get other keys than those that it is found by, %s: delete it with null, and add "+
		"another one", step)
}

// wholeItem returns the item for the value that replaces it: a table, or null, which deletes it.
func (r *listRule) wholeItem(key map[string]any, value any) (any, error) {
	item := maps.Clone(key)
	switch value := value.(type) {
	case nil:
		item[patchKey] = patchDelete
	case map[string]any:
		item[patchKey] = patchReplace
		for k, v := range value {
			item[k] = v
		}
		if err := r.checkKeys(key, item); err != nil {
			return nil, err
		}
	default:
		return nil, errors.New("an item that is found by its keys is a table: set one of its fields, or null to delete it")
	}
	return item, nil
}

// itemLists returns the lists in the items of the list.
func (r *listRule) itemLists() *Lists {
	if r == nil {
		return nil
	}
	return r.items
}
