// SPDX-License-Identifier: Apache-2.0

package values

import "github.com/moonhelm/moonhelm/internal/yaml"

// Edit returns the text of a values file, raw, changed so that [Parse] returns now for it.
// It changes as little as possible: keys that stay keep their position, their comments and
// their formatting. A file with several documents or with YAML that Edit cannot edit may
// be replaced by a single document without comments.
func Edit(raw []byte, vals map[string]any) ([]byte, error) {
	out, err := yaml.Edit(string(raw), vals, yaml.Rules{
		Decode: func(text string) (map[string]any, error) { return Parse("values.yaml", []byte(text)) },
		Values: true,
	})
	return []byte(out), err
}
