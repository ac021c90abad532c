// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
)

// rewriteValues makes the values.yaml of c say what handlers have made of its
// final values: what differs between before and after is written there, below
// the subchart's name where it is a subchart's. The rest of the text stays as
// its author wrote it.
func rewriteValues(c *chart.Chart, before, after map[string]any) error {
	now, changed := overlay(c.Values, before, after)
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
	// As it is read, so that the text is seen to say what the values are.
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

// overlay is own with what differs between before and after laid over it. A
// key that is gone becomes null where it is not own's to take away.
func overlay(own, before, after map[string]any) (out map[string]any, changed bool) {
	out = make(map[string]any, len(own))
	for k, v := range own {
		out[k] = v
	}
	for k, now := range after {
		was, known := before[k]
		if known && reflect.DeepEqual(was, now) {
			continue
		}
		wasTable, ok1 := was.(map[string]any)
		nowTable, ok2 := now.(map[string]any)
		if ok1 && ok2 {
			mine, _ := own[k].(map[string]any)
			if sub, did := overlay(mine, wasTable, nowTable); did {
				out[k], changed = sub, true
			}
			continue
		}
		out[k], changed = now, true
	}
	for k := range before {
		if _, still := after[k]; still {
			continue
		}
		changed = true
		if _, mine := own[k]; mine {
			delete(out, k)
		} else {
			out[k] = nil
		}
	}
	return out, changed
}
