// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/attack"
	"github.com/moonhelm/moonhelm/script/engine"
	"github.com/moonhelm/moonhelm/script/wire"
)

// childName makes the test's binary an engine's process.
const childName = "MOONHELM_ENGINE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childName) != "" {
		if err := engine.Serve(context.Background(), os.Stdin, os.Stdout, engine.Options{Exit: os.Exit}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is an engine in a process of its own, without the walls that
// script/sandbox puts around it.
type child struct {
	io.Reader
	io.Writer
	cmd    *exec.Cmd
	stderr strings.Builder
}

func newChild(t testing.TB) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), childName+"=1", "GOTRACEBACK=none")
	c.cmd.Stderr = &c.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Reader, c.Writer = out, in
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		c.cmd.Process.Kill()
		c.cmd.Wait()
	})
	return c
}

// tight are limits that attacks reach soon.
var tight = wire.Limits{CPU: 300 * time.Millisecond, Memory: 64 << 20, Output: 1 << 16}

// slack is what the start and end of a process and its collector may take, of
// CPU time; patience is what a busy machine may take on the wall's clock.
const (
	slack    = time.Second
	patience = time.Minute
)

func TestAttacksEndWithinTheirLimits(t *testing.T) {
	for i, a := range attack.All() {
		if testing.Short() && i%5 != 0 {
			continue // each takes a second; the others run with all tests
		}
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			c, limits := newChild(t), tight
			switch {
			case a.Limit == "cpu":
			case raceDetector:
				limits.CPU *= 10 // to use up the others takes several times as long
			default:
				limits.CPU *= 4 // so does it for memory that a busy machine has to page in
			}
			h := &host{t: t, conn: wire.NewConn(c, c), charts: alone(a.Script), limits: limits}
			peak := watchMemory(c.cmd.Process.Pid)
			begin := time.Now()
			var err error
			within(t, patience, func() { err = h.start() })
			if testing.Verbose() {
				t.Logf("%s: %.200v", time.Since(begin).Round(time.Millisecond), err)
			}
			var f *failure
			switch {
			case a.Limit != "" && (!errors.As(err, &f) || f.limit() != a.Limit):
				t.Errorf("%v; wanted the limit %s", err, a.Limit)
			case err != nil && !errors.As(err, &f) && !a.Process:
				t.Errorf("the engine broke: %v: %.500s", err, c.stderr.String())
			case f != nil && strings.Contains(f.Error(), "engine failed"):
				t.Errorf("the engine panicked: %v", err)
			case f != nil && len(f.Error()) > 32<<10:
				t.Errorf("a message of %d bytes", len(f.Error()))
			}
			most := peak()
			c.Writer.(io.Closer).Close()
			c.cmd.Wait()
			if took := c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime(); took > 2*limits.CPU+slack {
				t.Errorf("took %s of CPU time", took)
			}
			if most > 2*tight.Memory+resident && !raceDetector {
				t.Errorf("took %d MiB", most>>20)
			} else if testing.Verbose() {
				t.Logf("%d MiB", most>>20)
			}
		})
	}
}

// watchMemory follows the most memory that a process has held, on systems that
// tell; the result stops it and returns bytes.
func watchMemory(pid int) (peak func() int64) {
	stop, result := make(chan struct{}), make(chan int64)
	go func() {
		var most int64
		for {
			most = max(most, residentPeak(pid))
			select {
			case <-stop:
				result <- most
				return
			case <-time.After(15 * time.Millisecond):
			}
		}
	}()
	return func() int64 { close(stop); return <-result }
}

// residentPeak reads what Linux says; elsewhere it is 0.
func residentPeak(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, ok := strings.Cut(string(text), "VmHWM:")
	if !ok {
		return 0
	}
	var kib int64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		return 0
	}
	return kib << 10
}

// resident is what the process takes without scripts, and its stacks.
const resident = 96 << 20

// The same limits hold in a process that is not the engine's own, where only
// such attacks are let loose that it can bear.
func TestAttacksInProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for _, a := range attack.All() {
		if !slices.Contains([]string{
			"endless loop inside pcall in a loop", "endless loop in an error object", "string doubling inside pcall",
			"print without end inside pcall", "a huge rep inside pcall", "numbers in huge strings", "an init that calls itself",
		}, a.Name) {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			h := newHost(t, alone(a.Script))
			h.limits = tight
			within(t, patience, func() {
				var f *failure
				if err := h.start(); !errors.As(err, &f) || f.limit() == "" {
					t.Errorf("%v", err)
				}
			})
			if err := h.start(); err == nil {
				t.Error("an engine that was stopped went on")
			}
		})
	}
}
