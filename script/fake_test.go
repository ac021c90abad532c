// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/wire"
)

// fake is a process that does in Go what scripts would do in Lua: a goroutine
// that speaks the protocol.
type fake struct {
	r    *io.PipeReader
	w    *io.PipeWriter
	done chan struct{}
	once sync.Once
	err  error
}

func (f *fake) Read(b []byte) (int, error)  { return f.r.Read(b) }
func (f *fake) Write(b []byte) (int, error) { return f.w.Write(b) }
func (f *fake) Wait() error                 { <-f.done; return f.err }
func (f *fake) Kill() error {
	f.once.Do(func() {
		f.r.CloseWithError(io.EOF)
		f.w.CloseWithError(io.ErrClosedPipe)
	})
	return nil
}

// starter runs serve as the process; what it returns is how the process ended.
func starter(serve func(c *wire.Conn) error) script.Starter {
	return func(context.Context, wire.Limits) (script.Process, error) {
		fromHost, toChild := io.Pipe()
		fromChild, toHost := io.Pipe()
		f := &fake{r: fromChild, w: toChild, done: make(chan struct{})}
		go func() {
			defer close(f.done)
			f.err = serve(wire.NewConn(bufio.NewReader(fromHost), toHost))
			toHost.Close()
			fromHost.CloseWithError(io.ErrClosedPipe)
		}()
		return f, nil
	}
}

// handler is one of a fake's.
type handler struct {
	chart    int
	event    string
	priority float64
	fn       func(c *call) (changes []any)
}

// call is a request that a handler is in.
type call struct {
	*wire.Conn
	body map[string]any
	ctx  map[string]any
}

// ask puts a question and returns the answer; what was refused is under
// "refused".
func (c *call) ask(kind wire.Kind, body map[string]any) map[string]any {
	if err := c.Send(wire.Message{Kind: kind, Body: body}); err != nil {
		panic(err)
	}
	m, err := c.Receive()
	if err != nil {
		panic(err)
	}
	if m.Kind == wire.Refuse {
		return map[string]any{"refused": m.Body["message"]}
	}
	return m.Body
}

func (c *call) load(v any) any {
	ref, ok := v.(wire.Ref)
	if !ok {
		return v
	}
	return c.ask(wire.Load, map[string]any{"id": int64(ref.ID)})["value"]
}

func (c *call) table(v any) map[string]any { m, _ := c.load(v).(map[string]any); return m }

// set is the change that sets keys of what a ref stands for.
func set(ref any, kv ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	return map[string]any{"id": int64(ref.(wire.Ref).ID), "set": m}
}

func relist(ref any, l ...any) map[string]any {
	return map[string]any{"id": int64(ref.(wire.Ref).ID), "list": l}
}

// scripts is a process with these handlers.
func scripts(handlers ...handler) script.Starter {
	return starter(func(conn *wire.Conn) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err, _ = p.(error)
			}
		}()
		for {
			m, err := conn.Receive()
			if err != nil {
				return nil
			}
			body := map[string]any{}
			switch m.Kind {
			case wire.Start:
				hs := []any{}
				for i, h := range handlers {
					hs = append(hs, map[string]any{"id": int64(i), "chart": int64(h.chart), "event": h.event, "priority": h.priority, "where": "ext/lua/chart.lua:1"})
				}
				body["handlers"] = hs
			case wire.Call:
				c := &call{Conn: conn, body: m.Body}
				c.ctx = c.table(m.Body["context"])
				if changes := handlers[m.Body["handler"].(int64)].fn(c); changes != nil {
					body["changes"] = changes
				}
			}
			if err := conn.Send(wire.Message{Kind: wire.Done, Body: body}); err != nil {
				return nil
			}
		}
	})
}

// newChart is a chart with the files given by name and content, and the charts
// below it.
func newChart(name string, files map[string]string, below ...*chart.Chart) *chart.Chart {
	c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: name, Version: "1.2.3"}, Values: map[string]any{}}
	for _, n := range sorted(files) {
		f := &chart.File{Name: n, Data: []byte(files[n])}
		if len(n) > 10 && n[:10] == "templates/" {
			c.Templates = append(c.Templates, f)
		} else {
			c.Files = append(c.Files, f)
		}
	}
	c.SetDependencies(below...)
	return c
}

// scripted is newChart with a script in it.
func scripted(name string, below ...*chart.Chart) *chart.Chart {
	return newChart(name, map[string]string{chart.FileScript: "-- line 1\n-- line 2\n"}, below...)
}

// load starts the scripts of c and returns the bus and the host.
func load(t *testing.T, h *script.Host, c *chart.Chart) (*event.Bus, error) {
	t.Helper()
	bus := &event.Bus{}
	bus.Use(h)
	t.Cleanup(func() { _ = h.Close() })
	return bus, bus.Load(t.Context(), &event.ChartResolved{Payload: event.Payload{Chart: c, Operation: &event.Operation{Name: "demo"}}})
}

func mustLoad(t *testing.T, h *script.Host, c *chart.Chart) *event.Bus {
	t.Helper()
	bus, err := load(t, h, c)
	if err != nil {
		t.Fatal(err)
	}
	return bus
}

// within fails the test where fn takes longer.
func within(t *testing.T, limit time.Duration, fn func()) {
	t.Helper()
	begin := time.Now()
	fn()
	if took := time.Since(begin); took > limit {
		t.Errorf("took %s, more than %s", took, limit)
	}
}

var errBroken = errors.New("exit status 2")
