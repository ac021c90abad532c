// SPDX-License-Identifier: Apache-2.0

package planfile

import (
	"encoding/json"
	"strings"
)

// restoreNumbers makes the numbers that were read with UseNumber those of package manifest: int64 for
// whole ones.
func (d *Document) restoreNumbers() {
	for _, list := range [][]Object{d.CRDs, d.Objects} {
		for i := range list {
			o := &list[i]
			o.After = restoreMap(o.After)
			for _, changes := range [][]Change{o.Changes, o.Drift} {
				for j := range changes {
					changes[j].From, changes[j].To = restore(changes[j].From), restore(changes[j].To)
				}
			}
		}
	}
	for i := range d.Hooks {
		d.Hooks[i].Object = restoreMap(d.Hooks[i].Object)
	}
	d.Payload.restoreNumbers()
}

func (p *Payload) restoreNumbers() {
	if p != nil {
		p.Values = restoreMap(p.Values)
	}
}

func restoreMap(m map[string]any) map[string]any {
	for key, v := range m {
		m[key] = restore(v)
	}
	return m
}

func restore(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return restoreMap(v)
	case []any:
		for i := range v {
			v[i] = restore(v[i])
		}
		return v
	case json.Number:
		if whole, err := v.Int64(); err == nil && !strings.ContainsAny(v.String(), ".eE") {
			return whole
		}
		number, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return number
	}
	return v
}
