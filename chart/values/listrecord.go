// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"

	"github.com/moonhelm/moonhelm/chart"
)

// listRecord is a [Lists] without the schemas, as a release record has it: the chart of a record lacks
// its subcharts and their schemas.
type listRecord struct {
	Type   string                 `json:"type,omitempty"` // map or set
	Keys   []string               `json:"keys,omitempty"`
	Fields map[string]*listRecord `json:"fields,omitempty"`
	Items  *listRecord            `json:"items,omitempty"`
}

// Record returns the lists in the values, as JSON for [ReadLists]. It returns nil if none of them
// merges.
func (l *Lists) Record(vals ...map[string]any) json.RawMessage {
	var rec *listRecord
	for _, v := range vals {
		rec = l.record(rec, v)
	}
	if rec == nil {
		return nil
	}
	text, err := json.Marshal(rec)
	if err != nil {
		return nil // there is nothing in it that has no JSON
	}
	return text
}

// record adds the lists in v to rec, which may be nil.
func (l *Lists) record(rec *listRecord, v any) *listRecord {
	if l == nil {
		return rec
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			var was *listRecord
			if rec != nil {
				was = rec.Fields[k]
			}
			below := l.field(k).record(was, e)
			if below == nil {
				continue
			}
			if rec == nil {
				rec = &listRecord{}
			}
			if rec.Fields == nil {
				rec.Fields = map[string]*listRecord{}
			}
			rec.Fields[k] = below
		}
	case []any:
		r := l.list()
		if r == nil {
			return rec
		}
		if rec == nil {
			rec = &listRecord{}
		}
		rec.Type, rec.Keys = "set", r.keys
		if r.keys != nil {
			rec.Type = "map"
		}
		for _, e := range v {
			rec.Items = r.items.record(rec.Items, e)
		}
	}
	return rec
}

// ReadLists returns the lists that [Lists.Record] has recorded, or nil if there are none or the text
// is not valid.
func ReadLists(text json.RawMessage) *Lists {
	var rec *listRecord
	if len(text) == 0 || json.Unmarshal(text, &rec) != nil {
		return nil
	}
	return rec.lists()
}

// lists returns the lists of a record. Its depth is that of a JSON document.
func (rec *listRecord) lists() *Lists {
	if rec == nil {
		return nil
	}
	l := &Lists{hasRule: true, fields: map[string]*Lists{}}
	for k, below := range rec.Fields {
		l.fields[k] = below.lists()
	}
	if rec.Type == "set" || rec.Type == "map" && len(rec.Keys) > 0 {
		l.rule = &listRule{items: rec.Items.lists()}
		if rec.Type == "map" {
			l.rule.keys = rec.Keys
		}
	}
	return l
}

// Resolve is like the function [Resolve], with l for the lists that merge.
func (l *Lists) Resolve(c *chart.Chart, user map[string]any) (*Resolved, error) {
	return resolve(c, user, &importer{}, func(*chart.Chart) *Lists { return l })
}
