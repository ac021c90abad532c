// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"maps"
	"reflect"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
)

// spreadGlobals makes what a script has changed of global in the values of any chart so in
// those of all. Where charts differ, the upper one wins.
func (s *snapshot) spreadGlobals(root *chart.Chart, old, now map[string]any) (map[string]any, error) {
	all := &delta{}
	now, err := s.collect(root, old, now, all)
	if err != nil || all.below == nil {
		return now, err
	}
	return spread(root, now, all), nil
}

// collect adds to all what has changed in the global tables of c and the charts below it. It
// returns c's values with the tables of charts that a script has left out put back.
func (s *snapshot) collect(c *chart.Chart, old, now map[string]any, all *delta) (map[string]any, error) {
	if identical(old, now) {
		return now, nil
	}
	out := maps.Clone(table(now))
	for _, d := range c.Subcharts() {
		was, had := old[d.Name()].(map[string]any)
		v, there := now[d.Name()]
		is, ok := v.(map[string]any)
		switch {
		case !ok && there && v != nil:
			return nil, fmt.Errorf("values.%s must be a map: they are the values of a subchart", d.Name())
		case !ok && !had:
			continue
		}
		sub, err := s.collect(d, was, table(is), all)
		if err != nil {
			return nil, err
		}
		out[d.Name()] = sub
	}
	before, _ := old[values.Global].(map[string]any)
	v, there := now[values.Global]
	after, ok := v.(map[string]any)
	dropped := s.scopes[c] != nil && s.scopes[c].now != nil // and not replaced with what is above it
	switch {
	case ok:
		all.compare(before, after)
	case there && identical(v, old[values.Global]):
	case there:
		return nil, fmt.Errorf("values.%s must be a map", values.Global)
	case dropped:
		all.compare(before, nil)
	case before != nil:
		out[values.Global] = before // the values were replaced in those of the chart above
	}
	return out, nil
}

// delta is what has changed in a table: in the tables below keys, or as a whole.
type delta struct {
	below map[string]*delta
	set   any
	whole bool // set takes the key's place
	drop  bool
}

// at returns the delta below a key.
func (d *delta) at(key string) *delta {
	if d.below == nil {
		d.below = map[string]*delta{}
	}
	if d.below[key] == nil {
		d.below[key] = &delta{}
	}
	return d.below[key]
}

// compare adds what is different in now.
func (d *delta) compare(old, now map[string]any) {
	if identical(old, now) {
		return
	}
	for k, v := range now {
		was, had := old[k]
		if had && (identical(was, v) || reflect.DeepEqual(was, v)) {
			continue
		}
		wasTable, ok1 := was.(map[string]any)
		table, ok2 := v.(map[string]any)
		if ok1 && ok2 {
			d.at(k).compare(wasTable, table)
			continue
		}
		*d.at(k) = delta{set: v, whole: true}
	}
	for k := range old {
		if _, still := now[k]; !still {
			*d.at(k) = delta{drop: true}
		}
	}
}

// apply returns t with the changes made.
func (d *delta) apply(t map[string]any) map[string]any {
	out := maps.Clone(table(t))
	for k, e := range d.below {
		switch {
		case e.drop && e.below == nil:
			delete(out, k)
		case e.whole && e.below == nil:
			out[k] = e.set
		default:
			in, _ := out[k].(map[string]any)
			switch {
			case e.whole:
				in, _ = e.set.(map[string]any)
			case e.drop:
				in = nil
			}
			out[k] = e.apply(in)
		}
	}
	return out
}

// spread returns the values of c with the changes made in its global table and in those of the
// charts below it.
func spread(c *chart.Chart, vals map[string]any, d *delta) map[string]any {
	out := maps.Clone(vals)
	if t, ok := vals[values.Global].(map[string]any); ok || vals[values.Global] == nil {
		out[values.Global] = d.apply(t)
	}
	for _, sub := range c.Subcharts() {
		if t, ok := vals[sub.Name()].(map[string]any); ok {
			out[sub.Name()] = spread(sub, t, d)
		}
	}
	return out
}
