// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/release"
)

// abridge makes a record of at most limit bytes of one that is larger. It stands
// while the parts are being written, when nothing has been done to the cluster
// yet, and stays only where the writer is killed there. The chart's files are
// left out, then the notes, the manifest with the hooks, and the values.
func abridge(r Record, limit int) ([]byte, error) {
	rel, err := release.Decode(r.Data)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", objectName(r.Key), err)
	}
	meta, err := rel.Metadata()
	if err != nil {
		return nil, err
	}
	for _, leave := range []func(){
		func() { rel.SetChart(&chart.Chart{Metadata: meta}) },
		func() { rel.Info.Notes = "" },
		func() { rel.Manifest, rel.Hooks = "", nil },
		func() { rel.Config = nil },
	} {
		leave()
		text, err := release.Encode(rel)
		if err != nil || len(text) <= limit {
			return text, err
		}
	}
	return nil, &TooLargeError{Key: r.Key, Size: len(r.Data), Limit: limit}
}
