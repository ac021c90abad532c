// SPDX-License-Identifier: Apache-2.0

package planfile

import "testing"

// The cost of one digest of what may be secret; a plan has four, and one for each Secret that changes.
func BenchmarkDigest(b *testing.B) {
	d := NewDigester(Release{Name: "web", Namespace: "shop", Revision: 2})
	b.ReportAllocs()
	for b.Loop() {
		d.Secret([]byte("hunter2"))
	}
}
