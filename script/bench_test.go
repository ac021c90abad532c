// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/event"
)

// tree is a large tree of values: n tables of n keys.
func valueTree(n int) map[string]any {
	out := map[string]any{}
	for i := range n {
		t := map[string]any{}
		for j := range n {
			t[fmt.Sprintf("key%d", j)] = strings.Repeat("v", 20)
		}
		out[fmt.Sprintf("table%d", i)] = t
	}
	return out
}

func many(n int) map[string]any {
	out := map[string]any{}
	for i := range n {
		out[fmt.Sprintf("key%d", i)] = float64(i)
	}
	return out
}

var cases = map[string]struct {
	values map[string]any
	code   string
}{
	"nothing is read of 1 MB":            {map[string]any{"all": valueTree(200)}, `local _ = ctx.release.name`},
	"one of 1 MB is read":                {map[string]any{"all": valueTree(200)}, `local _ = ctx.values.all.table7.key9`},
	"one of 1 MB is set":                 {map[string]any{"all": valueTree(200)}, `ctx.values.all.table7.key9 = "x"`},
	"one of 20000 keys is read":          {map[string]any{"all": many(20000)}, `local _ = ctx.values.all.key777`},
	"one of 20000 keys is set":           {map[string]any{"all": many(20000)}, `ctx.values.all.key777 = 1`},
	"nothing is read of 20000 keys":      {map[string]any{"all": many(20000)}, `local _ = ctx.values`},
	"a small chart's values are changed": {map[string]any{"image": map[string]any{"tag": "1"}}, `ctx.values.image.tag = "2"`},
}

func BenchmarkHandler(b *testing.B) {
	for name, tc := range cases {
		b.Run(name, func(b *testing.B) {
			c := lchart("web", `events.on("pre-render", function(ctx) `+tc.code+` end)`)
			h := luaHost()
			h.Limits.CPU = time.Hour
			h.Limits.Memory = 4 << 30
			bus := &event.Bus{}
			bus.Use(h)
			defer h.Close() //nolint:errcheck // it never fails
			if err := bus.Load(b.Context(), &event.ChartResolved{Payload: event.Payload{Chart: c}}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := bus.Emit(b.Context(), &event.PreRender{Payload: event.Payload{Chart: c, Values: tc.values}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
