// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/wire"
)

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func TestNothingStartsWithoutScripts(t *testing.T) {
	h := &script.Host{
		Start: func(context.Context, wire.Limits) (script.Process, error) {
			t.Error("started a process")
			return nil, errBroken
		},
		Approve: func(context.Context, []script.Ask) error { t.Error("asked"); return nil },
	}
	c := newChart("web", map[string]string{"ext/permissions.yaml": "lua: [io]", "ext/lua/other.lua": "x"}, newChart("db", nil))
	bus := mustLoad(t, h, c)
	if err := bus.Emit(t.Context(), &event.PreRender{Payload: event.Payload{Chart: c}}); err != nil {
		t.Fatal(err)
	}
}

func TestChartsLoadFromTheLeavesUp(t *testing.T) {
	var got []string
	var first map[string]any
	h := &script.Host{Start: starter(func(c *wire.Conn) error {
		m, err := c.Receive()
		if err != nil {
			return err
		}
		for _, e := range m.Body["charts"].([]any) {
			first = e.(map[string]any)
			got = append(got, first["path"].(string))
		}
		return c.Send(wire.Message{Kind: wire.Done, Body: map[string]any{"handlers": []any{}}})
	})}
	lib := scripted("common")
	lib.FromLibrary = true
	db := scripted("database", scripted("metrics"))
	web := scripted("web", lib, db, newChart("cache", nil))
	db.Unaliased = "postgresql"
	db.Metadata.Libraries = []*chart.Dependency{{Name: "common", Version: "^1", Alias: "c"}}
	mustLoad(t, h, web)
	want := "web/library/common web/charts/database/charts/metrics web/charts/database web/charts/cache web"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	// The root did not list the library that was hoisted for the database.
	if r := first["requires"].(map[string]any); len(r) != 3 || r["database"] != int64(2) || r["postgresql"] != int64(2) || r["cache"] != int64(3) {
		t.Errorf("web requires %v", r)
	}
}

func TestAHoistedLibraryIsFoundByWhoListsIt(t *testing.T) {
	var requires any
	h := &script.Host{Start: starter(func(c *wire.Conn) error {
		m, err := c.Receive()
		if err == nil {
			requires = m.Body["charts"].([]any)[1].(map[string]any)["requires"]
			err = c.Send(wire.Message{Kind: wire.Done, Body: map[string]any{}})
		}
		return err
	})}
	lib := newChart("common", nil)
	lib.FromLibrary = true
	db := scripted("database")
	db.Metadata.Libraries = []*chart.Dependency{{Name: "common", Alias: "c"}}
	mustLoad(t, h, scripted("web", lib, db))
	if r := requires.(map[string]any); len(r) != 2 || r["common"] != int64(0) || r["c"] != int64(0) {
		t.Errorf("got %v", r)
	}
}

func TestHandlersRunByPriorityThenDepthFirst(t *testing.T) {
	var got []string
	note := func(s string) func(*call) []any {
		return func(*call) []any { got = append(got, s); return nil }
	}
	// 0: leaf, 1: middle, 2: top
	h := &script.Host{Start: scripts(
		handler{2, "pre-render", 0.5, note("top")},
		handler{2, "pre-render", 0.9, note("top-late")},
		handler{1, "pre-render", 0.5, note("middle-1")},
		handler{0, "pre-render", 0.5, note("leaf")},
		handler{1, "pre-render", 0.5, note("middle-2")},
		handler{2, "pre-render", 0.1, note("top-early")},
		handler{0, "post-render", 0.5, note("other event")},
	)}
	c := scripted("top", scripted("middle", scripted("leaf")))
	bus := mustLoad(t, h, c)
	if err := bus.Emit(t.Context(), &event.PreRender{Payload: event.Payload{Chart: c}}); err != nil {
		t.Fatal(err)
	}
	if s := strings.Join(got, " "); s != "top-early leaf middle-1 middle-2 top top-late" {
		t.Error(s)
	}
}

func TestAProcessThatDoesNotServe(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	ready := func(c *wire.Conn) error {
		if _, err := c.Receive(); err != nil {
			return err
		}
		return c.Send(wire.Message{Kind: wire.Done, Body: map[string]any{"handlers": []any{
			map[string]any{"id": int64(1), "chart": int64(0), "event": "pre-render", "priority": 0.5, "where": "ext/lua/chart.lua:7"},
		}}})
	}
	say := func(m wire.Message) func(c *wire.Conn) error {
		return func(c *wire.Conn) error {
			if _, err := c.Receive(); err != nil {
				return err
			}
			if err := c.Send(m); err != nil {
				return err
			}
			_, err := c.Receive()
			return err
		}
	}
	for name, tc := range map[string]struct {
		then  func(c *wire.Conn) error
		want  string
		limit string
	}{
		"dies":            {func(c *wire.Conn) error { return errBroken }, "the scripts' process ended: exit status 2", ""},
		"dies in silence": {func(c *wire.Conn) error { _, _ = c.Receive(); return nil }, "ended in the middle of its work", ""},
		"hangs":           {func(c *wire.Conn) error { _, _ = c.Receive(); _, err := c.Receive(); return err }, "the scripts ran too long (the limit is 300ms for an operation)", "cpu"},
		"reads nothing":   {func(c *wire.Conn) error { time.Sleep(time.Second); return nil }, "the scripts ran too long (the limit is 300ms for an operation)", "cpu"},
		"asks for what was not offered": {say(wire.Message{Kind: wire.Load, Body: map[string]any{"id": int64(1 << 40)}}),
			"violated the protocol", ""},
		"negative id":           {say(wire.Message{Kind: wire.Load, Body: map[string]any{"id": int64(-1)}}), "violated the protocol", ""},
		"requests":              {say(wire.Message{Kind: wire.Start, Body: map[string]any{}}), "unexpected start message", ""},
		"prints for nobody":     {say(wire.Message{Kind: wire.Print, Body: map[string]any{"chart": int64(9), "text": "x"}}), "violated the protocol", ""},
		"prints without end":    {say(wire.Message{Kind: wire.Print, Body: map[string]any{"chart": int64(0), "text": strings.Repeat("x", 2<<20)}}), "printed more than", "output"},
		"finds":                 {say(wire.Message{Kind: wire.Finding, Body: map[string]any{"severity": "error"}}), "violated the protocol", ""},
		"a handler of no chart": {say(wire.Message{Kind: wire.Done, Body: map[string]any{"handlers": []any{map[string]any{"chart": int64(4)}}}}), "violated the protocol", ""},
		"no list of handlers":   {say(wire.Message{Kind: wire.Done, Body: map[string]any{"handlers": "many"}}), "violated the protocol", ""},
		"no list of changes":    {say(wire.Message{Kind: wire.Done, Body: map[string]any{"changes": "many"}}), "violated the protocol", ""},
		"changes of nothing":    {say(wire.Message{Kind: wire.Done, Body: map[string]any{"changes": []any{nil}}}), "violated the protocol", ""},
		"changes what it has not": {say(wire.Message{Kind: wire.Done, Body: map[string]any{"changes": []any{map[string]any{"id": int64(77)}}}}),
			"violated the protocol", ""},
		"hits a limit": {say(wire.Message{Kind: wire.Fail, Body: map[string]any{"message": "used too much memory", "limit": "memory", "chart": int64(0), "file": "ext/lua/chart.lua", "line": int64(2)}}),
			"ext/lua/chart.lua:2: used too much memory (the limit is 256 MiB for an operation)\n  2 | -- line 2", "memory"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &script.Host{Limits: wire.Limits{CPU: 300 * time.Millisecond}, Start: starter(func(c *wire.Conn) error {
				if err := ready(c); err != nil {
					return err
				}
				return tc.then(c)
			})}
			c := scripted("web")
			bus := mustLoad(t, h, c)
			payload := event.Payload{Chart: c, Values: map[string]any{"a": "b"}}
			within(t, 2*time.Second, func() {
				err := bus.Emit(t.Context(), &event.PreRender{Payload: payload})
				var failed *script.Error
				if !errors.As(err, &failed) || !strings.Contains(err.Error(), tc.want) || failed.Limit != tc.limit {
					t.Fatalf("got %v, limit %v", err, failed)
				}
				if failed.Chart != "web" || failed.File != "ext/lua/chart.lua" || !strings.HasPrefix(err.Error(), `pre-render handler of chart "web": ext/lua/chart.lua:`) {
					t.Errorf("names chart %q and file %q: %v", failed.Chart, failed.File, err)
				}
				// It stays over.
				if again := bus.Emit(t.Context(), &event.PreRender{Payload: payload}); again == nil {
					t.Error("went on with a process that is gone")
				}
			})
		})
	}
}

func TestAnInterruptEndsAScriptAtOnce(t *testing.T) {
	ended := make(chan struct{})
	h := &script.Host{Start: scripts(handler{0, "pre-render", 0.5, func(c *call) []any {
		_, _ = c.Receive() // never comes
		close(ended)
		return nil
	}})}
	c := scripted("web")
	bus := mustLoad(t, h, c)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	within(t, time.Second, func() {
		if err := bus.Emit(ctx, &event.PreRender{Payload: event.Payload{Chart: c}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		<-ended
	})
}

func TestErrorsOfLoadingSayWhere(t *testing.T) {
	h := &script.Host{Debug: true, Start: starter(func(c *wire.Conn) error {
		_, _ = c.Receive()
		return c.Send(wire.Message{Kind: wire.Fail, Body: map[string]any{
			"message": "unexpected symbol", "chart": int64(0), "file": "ext/lua/chart.lua", "line": int64(1), "traceback": "in main chunk\nin C",
		}})
	})}
	_, err := load(t, h, scripted("web", scripted("db")))
	want := "load scripts of chart \"db\": ext/lua/chart.lua:1: unexpected symbol\n  1 | -- line 1\n  in main chunk\n  in C"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestPrintedLinesAreShownSafely(t *testing.T) {
	var out bytes.Buffer
	h := &script.Host{Print: script.Printer(&out), Start: scripts(handler{0, "pre-render", 0.5, func(c *call) []any {
		_ = c.Send(wire.Message{Kind: wire.Print, Body: map[string]any{"chart": int64(0), "text": "a\x1b[2Jb\nc\r\nd\re"}})
		return nil
	}})}
	c := scripted("web")
	bus := mustLoad(t, h, c)
	if err := bus.Emit(t.Context(), &event.PreRender{Payload: event.Payload{Chart: c}}); err != nil {
		t.Fatal(err)
	}
	if want := "[web] a\\x1b[2Jb\n[web] c\n[web] d\\x0de\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

func TestTheNextChartEndsTheOldProcess(t *testing.T) {
	ended := make(chan struct{}, 1)
	h := &script.Host{Start: starter(func(c *wire.Conn) error {
		for {
			if _, err := c.Receive(); err != nil {
				ended <- struct{}{}
				return nil
			}
			_ = c.Send(wire.Message{Kind: wire.Done, Body: map[string]any{}})
		}
	})}
	bus := mustLoad(t, h, scripted("web"))
	if err := bus.Load(t.Context(), &event.ChartResolved{Payload: event.Payload{Chart: newChart("plain", nil)}}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the process of the chart before goes on")
	}
	for range 3 {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := (&script.Host{}).Close(); err != nil {
		t.Error(err)
	}
}

// deaf is a process that has said all that it will ever say, and listens to the
// first two messages only.
type deaf struct {
	bytes.Buffer
	heard int
}

func (d *deaf) Write(b []byte) (int, error) {
	if d.heard++; d.heard > 2 {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}
func (d *deaf) Kill() error { return nil }
func (d *deaf) Wait() error { return errBroken }

// A process that reaches its limit while it is sent an answer says so and ends.
func TestTheLimitIsToldThatEndsAProcessInAnAnswer(t *testing.T) {
	h := &script.Host{Start: func(context.Context, wire.Limits) (script.Process, error) {
		var d deaf
		conn := wire.NewConn(nil, &d.Buffer)
		for _, m := range []wire.Message{
			{Kind: wire.Done, Body: map[string]any{"handlers": []any{map[string]any{"id": int64(0), "chart": int64(0), "event": "pre-render", "priority": 0.5, "where": "ext/lua/chart.lua:1"}}}},
			{Kind: wire.Lookup, Body: map[string]any{"apiVersion": "v1", "kind": "Secret"}},
			{Kind: wire.Fail, Body: map[string]any{"message": "used too much memory", "limit": "memory", "chart": int64(0)}},
		} {
			if err := conn.Send(m); err != nil {
				return nil, err
			}
		}
		return &d, nil
	}}
	c := scripted("web")
	bus := mustLoad(t, h, c)
	err := bus.Emit(t.Context(), &event.PreRender{Payload: event.Payload{Chart: c}})
	var failed *script.Error
	if !errors.As(err, &failed) || failed.Limit != "memory" {
		t.Errorf("got %v", err)
	}
}
