// SPDX-License-Identifier: Apache-2.0

package chart

import "github.com/moonhelm/moonhelm/internal/yaml"

// EditVersions returns the Chart.yaml text with version and appVersion replaced, and
// everything else, including comments, unchanged. An empty argument leaves its field as
// it is. A new value is quoted if quoted is set or the old value was quoted.
//
// EditVersions returns an error if the layout of text is too complex to edit. The caller
// must parse the result to check that it has the new versions.
func EditVersions(text []byte, version, appVersion string, quoted bool) ([]byte, error) {
	out := string(text)
	for _, set := range []struct{ key, value string }{{"version", version}, {"appVersion", appVersion}} {
		if set.value == "" {
			continue
		}
		var err error
		if out, err = yaml.SetText(out, set.key, set.value, quoted); err != nil {
			return nil, err
		}
	}
	return []byte(out), nil
}
