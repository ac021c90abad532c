// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script/engine"
	"github.com/moonhelm/moonhelm/script/wire"
)

type (
	m = map[string]any
	l = []any
)

// host is the other end: it answers from Go maps, a level at a time.
type host struct {
	t    testing.TB
	proc *engine.Process
	conn *wire.Conn

	nodes   []any // by id-1
	levels  map[int64]any
	odd     m // the answer to every question for a level but the context's
	charts  []any
	limits  wire.Limits
	lookup  func(body m) (any, error)
	http    func(body m) (m, error)
	printed []string
	found   []m
	assigns []m
	loads   int
	along   bool // all contents are sent along with a call
	// registered
	handlers []m
}

// failure is a Fail.
type failure struct{ m }

func (f *failure) Error() string { return f.m["message"].(string) }

func (f *failure) limit() string { return f.m["limit"].(string) }

// chartOf describes a chart; the name of a file is that below ext/lua.
func chartOf(name, path string, parent int, files map[string]string, more ...m) any {
	f := m{}
	for k, v := range files {
		f[k] = v
	}
	c := m{"name": name, "path": path, "parent": parent, "library": false, "files": f, "requires": m{}, "grants": l{}}
	for _, x := range more {
		maps.Copy(c, x)
	}
	return c
}

func alone(script string) []any {
	return []any{chartOf("web", "web", -1, map[string]string{"chart.lua": script})}
}

// newHost starts an engine in this process.
func newHost(t testing.TB, charts []any) *host {
	t.Helper()
	proc, err := engine.InProcess(context.Background(), wire.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, proc: proc, conn: wire.NewConn(proc, proc), charts: charts, limits: wire.DefaultLimits()}
	t.Cleanup(func() { proc.Kill() })
	return h
}

// start loads the scripts.
func (h *host) start() error {
	var names []any
	for _, n := range event.Names() {
		names = append(names, n)
	}
	_, err := h.request(wire.Start, m{
		"limits": m{"cpu": h.limits.CPU.Milliseconds(), "memory": h.limits.Memory, "output": h.limits.Output},
		"seed":   int64(42), "events": names, "environ": l{"HOME=/home/x"}, "charts": h.charts,
	})
	return err
}

// started is a host whose scripts are loaded.
func started(t testing.TB, charts []any) *host {
	t.Helper()
	h := newHost(t, charts)
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	return h
}

// request asks the engine and answers what it asks.
func (h *host) request(kind wire.Kind, body m) (m, error) {
	if err := h.conn.Send(wire.Message{Kind: kind, Body: body}); err != nil {
		return nil, err
	}
	for {
		got, err := h.conn.Receive()
		if err != nil {
			return nil, err
		}
		switch got.Kind {
		case wire.Done:
			if list, ok := got.Body["handlers"].([]any); ok {
				h.handlers = h.handlers[:0]
				for _, x := range list {
					h.handlers = append(h.handlers, x.(m))
				}
			}
			return got.Body, nil
		case wire.Fail:
			return nil, &failure{got.Body}
		case wire.Print:
			h.printed = append(h.printed, got.Body["text"].(string))
		case wire.Finding:
			h.found = append(h.found, got.Body)
		default:
			answer, err := h.answer(got)
			reply := wire.Message{Kind: wire.Answer, Body: answer}
			if err != nil {
				reply = wire.Message{Kind: wire.Refuse, Body: m{"message": err.Error()}}
			}
			if err := h.conn.Send(reply); err != nil {
				return nil, err
			}
		}
	}
}

func (h *host) answer(got wire.Message) (m, error) {
	switch got.Kind {
	case wire.Load:
		h.loads++
		id := got.Body["id"].(int64)
		if h.odd != nil && id > 1 {
			return h.odd, nil
		}
		return m{"value": h.level(id)}, nil
	case wire.Lookup:
		v, err := h.lookup(got.Body)
		return m{"value": v}, err
	case wire.HTTP, wire.Host:
		return h.http(got.Body)
	case wire.Assign:
		h.assigns = append(h.assigns, got.Body)
		return m{}, nil
	}
	return nil, fmt.Errorf("unexpected %s", got.Kind)
}

// ref hands a map or list out.
func (h *host) ref(v any) wire.Ref {
	_, list := v.([]any)
	h.nodes = append(h.nodes, v)
	return wire.Ref{ID: uint64(len(h.nodes)), List: list}
}

// level is one level of a value, the same whenever it is asked for.
func (h *host) level(id int64) any {
	if h.levels[id] == nil {
		h.levels[id] = h.newLevel(h.nodes[id-1])
	}
	return h.levels[id]
}

func (h *host) newLevel(v any) any {
	one := func(v any) any {
		switch v.(type) {
		case m, l:
			return h.ref(v)
		}
		return v
	}
	switch v := v.(type) {
	case m:
		out := m{}
		for k, x := range v {
			out[k] = one(x)
		}
		return out
	case l:
		out := make(l, len(v))
		for i, x := range v {
			out[i] = one(x)
		}
		return out
	}
	return v
}

// emit runs the handlers of an event on contexts (by chart) in order of
// priority and applies what they change.
func (h *host) emit(name string, contexts map[int]m, may ...string) error {
	hs := slices.Clone(h.handlers)
	slices.SortStableFunc(hs, func(a, b m) int {
		pa, pb := a["priority"].(float64), b["priority"].(float64)
		switch {
		case pa < pb:
			return -1
		case pa > pb:
			return 1
		}
		return 0
	})
	for _, x := range hs {
		if x["event"] != name {
			continue
		}
		i := int(x["chart"].(int64))
		if _, err := h.call(x, contexts[i], may...); err != nil {
			return err
		}
	}
	return nil
}

// call runs one handler.
func (h *host) call(handler m, context m, may ...string) (m, error) {
	h.nodes, h.levels = h.nodes[:0], map[int64]any{}
	var mays []any
	for _, x := range may {
		mays = append(mays, x)
	}
	if mays == nil {
		mays = l{}
	}
	lint := handler["event"] == "pre-lint"
	ref, contents := h.ref(context), l{}
	for id := 1; h.along && id <= len(h.nodes); id++ {
		_, isList := h.nodes[id-1].([]any)
		contents = append(contents, m{"ref": wire.Ref{ID: uint64(id), List: isList}, "value": h.level(int64(id))})
	}
	done, err := h.request(wire.Call, m{
		"handler": handler["id"], "event": handler["event"], "chart": handler["chart"],
		"context": ref, "contents": contents, "may": mays, "lint": lint,
	})
	if err != nil {
		return nil, err
	}
	// Contents are worked out before anything is overwritten.
	for _, c := range done["changes"].([]any) {
		h.apply(c.(m), context)
	}
	return done, nil
}

// apply puts a change into the maps; lists are replaced where they are held.
func (h *host) apply(c m, context m) {
	at := int(c["id"].(int64)) - 1
	switch node := h.nodes[at].(type) {
	case m:
		for _, k := range c["drop"].([]any) {
			delete(node, k.(string))
		}
		for k, v := range c["set"].(m) {
			node[k] = h.whole(v)
		}
	case l:
		now := h.whole(c["list"]).([]any)
		replace(context, node, now)
		h.nodes[at] = now
	}
}

func (h *host) whole(v any) any {
	switch v := v.(type) {
	case wire.Ref:
		return h.nodes[v.ID-1]
	case m:
		out := m{}
		for k, x := range v {
			out[k] = h.whole(x)
		}
		return out
	case l:
		out := make(l, len(v))
		for i, x := range v {
			out[i] = h.whole(x)
		}
		return out
	}
	return v
}

// replace puts another list where one is.
func replace(in any, old, now []any) {
	same := func(v any) bool {
		x, ok := v.([]any)
		return ok && len(x) == len(old) && (len(x) > 0 && &x[0] == &old[0] || len(x) == 0 && len(old) == 0)
	}
	switch in := in.(type) {
	case m:
		for k, v := range in {
			if same(v) {
				in[k] = now
				return
			}
			replace(v, old, now)
		}
	case l:
		for i, v := range in {
			if same(v) {
				in[i] = now
				return
			}
			replace(v, old, now)
		}
	}
}

// baseContext is a context with a bit of everything.
func baseContext() m {
	return m{
		"chart":        m{"name": "alpine", "version": "1.1.0", "description": "", "sources": l{}, "kubeVersion": ">1.9.0", "keywords": l{"alpine", "utility"}, "maintainers": l{m{"name": "M Butcher"}}},
		"release":      m{"name": "my-alpine", "namespace": "default", "revision": int64(1), "service": "Helm", "isInstall": true, "isUpgrade": false},
		"capabilities": m{"helmVersion": "4.0.0", "kubernetesVersion": "1.31.0", "apiVersions": l{"v1", "batch/v1"}},
		"values":       m{"port": int64(8080), "image": m{"name": "alpine", "tag": "3.8"}, "hosts": l{"a", "b"}, "big": int64(9007199254740993), "ratio": 2.0, "none": nil, "empty": m{}, "nothing": l{}, "global": m{"region": "eu"}},
		"files":        l{m{"name": "config.json", "data": "{}"}},
		"templates":    l{m{"name": "pod.yaml", "data": "kind: Pod"}},
		"dependencies": l{m{"name": "nginx", "version": "1.2.0"}},
		"objects":      l{m{"apiVersion": "v1", "kind": "Pod", "metadata": m{"name": "a"}}, m{"apiVersion": "v1", "kind": "Service", "metadata": m{"name": "b"}}},
		"charts":       m{},
		"minimal":      false, "dryRun": true,
	}
}

// on is a script with one handler.
func on(event, body string) string {
	return fmt.Sprintf("events.on(%q, function(ctx)\n%s\nend)", event, body)
}

// handle runs one handler's text and returns the context as it is afterwards.
func handle(t testing.TB, event, body string, may ...string) (m, *host, error) {
	t.Helper()
	h := started(t, alone(on(event, body)))
	ctx := baseContext()
	err := h.emit(event, map[int]m{0: ctx}, may...)
	return ctx, h, err
}

// says wants an error that contains all the parts.
func says(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; wanted %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not say %q", err, p)
		}
	}
}

// within fails if f takes longer.
func within(t testing.TB, d time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("not done within %s", d)
	}
}
