// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
)

// coalescer merges values into the defaults of a tree of charts.
type coalescer struct {
	// keepNulls is set if the result is used as defaults, in which nulls still have an
	// effect.
	keepNulls bool
	// nulls are the charts with a null in their defaults. Most charts have none, and
	// their defaults are shared instead of copied.
	nulls    map[*chart.Chart]bool
	hasNulls bool // the current chart is one of nulls
	exports  map[*chart.Chart][]export
	warnings []string
}

func (co *coalescer) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(co.warnings, text) {
		co.warnings = append(co.warnings, text)
	}
}

// scope returns the values of chart c if over are the values that the user and the chart's
// parents set. The result is a new map that shares tables with over and with the
// defaults, neither of which scope modifies. l are the lists of c's values that merge.
func (co *coalescer) scope(c *chart.Chart, over map[string]any, path string, l *Lists) (map[string]any, error) {
	co.hasNulls = co.nulls[c]
	out := make(map[string]any, len(over)+len(c.Values)+1)
	subcharts := c.Subcharts()
	subs := make(map[string]bool, len(subcharts))
	for _, d := range subcharts {
		subs[d.Name()] = true
	}
	for k, v := range over {
		def, ok := c.Values[k]
		switch {
		case !ok:
			out[k] = v
		case v != nil:
			out[k] = co.value(v, def, join(path, k), co.keepNulls || subs[k], l.field(k))
		case co.keepNulls:
			out[k] = nil
		}
	}
	for k, v := range c.Values {
		if _, ok := over[k]; !ok && (v != nil || co.keepNulls) {
			out[k] = co.fallback(v, co.keepNulls)
		}
	}
	if co.exports[c] != nil {
		co.export(c, out, over, path, l)
	}
	for _, d := range subcharts {
		name := d.Name()
		var vals map[string]any
		switch v := out[name].(type) {
		case map[string]any:
			vals = v
		case nil:
		default:
			return nil, fmt.Errorf("the values of %s have %s for the subchart %q, want a table", path, kind(v), name)
		}
		vals = co.mergeGlobal(vals, out, path+"."+name, l.field(name))
		sub, err := co.scope(d, vals, path+"."+name, l.field(name))
		if err != nil {
			return nil, err
		}
		out[name] = sub
	}
	return out, nil
}

// value returns the value of a key that is in both over and the defaults. If keepNulls is
// set, nulls of over stay, for the charts below.
func (co *coalescer) value(over, def any, path string, keepNulls bool, l *Lists) any {
	ot, otable := over.(map[string]any)
	dt, dtable := def.(map[string]any)
	switch {
	case otable && dtable:
		return co.tables(ot, dt, path, keepNulls, l)
	case dtable:
		co.warn("cannot overwrite table with non table for %s: %s replaces the chart's table", path, kind(over))
	case otable && def != nil:
		co.warn("destination for %s is a table: it replaces the chart's default, which is %s", path, kind(def))
	}
	if list, ok := l.merge(def, over, co.items(path, keepNulls)); ok {
		return list
	}
	return replace(over, def)
}

// items returns the merger of the items of a list.
func (co *coalescer) items(path string, keepNulls bool) tableMerger {
	return func(base, over map[string]any, l *Lists) map[string]any {
		return co.tables(over, base, path, keepNulls, l)
	}
}

// tables merges over into a copy of defaults.
func (co *coalescer) tables(over, defaults map[string]any, path string, keepNulls bool, l *Lists) map[string]any {
	if same(over, defaults) {
		return over
	}
	out := make(map[string]any, len(over)+len(defaults))
	for k, v := range over {
		def := defaults[k]
		switch {
		case def == nil:
			out[k] = v
		case v != nil:
			out[k] = co.value(v, def, join(path, k), keepNulls, l.field(k))
		case keepNulls:
			out[k] = nil
		}
	}
	for k, v := range defaults {
		if _, ok := over[k]; !ok && (v != nil || keepNulls) {
			out[k] = co.fallback(v, keepNulls)
		}
	}
	return out
}

// same reports whether a and b are the same map. This is common: a subchart's defaults are
// also part of its parent's imported defaults.
func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// fallback returns a default that is not overridden.
func (co *coalescer) fallback(def any, keepNulls bool) any {
	if keepNulls || !co.hasNulls {
		return def
	}
	return removeNulls(def)
}

// removeNulls returns a copy of v without the nulls in tables. Nulls in lists stay.
func removeNulls(v any) any {
	table, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(table))
	for k, e := range table {
		if e != nil {
			out[k] = removeNulls(e)
		}
	}
	return out
}

// mergeGlobal returns own, the values of a subchart, with the parent's globals merged into
// its own. If a global is not a table, it returns own unchanged.
func (co *coalescer) mergeGlobal(vals, parent map[string]any, path string, l *Lists) map[string]any {
	global, ok := parent[Global].(map[string]any)
	if _, exists := parent[Global]; exists && !ok {
		co.warn("the global of the chart above %s is %s, must be a table", path, kind(parent[Global]))
		return vals
	}
	globals, ok := vals[Global].(map[string]any)
	if _, exists := vals[Global]; exists && !ok {
		co.warn("%s.global is %s, must be a table", path, kind(vals[Global]))
		return vals
	}
	out := make(map[string]any, len(vals)+1)
	maps.Copy(out, vals)
	switch {
	case len(globals) == 0 && global != nil:
		out[Global] = global
	case len(globals) == 0:
		out[Global] = map[string]any{}
	case len(global) > 0:
		out[Global] = co.globals(global, globals, path+"."+Global, l.field(Global))
	}
	return out
}

// globals merges a parent's globals into mine, the globals of a subchart. If a key is a
// table in only one of them, the subchart's value stays.
func (co *coalescer) globals(global, local map[string]any, path string, l *Lists) map[string]any {
	out := maps.Clone(local)
	for k, v := range global {
		value, exists := local[k]
		gt, gtable := v.(map[string]any)
		ot, otable := value.(map[string]any)
		switch {
		case gtable && otable:
			out[k] = co.tables(gt, ot, join(path, k), true, l.field(k))
		case exists && gtable != otable:
			co.warn("%s is %s and stays so, although it is %s in the chart above", join(path, k), kind(value), kind(v))
		default:
			out[k] = replace(v, value)
			if list, ok := l.field(k).merge(value, v, co.items(join(path, k), true)); ok {
				out[k] = list
			}
		}
	}
	return out
}
