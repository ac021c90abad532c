// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
)

// rewriteValues applies the difference between before and after, the values before and after
// event handlers ran, to the values.yaml of c. The values of a subchart are under its name.
// The rest of the file keeps its formatting and comments.
func rewriteValues(c *chart.Chart, before, after map[string]any) error {
	merged, changed := mergeChanges(c.Values, before, after)
	if !changed {
		return nil
	}
	var text []byte
	i := slices.IndexFunc(c.Raw, func(f *chart.File) bool { return f.Name == chart.FileValues })
	if i >= 0 {
		text = c.Raw[i].Data
	}
	text, err := values.Edit(text, merged)
	if err != nil {
		return fmt.Errorf("edit %s of chart %s: %w", chart.FileValues, c.Name(), err)
	}
	// Parse the text again, so that c.Values are exactly the values of the file.
	if c.Values, err = values.Parse(chart.FileValues, text); err != nil {
		return err
	}
	file := &chart.File{Name: chart.FileValues, Data: text}
	c.Raw = slices.Clone(c.Raw)
	if i >= 0 {
		c.Raw[i] = file
	} else {
		c.Raw = append(c.Raw, file)
	}
	return nil
}

// mergeChanges returns a copy of base with the changes from before to after applied, and
// reports whether there were any. A key that after lacks is deleted, or set to null if it is
// not a key of base.
func mergeChanges(base, before, after map[string]any) (out map[string]any, changed bool) {
	out = make(map[string]any, len(base))
	for k, v := range base {
		out[k] = v
	}
	for k, newValue := range after {
		oldValue, exists := before[k]
		if exists && reflect.DeepEqual(oldValue, newValue) {
			continue
		}
		oldTable, ok1 := oldValue.(map[string]any)
		newTable, ok2 := newValue.(map[string]any)
		if ok1 && ok2 {
			baseTable, _ := base[k].(map[string]any)
			if sub, ok := mergeChanges(baseTable, oldTable, newTable); ok {
				out[k], changed = sub, true
			}
			continue
		}
		out[k], changed = newValue, true
	}
	for k := range before {
		if _, ok := after[k]; ok {
			continue
		}
		changed = true
		if _, ok := base[k]; ok {
			delete(out, k)
		} else {
			out[k] = nil
		}
	}
	return out, changed
}
