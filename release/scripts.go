// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/moonhelm/moonhelm/chart"
)

// keyScripts is the key of a record that holds the scripts of the chart's tree,
// because "chart" holds no subcharts. Helm reads past it. Where Helm has
// written the record since, it is gone, and the chart's own scripts are left.
const keyScripts = "scripts"

// scriptsJSON is one chart of the tree.
type scriptsJSON struct {
	Metadata *chart.Metadata `json:"metadata"`
	Library  bool            `json:"library,omitempty"`
	// Unaliased is the chart's own name, where it goes by an alias.
	Unaliased string        `json:"unaliased,omitempty"`
	Files     []*chart.File `json:"files,omitempty"`
	Charts    []scriptsJSON `json:"charts,omitempty"`
}

// SetScripts keeps the scripts of the tree below c, which is what took part in
// the operation; a tree without scripts leaves none. A rollback or an uninstall
// runs them again.
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

// Scripts returns the tree of charts whose scripts belong to the release, with
// their metadata and the files of ext/ only; nil where there are none.
func (r *Release) Scripts() (*chart.Chart, error) {
	if r.scripts != nil {
		var j scriptsJSON
		if err := json.Unmarshal(r.scripts, &j); err != nil {
			return nil, fmt.Errorf("read the scripts of release %s: %w", r.Name, err)
		}
		return fromScripts(j, 0)
	}
	if r.chart.chart == nil && !bytes.Contains(r.chart.raw, []byte(chart.FileScript)) {
		return nil, nil // without decoding the whole chart
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

// maxScriptDepth bounds how deep a forged record can nest charts.
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
	below := make([]*chart.Chart, len(j.Charts))
	for i, sub := range j.Charts {
		d, err := fromScripts(sub, depth+1)
		if err != nil {
			return nil, err
		}
		below[i] = d
	}
	c.SetDependencies(below...)
	return c, nil
}
