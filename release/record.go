// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"fmt"

	"github.com/moonhelm/moonhelm/chart"
)

// chartRecord is the chart of a release: its encoded text, or the decoded chart, or both.
type chartRecord struct {
	raw   json.RawMessage
	chart *chart.Chart
}

// chartJSON is the value of the key "chart". It does not include subcharts.
type chartJSON struct {
	Metadata  *chart.Metadata `json:"metadata"`
	Lock      *chart.Lock     `json:"lock"`
	Templates []*chart.File   `json:"templates"`
	Values    map[string]any  `json:"values"`
	Schema    []byte          `json:"schema"`
	Files     []*chart.File   `json:"files"`
}

func (c *chartRecord) text() ([]byte, error) {
	if c.raw != nil || c.chart == nil {
		return c.raw, nil
	}
	return json.Marshal(chartJSON{
		Metadata:  c.chart.Metadata,
		Lock:      c.chart.Lock,
		Templates: c.chart.Templates,
		Values:    c.chart.Values,
		Schema:    c.chart.Schema,
		Files:     c.chart.Files,
	})
}

// SetChart sets the chart of the record; nil removes it. The caller must not change c
// before the record is encoded.
func (r *Release) SetChart(c *chart.Chart) { r.chart = chartRecord{chart: c} }

// Chart returns the chart of the record, or nil if the record has none. The first call
// decodes it. The chart has no subcharts and no Raw files, because records do not include
// them.
func (r *Release) Chart() (*chart.Chart, error) {
	if r.chart.chart != nil || r.chart.raw == nil {
		return r.chart.chart, nil
	}
	var j chartJSON
	if err := json.Unmarshal(r.chart.raw, &j); err != nil {
		return nil, fmt.Errorf("read chart of release %s: %w", r.Name, err)
	}
	r.chart.chart = &chart.Chart{
		Metadata:  j.Metadata,
		Lock:      j.Lock,
		Templates: dropNil(j.Templates),
		Values:    j.Values,
		Schema:    j.Schema,
		Files:     dropNil(j.Files),
	}
	if r.chart.chart.Values == nil {
		r.chart.chart.Values = map[string]any{}
	}
	return r.chart.chart, nil
}

// Metadata returns the metadata of the record's chart without decoding the rest of the
// chart, or nil if the record has none.
func (r *Release) Metadata() (*chart.Metadata, error) {
	if r.chart.chart != nil {
		return r.chart.chart.Metadata, nil
	}
	var meta *chart.Metadata
	if r.chart.raw == nil {
		return nil, nil
	}
	err := members(r.chart.raw, func(key string, value json.RawMessage) error {
		if key != "metadata" {
			return nil
		}
		return json.Unmarshal(value, &meta)
	})
	if err != nil {
		return nil, fmt.Errorf("read chart of release %s: %w", r.Name, err)
	}
	return meta, nil
}

func dropNil(files []*chart.File) []*chart.File {
	out := files[:0]
	for _, f := range files {
		if f != nil {
			out = append(out, f)
		}
	}
	return out
}
