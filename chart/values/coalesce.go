// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"maps"
	"reflect"

	"github.com/moonhelm/moonhelm/chart"
)

// coalescer lays values over the defaults of a tree of charts.
type coalescer struct {
	// keep lets nulls stand, those of the defaults too, because what comes out
	// are defaults again that something else is laid over.
	keep bool
	// nulls are the charts whose defaults hold a null somewhere. They are few,
	// and where there are none, no default is looked through for them.
	nulls    map[*chart.Chart]bool
	dirty    bool // the chart at hand is one of nulls
	warnings []string
}

func (co *coalescer) warn(format string, args ...any) {
	co.warnings = append(co.warnings, fmt.Sprintf(format, args...))
}

// scope computes what chart c sees, given the values that come from above.
// over is read only; the result is a new map that shares tables with over and
// with the charts' defaults.
func (co *coalescer) scope(c *chart.Chart, over map[string]any, path string) (map[string]any, error) {
	co.dirty = co.nulls[c]
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
			out[k] = co.value(v, def, join(path, k), co.keep || subs[k])
		case co.keep:
			out[k] = nil
		}
	}
	for k, v := range c.Values {
		if _, ok := over[k]; !ok && (v != nil || co.keep) {
			out[k] = co.fallback(v, co.keep)
		}
	}
	for _, d := range subcharts {
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

// value is what a key holds that both over and the defaults have. keep tells
// that nulls of over are still needed further down.
func (co *coalescer) value(over, def any, path string, keep bool) any {
	ot, otable := over.(map[string]any)
	dt, dtable := def.(map[string]any)
	switch {
	case otable && dtable:
		return co.tables(ot, dt, path, keep)
	case dtable:
		co.warn("cannot overwrite table with non table for %s: %s takes the place of the chart's table", path, kind(over))
	case otable && def != nil:
		co.warn("destination for %s is a table: it takes the place of the chart's default, which is %s", path, kind(def))
	}
	return over
}

// tables merges over on the defaults into a new table.
func (co *coalescer) tables(over, defaults map[string]any, path string, keep bool) map[string]any {
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
			out[k] = co.value(v, def, join(path, k), keep)
		case keep:
			out[k] = nil
		}
	}
	for k, v := range defaults {
		if _, ok := over[k]; !ok && (v != nil || keep) {
			out[k] = co.fallback(v, keep)
		}
	}
	return out
}

// same reports whether two maps are one, as they are where a subchart's defaults
// went through the defaults of its parent.
func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// fallback is a default that nothing is laid over.
func (co *coalescer) fallback(def any, keep bool) any {
	if keep || !co.dirty {
		return def
	}
	return withoutNulls(def)
}

// withoutNulls takes the nulls out of a table of defaults. Those in lists are
// values and stay.
func withoutNulls(v any) any {
	table, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(table))
	for k, e := range table {
		if e != nil {
			out[k] = withoutNulls(e)
		}
	}
	return out
}

// withGlobal returns the values own of a subchart with its parent's globals
// laid over its own. A global that is not a table is left to itself.
func (co *coalescer) withGlobal(own, parent map[string]any, path string) map[string]any {
	global, ok := parent[Global].(map[string]any)
	if _, there := parent[Global]; there && !ok {
		co.warn("the global of the chart above %s is %s, must be a table", path, kind(parent[Global]))
		return own
	}
	mine, ok := own[Global].(map[string]any)
	if _, there := own[Global]; there && !ok {
		co.warn("%s.global is %s, must be a table", path, kind(own[Global]))
		return own
	}
	out := make(map[string]any, len(own)+1)
	maps.Copy(out, own)
	switch {
	case len(mine) == 0 && global != nil:
		out[Global] = global
	case len(mine) == 0:
		out[Global] = map[string]any{}
	case len(global) > 0:
		out[Global] = co.globals(global, mine, path+"."+Global)
	}
	return out
}

// globals lays a parent's globals over those that are meant for one of its
// subcharts. Where a table and something else meet at the top, the subchart's
// stays.
func (co *coalescer) globals(global, mine map[string]any, path string) map[string]any {
	out := maps.Clone(mine)
	for k, v := range global {
		own, there := mine[k]
		gt, gtable := v.(map[string]any)
		ot, otable := own.(map[string]any)
		switch {
		case gtable && otable:
			out[k] = co.tables(gt, ot, join(path, k), true)
		case there && gtable != otable:
			co.warn("%s is %s, but %s in the chart above; it stays so", join(path, k), kind(own), kind(v))
		default:
			out[k] = v
		}
	}
	return out
}
