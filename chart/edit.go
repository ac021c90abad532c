// SPDX-License-Identifier: Apache-2.0

package chart

import "github.com/moonhelm/moonhelm/internal/yaml"

// EditVersions returns the text of a Chart.yaml with its version and appVersion
// replaced, and everything else, comments too, as it was. A value that is
// already there is left alone; an empty one asks for nothing. New values are
// quoted if quoted is set or the old one was. It is an error if the text has no
// place for a value that is simple enough; whether the result reads as wanted
// is for the caller to check.
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
