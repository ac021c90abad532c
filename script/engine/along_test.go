// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/script/wire"
)

// A script does not notice whether contents came along with the call.
func TestContentsThatComeAlongAreLikeOthers(t *testing.T) {
	for name, body := range map[string]string{
		"read":             `print(v.port, v.image.tag, v.nowhere, v.none, v.hosts[2], v.image.nowhere)`,
		"write":            `v.port = 1 v.fresh = {a = 1} v.image.tag = "4"`,
		"read, then write": `v.port = v.port + 1 v.image.tag = v.image.tag .. "!" v.none = v.none`,
		"take away":        `v.port = nil v.nowhere = nil v.image.tag = nil print(v.port, v.nowhere, v.image.tag)`,
		"come back":        `v.port = nil print(v.port) v.port = 3 print(v.port)`,
		"write and undo":   `v.fresh = 1 v.fresh = nil local p = v.port v.port = 0 v.port = p`,
		"then all":         `v.port = 1 v.big = nil v.fresh = 2 for k in pairs(v) do print(k) end print((next(v)))`,
		"all of it":        `for k, x in pairs(v.image) do print(k, x) end v.image.tag = "x"`,
		"raw":              `print(rawget(v, "port"), #v.hosts) rawset(v, "fresh", 1) rawset(v.image, "tag", nil) print(v.image.tag)`,
		"encoded":          `v.port = nil print(json.encode(v), yaml.encode(v.image))`,
		"move":             `v.copy = v.image v.image.tag = "x"`,
		"swap":             `v.image, v.global = v.global, v.image`,
		"move up":          `v.image.tag = "x" v.port = v.image v.image = nil`,
		"twice":            `v.a = v.image v.b = v.image v.b.tag = "x"`,
		"holds itself":     `v.image.tag = v`,
		"holds itself too": `v.image.tag = v.image`,
		"replace":          `v.port = 1 ctx.values = {port = v.port, image = v.image}`,
		"replace by part":  `v.image.tag = "x" ctx.values = v.image`,
		"no data":          `v.port = print`,
		"deep no data":     `v.port = {a = {print}}`,
		"numbers for keys": `print(v[1]) v[1] = "x"`,
		"lists":            `table.insert(v.hosts, "c") v.hosts[1] = nil`,
		"read-only":        `print(ctx.chart.name, ctx.chart.icon, ctx.chart.nowhere, ctx.chart.kubernetesVersions, ctx.capabilities.has("v1")) ctx.chart.name = "x"`,
		"objects":          `for _, o in ipairs(ctx.objects) do print(o.metadata.name, o.nowhere) o.metadata.labels = {a = "b"} end`,
		"many":             `for i = 1, 100 do print(v["k" .. i]) end v.k7 = nil v.port = v.k8`,
	} {
		type outcome struct {
			printed []string
			ctx     m
			err     string
		}
		run := func(along bool) outcome {
			h := started(t, alone(on("pre-render", "local v = ctx.values\n"+body)))
			h.along = along
			ctx := baseContext()
			for i := range 90 {
				ctx["values"].(m)[fmt.Sprintf("k%d", i)] = int64(i)
			}
			o := outcome{ctx: ctx}
			if err := h.emit("pre-render", map[int]m{0: ctx}, "values", "objects"); err != nil {
				o.err = err.Error()
			}
			o.printed = h.printed
			return o
		}
		if asked, along := run(false), run(true); !reflect.DeepEqual(asked, along) {
			t.Errorf("%s:\nasked for: %+v\nalong:     %+v", name, asked, along)
		}
	}
}

// What comes along is not asked for.
func TestContentsThatComeAlongAreNotAskedFor(t *testing.T) {
	h := started(t, alone(on("pre-render", `ctx.values.image.tag = ctx.values.hosts[1] for _, o in ipairs(ctx.objects) do o.kind = "x" end`)))
	h.along = true
	done, err := h.call(h.handlers[0], baseContext(), "values", "objects")
	if err != nil {
		t.Fatal(err)
	}
	if h.loads != 0 || len(done["changes"].(l)) != 3 {
		t.Errorf("%d questions, changes %v", h.loads, done["changes"])
	}
}

// What a host says that makes no sense is an error, not a crash.
func TestContentsThatMakeNoSense(t *testing.T) {
	for _, answer := range []m{{}, {"value": l{}}, {"value": int64(1)}, {"value": wire.Ref{ID: 1, List: true}}, {"value": m{"port": wire.Ref{ID: 1, List: true}}}} {
		h := started(t, alone(on("pre-render", `local x = ctx.values.port; if type(x) == "table" then x = x[1] end`)))
		h.odd = answer
		if _, err := h.call(h.handlers[0], baseContext(), "values"); err == nil || strings.Contains(err.Error(), "engine failed") {
			t.Errorf("%v: %v", answer, err)
		}
	}
	for _, contents := range []any{l{int64(1)}, l{m{}}, l{m{"ref": wire.Ref{ID: 1}, "value": l{}}}, l{m{"ref": wire.Ref{ID: 1, List: true}, "value": l{}}, m{"ref": wire.Ref{ID: 1}, "value": m{}}}} {
		h := started(t, alone(on("pre-render", `local x = ctx.values`)))
		_, err := h.request(wire.Call, m{"handler": h.handlers[0]["id"], "event": "pre-render", "chart": int64(0),
			"context": wire.Ref{ID: 1}, "contents": contents})
		if err == nil || strings.Contains(err.Error(), "engine failed") {
			t.Errorf("%v: %v", contents, err)
		}
	}
}
