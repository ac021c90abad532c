// SPDX-License-Identifier: Apache-2.0

package subprocess_test

import (
	"context"
	"testing"

	_ "github.com/moonhelm/moonhelm/internal/subprocess"
	"github.com/moonhelm/moonhelm/script/sandbox"
	"github.com/moonhelm/moonhelm/script/wire"
)

// conversation is a connection to a worker: a process of this test's binary.
type conversation struct {
	t    testing.TB
	p    *sandbox.Process
	conn *wire.Conn
}

func begin(t testing.TB, l wire.Limits) *conversation {
	t.Helper()
	p, err := sandbox.Start(context.Background(), "", l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		p.Wait()
	})
	return &conversation{t: t, p: p, conn: wire.NewConn(p, p)}
}

// start loads the script of a chart.
func (c *conversation) start(l wire.Limits, grants []any, script string) (wire.Message, error) {
	return c.ask(wire.Message{Kind: wire.Start, Body: map[string]any{
		"limits": map[string]any{"cpu": l.CPU.Milliseconds(), "memory": l.Memory, "output": l.Output},
		"seed":   int64(1),
		"events": []any{"pre-render"},
		"charts": []any{map[string]any{
			"name": "web", "path": "web", "parent": int64(-1), "library": false, "handled": true,
			"files":    map[string]any{"chart.lua": script},
			"requires": map[string]any{}, "grants": grants,
		}},
	}})
}

// ask returns the reply to m, skipping messages without a reply.
func (c *conversation) ask(m wire.Message) (wire.Message, error) {
	if err := c.conn.Send(m); err != nil {
		return wire.Message{}, err
	}
	for {
		answer, err := c.conn.Receive()
		if err != nil || answer.Kind == wire.Done || answer.Kind == wire.Fail {
			return answer, err
		}
		if answer.Kind != wire.Print {
			c.t.Fatalf("unexpected request %s: %v", answer.Kind, answer.Body)
		}
	}
}

func TestScriptSubprocess(t *testing.T) {
	l := wire.DefaultLimits()
	c := begin(t, l)
	answer, err := c.start(l, []any{}, `print("hello"); events.on("pre-render", function(ctx) end)`)
	if err != nil || answer.Kind != wire.Done {
		t.Fatalf("%s %v, %v; %v", answer.Kind, answer.Body, err, c.p.Wait())
	}
	if list, _ := answer.Body["handlers"].([]any); len(list) != 1 {
		t.Errorf("%v", answer.Body)
	}
}

// Time from the start of the process to the first reply.
func BenchmarkStart(b *testing.B) {
	l := wire.DefaultLimits()
	for b.Loop() {
		c := begin(b, l)
		if answer, err := c.start(l, []any{}, ``); err != nil || answer.Kind != wire.Done {
			b.Fatalf("%s %v, %v", answer.Kind, answer.Body, err)
		}
		c.p.Kill()
	}
}

// With io and os a script has the user's working directory, files and programs.
func TestPermissions(t *testing.T) {
	l := wire.DefaultLimits()
	script := `
		local f <close> = assert(io.open("subprocess_test.go"))
		assert(f:read("l"):find("SPDX"))
		assert(not os.execute("exit 3"))
		local p = assert(io.popen("ls; pwd"))
		local said = p:read("a")
		p:close()
		assert(said:find("subprocess.go", 1, true), said)
		local name = os.tmpname()
		assert(os.remove(name))`
	for _, tt := range []struct {
		name   string
		grants []any
		want   wire.Kind
	}{
		{"io and os", []any{"io", "os"}, wire.Done},
		{"network", []any{"network"}, wire.Fail},
		{"none", []any{}, wire.Fail},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := begin(t, l)
			if answer, err := c.start(l, tt.grants, script); err != nil || answer.Kind != tt.want {
				t.Errorf("got %s %v, %v, want %s", answer.Kind, answer.Body, err, tt.want)
			}
		})
	}
}
