// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
)

// rewriteValues changes the values.yaml of c so that it has the final values as handlers have
// changed them from before to after: values of a subchart are under the subchart's name. The
// rest of the file keeps its formatting and comments.
func rewriteValues(c *chart.Chart, before, after map[string]any) error {
	now, changed := mergeChanges(c.Values, before, after)
	if !changed {
		return nil
	}
	var text []byte
	at := slices.IndexFunc(c.Raw, func(f *chart.File) bool { return f.Name == chart.FileValues })
	if at >= 0 {
		text = c.Raw[at].Data
	}
	text, err := values.Edit(text, now)
	if err != nil {
		return fmt.Errorf("write %s of chart %s: %w", chart.FileValues, c.Name(), err)
	}
	// Parse the text again, so that c.Values are exactly the values of the file.
	if c.Values, err = values.Parse(chart.FileValues, text); err != nil {
		return err
	}
	file := &chart.File{Name: chart.FileValues, Data: text}
	c.Raw = slices.Clone(c.Raw)
	if at >= 0 {
		c.Raw[at] = file
	} else {
		c.Raw = append(c.Raw, file)
	}
	return nil
}

// mergeChanges returns own with the differences between before and after. It deletes a key
// that handlers have deleted, or sets it to null if it is not a key of own.
func mergeChanges(own, before, after map[string]any) (out map[string]any, changed bool) {
	out = make(map[string]any, len(own))
	for k, v := range own {
		out[k] = v
	}
	for k, now := range after {
		was, exists := before[k]
		if exists && reflect.DeepEqual(was, now) {
			continue
		}
		wasTable, ok1 := was.(map[string]any)
		nowTable, ok2 := now.(map[string]any)
		if ok1 && ok2 {
			ownTable, _ := own[k].(map[string]any)
			if sub, ok := mergeChanges(ownTable, wasTable, nowTable); ok {
				out[k], changed = sub, true
			}
			continue
		}
		out[k], changed = now, true
	}
	for k := range before {
		if _, ok := after[k]; ok {
			continue
		}
		changed = true
		if _, ok := own[k]; ok {
			delete(out, k)
		} else {
			out[k] = nil
		}
	}
	return out, changed
}
