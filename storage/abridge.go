// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/release"
)

// abridge returns a smaller record of at most limit bytes for r. A record that needs several
// objects (see parts.go) is created with this one first. It remains only if the client dies
// before the other objects are written, and then nothing has been applied yet. It omits all of
// the chart but its metadata, with the origins of values, then the notes, then the manifest and
// the hooks, then the values and the patches.
func abridge(r Record, limit int) ([]byte, error) {
	rel, err := release.Decode(r.Data)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", objectName(r.Key), err)
	}
	meta, err := rel.Metadata()
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", objectName(r.Key), err)
	}
	for _, omit := range []func(){
		func() { rel.SetChart(&chart.Chart{Metadata: meta}); rel.ValueOrigins = nil },
		func() { rel.Info.Notes = "" },
		func() { rel.Manifest, rel.Hooks = "", nil },
		func() { rel.Config, rel.Patches = nil, nil },
	} {
		omit()
		text, err := release.Encode(rel)
		if err != nil || len(text) <= limit {
			return text, err
		}
	}
	return nil, &TooLargeError{Key: r.Key, Size: len(r.Data), Limit: limit}
}
