// SPDX-License-Identifier: Apache-2.0

package readme

import (
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// describe gives the rows descriptions from the chart's schema and from the comments that a
// derived schema has. A schema that cannot be read describes nothing: lint reports it.
func (r *reader) describe(c *chart.Chart, values []byte) {
	existing, _ := schema.Of(c)
	text, err := schema.Derive(values, existing)
	if err != nil {
		return
	}
	var root map[string]any
	if yaml.UnmarshalV3(text, &root) != nil {
		return
	}
	for i := range r.rows {
		row := &r.rows[i]
		if text, ok := described(root, row.keys); ok {
			row.AutoDescription = strings.Join(strings.Fields(text), " ")
		}
	}
}

// described returns the description of the property at a path.
func described(schema map[string]any, path []string) (string, bool) {
	for _, key := range path {
		properties, _ := schema["properties"].(map[string]any)
		schema, _ = properties[key].(map[string]any)
	}
	text, ok := schema["description"].(string)
	return text, ok && len(path) > 0
}
