// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/script/engine"
	"github.com/moonhelm/moonhelm/script/wire"
)

func TestTimeIsSummedOverRequests(t *testing.T) {
	h := newHost(t, alone(`template.func("work", function() local x = 0 for i = 1, 2000000 do x = x + i end return x end)`))
	h.limits = tight
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	var f *failure
	for range 500 {
		if _, err := h.request(wire.Template, m{"chart": int64(0), "name": "work", "args": l{}}); err != nil {
			if !errors.As(err, &f) || f.limit() != "cpu" {
				t.Fatal(err)
			}
			return
		}
	}
	t.Error("there was no end")
}

func TestWaitingForTheHostIsNotTheScripts(t *testing.T) {
	h := newHost(t, alone(`for i = 1, 5 do kube.lookup("v1", "Pod") end`))
	h.limits = tight
	h.lookup = func(m) (any, error) { time.Sleep(tight.CPU / 3); return m{}, nil }
	if err := h.start(); err != nil {
		t.Error(err)
	}
}

func TestMemoryThatWasLetGoCanBeUsedAgain(t *testing.T) {
	c := newChild(t)
	limits := wire.Limits{CPU: 10 * time.Second, Memory: tight.Memory, Output: tight.Output}
	h := &host{t: t, conn: wire.NewConn(c, c), limits: limits, charts: alone(`template.func("work", function() return #("x"):rep(20000000) end)
template.func("keep", function() kept = kept or {} kept[#kept + 1] = ("x"):rep(20000000) end)`)}
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := h.request(wire.Template, m{"chart": int64(0), "name": "work", "args": l{}}); err != nil {
			t.Fatal(err)
		}
	}
	var f *failure
	for range 10 {
		if _, err := h.request(wire.Template, m{"chart": int64(0), "name": "keep", "args": l{}}); err != nil {
			if !errors.As(err, &f) || f.limit() != "memory" {
				t.Fatal(err)
			}
			return
		}
	}
	t.Error("kept 200 MB")
}

func TestAnEngineThatHitALimitIsOfNoMoreUse(t *testing.T) {
	h := newHost(t, alone(`print(("x"):rep(100000))`))
	h.limits = tight
	for range 2 {
		var f *failure
		if err := h.start(); !errors.As(err, &f) || f.limit() != "output" || f.m["chart"] != int64(0) {
			t.Fatal(err)
		}
	}
}

// A process whose helm is gone ends, also in the middle of a script.
func TestTheEndOfTheStreamEndsTheProcess(t *testing.T) {
	for _, script := range []string{`print("up") while true do end`, `print("up") kube.lookup("v1", "Pod")`, `print("up")`} {
		c := newChild(t)
		conn := wire.NewConn(c, c)
		if err := conn.Send(wire.Message{Kind: wire.Start, Body: m{"charts": alone(script), "events": l{}}}); err != nil {
			t.Fatal(err)
		}
		if got, err := conn.Receive(); err != nil || got.Kind != wire.Print {
			t.Fatal(got, err)
		}
		c.Writer.(io.Closer).Close()
		within(t, 5*time.Second, func() { c.cmd.Wait() })
	}
}

func TestInterruptEndsServe(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p, err := engine.InProcess(ctx, wire.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	conn := wire.NewConn(p, p)
	if err := conn.Send(wire.Message{Kind: wire.Start, Body: m{"limits": m{"cpu": int64(500)}, "charts": alone(`while true do end`), "events": l{}}}); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, cancel)
	within(t, 5*time.Second, func() {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	})
	p, _ = engine.InProcess(context.Background(), wire.DefaultLimits())
	p.Kill()
	within(t, 5*time.Second, func() {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestConfineComesFirst(t *testing.T) {
	var in, out bytes.Buffer
	conn := wire.NewConn(nil, &in)
	charts := l{chartOf("a", "a", -1, map[string]string{"chart.lua": "print('ran')"}, m{"grants": l{"io", "network"}}), chartOf("b", "b", -1, nil, m{"grants": l{"io"}})}
	if err := conn.Send(wire.Message{Kind: wire.Start, Body: m{"limits": m{"cpu": int64(1000), "memory": int64(1 << 20)}, "charts": charts}}); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no walls")
	err := engine.Serve(context.Background(), &in, &out, engine.Options{Confine: func(first wire.Message) error {
		grants, limits := engine.Needs(first)
		if strings.Join(grants, " ") != "io network" || limits.CPU != time.Second || limits.Memory != 1<<20 || limits.Output != wire.DefaultLimits().Output {
			t.Error(grants, limits)
		}
		return no
	}})
	if !errors.Is(err, no) || out.Len() != 0 {
		t.Error(err, out.Len())
	}
}

func TestWhatIsNoProtocolEndsServe(t *testing.T) {
	frame := func(ms ...wire.Message) string {
		var b bytes.Buffer
		for _, msg := range ms {
			if err := wire.NewConn(nil, &b).Send(msg); err != nil {
				t.Fatal(err)
			}
		}
		return b.String()
	}
	for name, in := range map[string]string{
		"rubbish":                   "this is not a frame at all",
		"an answer nobody asked":    frame(wire.Message{Kind: wire.Answer, Body: m{}}),
		"a wrong kind as an answer": frame(wire.Message{Kind: wire.Start, Body: m{"charts": alone(`kube.lookup("v1", "x")`)}}, wire.Message{Kind: wire.Done, Body: m{}}),
		"half a frame":              frame(wire.Message{Kind: wire.Start, Body: m{}})[:6],
	} {
		var out bytes.Buffer
		if err := engine.Serve(context.Background(), strings.NewReader(in), &out, engine.Options{}); err == nil {
			t.Error(name, "was taken")
		}
	}
	// What can be answered is answered.
	for name, msg := range map[string]wire.Message{
		"a start without charts":       {Kind: wire.Start, Body: m{}},
		"charts in a circle":           {Kind: wire.Start, Body: m{"charts": l{chartOf("a", "a", 0, nil)}}},
		"a parent that is none":        {Kind: wire.Start, Body: m{"charts": l{chartOf("a", "a", 7, nil)}}},
		"a call before the start":      {Kind: wire.Call, Body: m{}},
		"a function before start":      {Kind: wire.Template, Body: m{}},
		"a check of what is not a map": {Kind: wire.Check, Body: m{"charts": l{int64(1)}}},
	} {
		// The other end goes once it has its answer, not before: what is asked for
		// by someone who is gone needs none.
		in, ask := io.Pipe()
		hear, out := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- engine.Serve(context.Background(), in, out, engine.Options{}) }()
		go func() { _, _ = io.WriteString(ask, frame(msg)) }()
		if got, err := wire.NewConn(hear, nil).Receive(); err != nil || got.Kind != wire.Fail {
			t.Error(name, got, err)
		}
		ask.Close()
		if err := <-served; err != nil {
			t.Error(name, err)
		}
	}
}

// The host's answers are no more trusted than scripts are.
func TestAnswersThatCannotBeAreErrors(t *testing.T) {
	for name, answer := range map[string]m{
		"nothing": {}, "text": {"value": "x"}, "a list for a map": {"value": l{}}, "a Ref": {"value": wire.Ref{ID: 1}},
	} {
		h := started(t, alone(on("pre-render", `return ctx.values.x`)))
		if err := h.conn.Send(wire.Message{Kind: wire.Call, Body: m{"handler": int64(1), "event": "pre-render", "chart": int64(0), "context": wire.Ref{ID: 5}, "may": l{"values"}}}); err != nil {
			t.Fatal(err)
		}
		if got, err := h.conn.Receive(); err != nil || got.Kind != wire.Load {
			t.Fatal(name, got, err)
		}
		if err := h.conn.Send(wire.Message{Kind: wire.Answer, Body: answer}); err != nil {
			t.Fatal(err)
		}
		if got, err := h.conn.Receive(); err != nil || got.Kind != wire.Fail {
			t.Error(name, got, err)
		}
	}
}

// golua's jumps have 16 bits: a longer one would lead anywhere.
func TestFunctionsThatAreTooLongForJumps(t *testing.T) {
	long := strings.Repeat("n = n + 1\n", 20_000)
	err := newHost(t, alone("local n = 0\nif n == 1 then\n"+long+"end")).start()
	says(t, err, "the script is too long in one piece")
	started(t, alone("local n = 0\n"+long+"assert(n == 20000)"))
}
