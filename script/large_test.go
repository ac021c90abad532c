// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/wire"
)

// What is large is sent when a script looks at it. What comes of it is the same.
func TestLargeValuesAreLikeSmall(t *testing.T) {
	const pad = "pad"
	for name, code := range map[string]string{
		"nothing":                   ``,
		"a scalar":                  `v.a = v.a + 1 v.b = v.none v.c = math.type(v.whole)`,
		"what is not there":         `v.x = v.nowhere v.y = type(v.nowhere)`,
		"a table":                   `v.t.x = "new" v.t.l[1] = 7`,
		"a table moved":             `v.u = v.t v.t = nil`,
		"a table copied":            `v.u = v.t`,
		"a table in a new list":     `v.u = {v.t}`,
		"a subchart":                `v.db.port = 1 v.seen = v.db.name`,
		"global":                    `v.global.g = 1`,
		"a subchart's global":       `v.db.global.new = v.db.global.g`,
		"by two ways":               `ctx.charts.db.values.port = 1 v.db.name = "x"`,
		"first one, then all of it": `v.a = 5 v.t.x = 6 local n = 0 for k in pairs(v) do n = n + 1 end v.whole = nil`,
		"replaced by its part":      `ctx.values = v.t`,
		"of a wrong kind":           `v.db = 1`,
	} {
		run := func(large bool) (map[string]any, string) {
			c := lchart("web", `events.on("pre-render", function(ctx) local v = ctx.values `+code+` end)`, newChart("db", nil))
			given := vals(t, "a: 1\nwhole: 2.0\nnone: null\nt: {x: z, l: [1, 2], million: 1000000}\nglobal: {g: 1}\ndb: {port: 3306, name: db, global: {g: 1}}\n")
			if large {
				given[pad] = strings.Repeat("x", 600<<10)
				given["db"].(map[string]any)[pad] = given[pad]
				given["t"].(map[string]any)[pad] = given[pad]
			}
			e := &event.PreRender{Payload: event.Payload{Chart: c, Values: given}}
			if err := emit(t, e); err != nil {
				return nil, err.Error()
			}
			return without(e.Values, pad), ""
		}
		small, err1 := run(false)
		large, err2 := run(true)
		// Types show: a million is 1000000 as an int64 and 1e+06 as a float64.
		if a, b := fmt.Sprintf("%#v", small), fmt.Sprintf("%#v", large); a != b || err1 != err2 {
			t.Errorf("%s: %s %s; large: %s %s", name, a, err1, b, err2)
		}
	}
}

// without is a copy of v in which no table has that key.
func without(v map[string]any, key string) map[string]any {
	out := map[string]any{}
	for k, e := range v {
		switch held := e.(type) {
		case map[string]any:
			e = without(held, key)
		case []any:
			l := slices.Clone(held)
			for i, in := range l {
				if table, ok := in.(map[string]any); ok {
					l[i] = without(table, key)
				}
			}
			e = l
		}
		if k != key {
			out[k] = e
		}
	}
	return out
}

// counter is a process that counts what helm tells it.
type counter struct {
	script.Process
	bytes *int
}

func (c counter) Write(b []byte) (int, error) {
	*c.bytes += len(b)
	return c.Process.Write(b)
}

// Of a megabyte of values, what a script does not look at is not sent, whether it may
// change or not.
func TestLargeValuesAreSentWhenTheyAreLookedAt(t *testing.T) {
	values := map[string]any{"small": "x", "all": valueTree(200)}
	for _, e := range []event.Event{&event.PreRender{}, &event.PostInstall{}} {
		c := lchart("web", fmt.Sprintf(`events.on(%q, function(ctx) assert(ctx.values.small == "x" and ctx.values.nowhere == nil) end)`, e.Name()))
		*e.Data() = event.Payload{Chart: c, Values: values}
		h, bytes := luaHost(), 0
		h.Start = func(ctx context.Context, l wire.Limits) (script.Process, error) {
			p, err := lua(ctx, l)
			return counter{p, &bytes}, err
		}
		if err := mustLoad(t, h, c).Emit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if bytes > 16<<10 {
			t.Errorf("%s: %d bytes were sent", e.Name(), bytes)
		}
	}
}
