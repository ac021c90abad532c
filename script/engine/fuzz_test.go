// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/attack"
	"github.com/moonhelm/moonhelm/script/engine"
	"github.com/moonhelm/moonhelm/script/wire"
)

// FuzzScripts runs whole scripts, and their handlers on a context that may
// change. Whatever they are, the engine answers in time.
func FuzzScripts(f *testing.F) {
	if testing.Short() {
		f.Skip("takes more than a second")
	}
	for _, a := range attack.All() {
		if !a.Process && a.Limit == "" && len(a.Script) < 2000 {
			f.Add(a.Script)
		}
	}
	for _, s := range []string{
		`events.on("pre-render", 0.5, function (_) print("got chart " + _.chart.name) _.values.myvalue = "My Value" end)`,
		`function init(events) subchart.init(events) event.on("pre-render", 0.5, function () print("x") end) end`,
		on("pre-render", `ctx.values.image.tag = nil table.insert(ctx.objects, {kind = "X"}) ctx.values = {a = ctx.values} for k, v in pairs(ctx) do print(k) end`),
		on("pre-render", `table.remove(ctx.objects, 1) ctx.values.hosts[3] = helm.null ctx.charts.x = 1`),
		`template.func("f", function(...) return {...} end)`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		p, err := engine.InProcess(context.Background(), wire.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		defer p.Kill()
		h := &host{t: t, conn: wire.NewConn(p, p), charts: alone(script), limits: wire.Limits{CPU: 200 * time.Millisecond, Memory: 32 << 20, Output: 1 << 14}}
		h.lookup = func(m) (any, error) { return m{}, nil }
		h.http = func(m) (m, error) { return nil, errors.New("no network") }
		begin := time.Now()
		// On a slow machine the engine ends itself at a limit, which is its right.
		ended := func(err error) bool {
			var fail *failure
			limited := errors.Is(err, io.EOF) && p.Wait() != nil
			return errors.As(err, &fail) || limited
		}
		if err := h.start(); err != nil {
			if !ended(err) {
				t.Fatal(err)
			}
		} else {
			for _, x := range h.handlers {
				if _, err := h.call(x, baseContext(), "values", "objects", "templates"); err != nil && !ended(err) {
					t.Fatal(err)
				}
				if time.Since(begin) > 3*time.Second {
					break
				}
			}
		}
		if took := time.Since(begin); took > patience {
			t.Fatalf("took %s", took)
		}
	})
}

// FuzzProtocol feeds what may be no protocol at all.
func FuzzProtocol(f *testing.F) {
	seed := func(ms ...wire.Message) {
		var b bytes.Buffer
		for _, msg := range ms {
			if err := wire.NewConn(nil, &b).Send(msg); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(b.Bytes())
	}
	start := wire.Message{Kind: wire.Start, Body: m{"limits": m{"cpu": int64(100), "memory": int64(16 << 20)}, "events": l{"pre-render"}, "charts": alone(on("pre-render", `ctx.values.x = 1`))}}
	call := wire.Message{Kind: wire.Call, Body: m{"handler": int64(1), "event": "pre-render", "context": wire.Ref{ID: 1}, "may": l{"values"}}}
	answer := func(v any) wire.Message { return wire.Message{Kind: wire.Answer, Body: m{"value": v}} }
	seed(start)
	seed(start, call, answer(m{"values": wire.Ref{ID: 2}}), answer(m{"y": l{wire.Ref{ID: 2}, nil, 1.5}}))
	seed(wire.Message{Kind: wire.Check, Body: m{"charts": alone(`require("x")`)}})
	seed(start, wire.Message{Kind: wire.Template, Body: m{"chart": int64(0), "name": "f", "args": l{}}})
	f.Fuzz(func(t *testing.T, in []byte) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		begin := time.Now()
		_ = engine.Serve(ctx, bytes.NewReader(in), io.Discard, engine.Options{})
		if took := time.Since(begin); took > patience {
			t.Fatalf("took %s", took)
		}
	})
}
