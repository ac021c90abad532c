// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"maps"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
)

// coalescer computes the final values of a tree and collects its warnings.
type coalescer struct {
	warnings []string
}

func (co *coalescer) warn(format string, args ...any) {
	co.warnings = append(co.warnings, fmt.Sprintf(format, args...))
}

// scope computes what chart c sees, given the values that come from above.
// over is read only; the result is a new map.
func (co *coalescer) scope(c *chart.Chart, over map[string]any, path string) (map[string]any, error) {
	out := make(map[string]any, len(over)+len(c.Values))
	co.overlay(out, over, c.Values, path)
	for _, d := range c.Dependencies() {
		name := d.Name()
		var own map[string]any
		switch v := out[name].(type) {
		case map[string]any:
			own = v
		case nil:
		default:
			return nil, fmt.Errorf("the values of %s hold %s for the subchart %q, must hold a table", path, kind(v), name)
		}
		own = co.withGlobal(own, out, path+"."+name)
		sub, err := co.scope(d, own, path+"."+name)
		if err != nil {
			return nil, err
		}
		out[name] = sub
	}
	return out, nil
}

// overlay writes into out, which is empty, the merge of over on defaults.
func (co *coalescer) overlay(out, over, defaults map[string]any, path string) {
	for k, v := range over {
		def, ok := defaults[k]
		if v == nil {
			if !ok {
				out[k] = nil
			}
			continue
		}
		if !ok {
			out[k] = v
			continue
		}
		out[k] = co.value(v, def, join(path, k))
	}
	for k, v := range defaults {
		if _, ok := over[k]; !ok {
			out[k] = v
		}
	}
}

// value is what a key holds that both over and the defaults have.
func (co *coalescer) value(over, def any, path string) any {
	ot, otable := over.(map[string]any)
	dt, dtable := def.(map[string]any)
	switch {
	case otable && dtable:
		merged := make(map[string]any, len(ot)+len(dt))
		co.overlay(merged, ot, dt, path)
		return merged
	case dtable:
		co.warn("cannot overwrite table with non table for %s (%v)", path, def)
	case otable && def != nil:
		co.warn("skipped value for %s: Not a table.", path)
	}
	return over
}

// withGlobal returns the values own of a subchart with its parent's globals
// laid over its own.
func (co *coalescer) withGlobal(own, parent map[string]any, path string) map[string]any {
	global, ok := parent[Global].(map[string]any)
	if !ok {
		if parent[Global] != nil {
			co.warn("skipping globals because destination %s is not a table.", path)
		}
		global = nil
	}
	mine, _ := own[Global].(map[string]any)
	out := maps.Clone(own)
	if out == nil {
		out = map[string]any{}
	}
	switch {
	case len(mine) == 0:
		if global == nil {
			global = map[string]any{}
		}
		out[Global] = global
	case len(global) > 0:
		merged := make(map[string]any, len(global)+len(mine))
		co.overlay(merged, global, mine, path+"."+Global)
		out[Global] = merged
	}
	return out
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
