// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
)

// PastRelease is an earlier revision of the release, as templates see it in .Release.History
// (HIP-0029).
type PastRelease struct {
	Name, Namespace             string
	Revision                    int
	Status                      string
	Chart                       *chart.Metadata
	FirstDeployed, LastDeployed time.Time
	// Values are the user's values of the revision, or nil if templates must not see them.
	Values map[string]any
}

// NamesHistory reports whether a template of the tree of c, or a text in vals that a template may
// run, names .Release.History.
func NamesHistory(c *chart.Chart, vals map[string]any) bool {
	return chartNamesHistory(c) || valueNamesHistory(vals)
}

func chartNamesHistory(c *chart.Chart) bool {
	for _, f := range c.Templates {
		if bytes.Contains(f.Data, []byte(".History")) || bytes.Contains(f.Data, []byte(`"History"`)) {
			return true
		}
	}
	for _, d := range c.Dependencies() {
		if chartNamesHistory(d) {
			return true
		}
	}
	return false
}

func valueNamesHistory(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, ".History") || strings.Contains(v, `"History"`)
	case map[string]any:
		for _, e := range v {
			if valueNamesHistory(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if valueNamesHistory(e) {
				return true
			}
		}
	}
	return false
}

// historyData returns .Release.History.
func historyData(history []PastRelease) []any {
	out := make([]any, len(history))
	for i, p := range history {
		m := p.Chart
		if m == nil {
			m = &chart.Metadata{}
		}
		data := map[string]any{
			"Name": p.Name, "Namespace": p.Namespace, "Revision": p.Revision, "Status": p.Status,
			"Chart":         chartData(&chart.Chart{Metadata: m}),
			"FirstDeployed": p.FirstDeployed, "LastDeployed": p.LastDeployed,
		}
		if p.Values != nil {
			data["Values"] = values.Rounded(values.Copy(p.Values))
		}
		out[i] = data
	}
	return out
}
