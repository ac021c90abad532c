// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/script/sandbox"
	"github.com/moonhelm/moonhelm/script/wire"
)

// TestMain lets the test's binary be its own child, as helm is, and a parent
// that is killed.
func TestMain(m *testing.M) {
	if os.Args[0] == sandbox.ChildName {
		os.Exit(sandbox.Enter(serve))
	}
	if act := os.Getenv("SANDBOX_TEST_PARENT"); act != "" {
		beParent(act)
	}
	os.Exit(m.Run())
}

// beParent starts a process, says its number, or that of what it started, has it do something and waits to
// be killed. It exits instead when it is to have the process write a file once its parent is gone.
func beParent(act string) {
	p, err := sandbox.Start(context.Background(), "", wire.DefaultLimits())
	if err != nil {
		panic(err)
	}
	c := &play{p: p, conn: wire.NewConn(p, p), l: wire.DefaultLimits()}
	if path, ok := strings.CutPrefix(act, "write later "); ok {
		said, err := c.do("pid", "")
		fmt.Println(said)
		m := c.start([]string{"io"}, "write", path)
		m.Body["last"] = true
		if err := errors.Join(err, c.conn.Send(m)); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	do, arg, grants := "pid", "", []string(nil)
	if act == "background" {
		do, arg, grants = act, "sleep 60", []string{"os"}
	}
	said, err := c.confined(grants, do, arg)
	if err != nil {
		panic(err)
	}
	fmt.Println(said)
	if do != act {
		_, _ = c.do(act, "")
	}
	time.Sleep(time.Minute)
}

// serve is an engine that does what the start message names, in Go: the worst
// that a script could do if it had all of Go's functions. The message holds
// do, arg, grants, cpu and memory, and last if serve is to read on to the end first.
func serve(r io.Reader, w io.Writer, confine func([]string, wire.Limits) error) error {
	c := wire.NewConn(r, w)
	acts["spin while reading"] = func(arg string, w io.Writer) (string, error) {
		go func() { _, _ = io.Copy(io.Discard, r) }() // as the engine reads ahead
		time.Sleep(10 * time.Millisecond)
		return acts["spin"](arg, w)
	}
	for {
		m, err := c.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if m.Body["last"] == true {
			_, _ = io.Copy(io.Discard, r)
		}
		if m.Kind == wire.Start {
			var grants []string
			for _, g := range m.Body["grants"].([]any) {
				grants = append(grants, g.(string))
			}
			l := wire.Limits{CPU: time.Duration(m.Body["cpu"].(int64)) * time.Millisecond, Memory: m.Body["memory"].(int64)}
			if err := confine(grants, l); err != nil {
				return err
			}
		}
		what, _ := m.Body["do"].(string)
		act := acts[what]
		if act == nil {
			return fmt.Errorf("there is no act %q", what)
		}
		arg, _ := m.Body["arg"].(string)
		said, err := act(arg, w)
		if err != nil {
			err = c.Send(wire.Message{Kind: wire.Fail, Body: map[string]any{"message": err.Error()}})
		} else {
			err = c.Send(wire.Message{Kind: wire.Done, Body: map[string]any{"said": said}})
		}
		if err != nil {
			return err
		}
	}
}

// play is a process that a test talks to.
type play struct {
	t    *testing.T
	p    *sandbox.Process
	conn *wire.Conn
	l    wire.Limits
}

// begin starts a process. It is killed at the end of the test.
func begin(t *testing.T, l wire.Limits) *play {
	t.Helper()
	p, err := sandbox.Start(context.Background(), "", l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		p.Wait()
	})
	return &play{t: t, p: p, conn: wire.NewConn(p, p), l: l}
}

// confined has the process confine itself, with these grants, and do something.
func (p *play) confined(grants []string, do, arg string) (string, error) {
	return p.say(p.start(grants, do, arg))
}

// start returns the message by which confined asks.
func (p *play) start(grants []string, do, arg string) wire.Message {
	list := []any{}
	for _, g := range grants {
		list = append(list, g)
	}
	return wire.Message{Kind: wire.Start, Body: map[string]any{
		"grants": list, "cpu": p.l.CPU.Milliseconds(), "memory": p.l.Memory, "do": do, "arg": arg}}
}

// do has the process do something more.
func (p *play) do(do, arg string) (string, error) {
	return p.say(wire.Message{Kind: wire.Call, Body: map[string]any{"do": do, "arg": arg}})
}

// refusedError is what an act of the process failed with, as opposed to the
// process.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

func (p *play) say(m wire.Message) (string, error) {
	if err := p.conn.Send(m); err != nil {
		return "", err
	}
	answer, err := p.conn.Receive()
	if err != nil {
		return "", err
	}
	if answer.Kind == wire.Fail {
		return "", &refusedError{answer.Body["message"].(string)}
	}
	return answer.Body["said"].(string), nil
}

// end waits for the process to end by itself, for so long at most.
func (p *play) end(within time.Duration) error {
	p.t.Helper()
	how := make(chan error, 1)
	go func() { how <- p.p.Wait() }()
	select {
	case err := <-how:
		return err
	case <-time.After(within):
		p.t.Errorf("it had not ended after %s", within)
		p.p.Kill()
		return <-how
	}
}

// small are limits that tests reach quickly.
var small = wire.Limits{CPU: 400 * time.Millisecond, Memory: 64 << 20, Output: 1 << 20}

func wantLimit(t *testing.T, err error, limit string) {
	t.Helper()
	var exit *sandbox.ExitError
	if !errors.As(err, &exit) || exit.Limit != limit {
		t.Errorf("ended with %v, want the limit %q", err, limit)
		if exit != nil {
			t.Logf("%s", exit.Text)
		}
	}
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}
