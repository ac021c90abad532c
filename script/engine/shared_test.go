// SPDX-License-Identifier: Apache-2.0

package engine_test

import "testing"

// Programs that run engines in their own process run several at a time. The
// race detector finds what they share.
func TestEnginesShareNothing(t *testing.T) {
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 5 {
				_, h, err := handle(t, "pre-render", `
for i, x in ipairs(ctx.values.hosts) do print(i, x) end
for k in pairs(ctx.values.image) do print(k, (next(ctx.values.image, k))) end`, "values")
				if err != nil || len(h.printed) != 4 {
					t.Fatal(err, h.printed)
				}
			}
		})
	}
}
