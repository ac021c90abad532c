// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/moonhelm/moonhelm/chart"
)

// keyScripts is the key of the scripts of all charts of the release. The key "chart" does
// not include subcharts. Helm ignores the key; if Helm has rewritten the record, the key is
// missing and only the scripts of the top chart are left.
const keyScripts = "scripts"

// scriptsJSON holds the scripts of one chart and its subcharts.
type scriptsJSON struct {
	Metadata *chart.Metadata `json:"metadata"`
	Library  bool            `json:"library,omitempty"`
	// Unaliased is the chart's name if an alias replaces it.
	Unaliased string        `json:"unaliased,omitempty"`
	Files     []*chart.File `json:"files,omitempty"`
	Charts    []scriptsJSON `json:"charts,omitempty"`
}

// SetScripts records the scripts of c and its subcharts, so that a rollback or an uninstall
// can run them. If there are none, it removes the recorded scripts.
func (r *Release) SetScripts(c *chart.Chart) error {
	r.scripts = nil
	tree := c.Scripts()
	if tree == nil {
		return nil
	}
	text, err := json.Marshal(toScripts(tree))
	if err != nil {
		return fmt.Errorf("write the scripts of release %s: %w", r.Name, err)
	}
	r.scripts = text
	return nil
}

// Scripts returns the charts of the release with their metadata and the files of ext/ only,
// or nil if the release has no scripts.
func (r *Release) Scripts() (*chart.Chart, error) {
	if r.scripts != nil {
		var j scriptsJSON
		if err := json.Unmarshal(r.scripts, &j); err != nil {
			return nil, fmt.Errorf("read the scripts of release %s: %w", r.Name, err)
		}
		return fromScripts(j, 0)
	}
	if r.chart.chart == nil && !bytes.Contains(r.chart.raw, []byte(chart.FileScript)) {
		return nil, nil // saves decoding the chart
	}
	c, err := r.Chart()
	if err != nil || c == nil {
		return nil, err
	}
	return c.Scripts(), nil
}

func toScripts(c *chart.Chart) scriptsJSON {
	j := scriptsJSON{Metadata: c.Metadata, Library: c.FromLibrary, Unaliased: c.Unaliased, Files: c.Files}
	for _, d := range c.Dependencies() {
		j.Charts = append(j.Charts, toScripts(d))
	}
	return j
}

// maxScriptDepth limits the nesting of charts in a forged record.
const maxScriptDepth = 100

func fromScripts(j scriptsJSON, depth int) (*chart.Chart, error) {
	if depth > maxScriptDepth || j.Metadata == nil {
		return nil, fmt.Errorf("the scripts in the record are not a tree of charts")
	}
	c := &chart.Chart{Metadata: j.Metadata, FromLibrary: j.Library, Unaliased: j.Unaliased}
	for _, f := range j.Files {
		if f != nil {
			c.Files = append(c.Files, f)
		}
	}
	subcharts := make([]*chart.Chart, len(j.Charts))
	for i, sub := range j.Charts {
		d, err := fromScripts(sub, depth+1)
		if err != nil {
			return nil, err
		}
		subcharts[i] = d
	}
	c.SetDependencies(subcharts...)
	return c, nil
}
