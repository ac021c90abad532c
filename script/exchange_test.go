// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/wire"
)

// counted is a process that counts the messages that it is sent.
type counted struct {
	script.Process
	sent *int
}

func (c counted) Write(b []byte) (int, error) {
	*c.sent++
	return c.Process.Write(b)
}

func TestMessagesOfAHandler(t *testing.T) {
	for name, tc := range map[string]struct {
		code   string
		values map[string]any
		want   int
	}{
		"reads and writes values": {
			code:   `ctx.values.image.tag = ctx.release.name .. ctx.chart.version .. ctx.values.tag`,
			values: map[string]any{"tag": "1", "image": map[string]any{"tag": "2"}},
			want:   1,
		},
		"looks at nothing": {code: `local x = 1`, want: 1},
		"reads a template": {code: `local _ = ctx.templates[1].data`, want: 1},
		"reads one of many values": {
			code:   `local _ = ctx.values.key777`,
			values: many(20000),
			want:   2,
		},
		"reads one of many tables": {
			code:   `local _ = ctx.values.all.table7.key9`,
			values: map[string]any{"all": valueTree(200)},
			want:   3, // for all, and for table7
		},
	} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			h := luaHost()
			h.Start = func(ctx context.Context, limits wire.Limits) (script.Process, error) {
				p, err := lua(ctx, limits)
				return counted{p, &sent}, err
			}
			c := lchart("web", `events.on("pre-render", function(ctx) `+tc.code+` end)`)
			c.Templates = []*chart.File{{Name: "templates/a.yaml", Data: []byte("a: b")}}
			bus := mustLoad(t, h, c)
			sent = 0
			if err := bus.Emit(t.Context(), &event.PreRender{Payload: event.Payload{Chart: c, Values: tc.values}}); err != nil {
				t.Fatal(err)
			}
			if sent != tc.want {
				t.Errorf("the process was sent %d messages, want %d", sent, tc.want)
			}
		})
	}
}

// A handler that edits every object is sent them with the call, unless they are many.
func TestMessagesOfAHandlerOfObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		code string
		pad  int
		want int
	}{
		"edits each":           {code: `for _, o in ipairs(ctx.objects) do o.metadata.labels = {a = "b"} end`, want: 1},
		"looks at nothing":     {code: `local x = 1`, want: 1},
		"edits each of a heap": {code: `for _, o in ipairs(ctx.objects) do o.metadata.labels = {a = "b"} end`, pad: 64 << 10, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			h := luaHost()
			h.Start = func(ctx context.Context, limits wire.Limits) (script.Process, error) {
				p, err := lua(ctx, limits)
				return counted{p, &sent}, err
			}
			c := lchart("web", `events.on("post-render", function(ctx) `+tc.code+` end)`)
			bus := mustLoad(t, h, c)
			sent = 0
			pad := "\ndata:\n  pad: " + strings.Repeat("x", tc.pad) + "\n"
			e := &event.PostRender{Payload: event.Payload{Chart: c, Objects: objects(t,
				"---\n# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a"+pad+
					"---\n# Source: web/templates/b.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n")}}
			if err := bus.Emit(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if sent != tc.want {
				t.Errorf("the process was sent %d messages, want %d", sent, tc.want)
			}
		})
	}
}

// undying is a process that is killed and does not go away.
type undying struct {
	script.Process
	killed chan struct{}
}

func (u undying) Kill() error {
	close(u.killed)
	return u.Process.Kill()
}

func (u undying) Wait() error { select {} }

// The death of the process takes milliseconds, which the output need not wait for.
func TestCloseDoesNotWait(t *testing.T) {
	h := luaHost()
	killed := make(chan struct{})
	h.Start = func(ctx context.Context, limits wire.Limits) (script.Process, error) {
		p, err := lua(ctx, limits)
		return undying{p, killed}, err
	}
	mustLoad(t, h, lchart("web", `local x = 1`))
	closed := make(chan error, 1)
	go func() { closed <- h.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Close waits for the process")
	}
	select {
	case <-killed:
	default:
		t.Error("Close left the process alive")
	}
}
