// SPDX-License-Identifier: Apache-2.0

package values

import "github.com/moonhelm/moonhelm/internal/yaml"

// Edit changes the text of a values file, raw, so that [Parse] reads now from
// it, and changes as little of it as it can: keys that stay keep their place,
// their comments and the way they are written, numbers of the same value
// included. Of a file of several documents, or one in a form of YAML that is
// not understood to the letter, one plain document may be left.
func Edit(raw []byte, now map[string]any) ([]byte, error) {
	out, err := yaml.Edit(string(raw), now, yaml.Rules{
		Decode: func(text string) (map[string]any, error) { return Parse("values.yaml", []byte(text)) },
		Values: true,
	})
	return []byte(out), err
}
