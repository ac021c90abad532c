// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/script/sandbox"
	"github.com/moonhelm/moonhelm/script/wire"
)

func TestTheProcessAnswersAndEnds(t *testing.T) {
	p := begin(t, wire.DefaultLimits())
	if _, err := p.confined(nil, "nothing", ""); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "a", strings.Repeat("long ", 1<<20)} {
		said, err := p.do("echo", text)
		if err != nil || said != text {
			t.Fatalf("%d bytes came back as %d, %v", len(text), len(said), err)
		}
	}
	if err := p.p.Kill(); err != nil {
		t.Error(err)
	}
	var exit *sandbox.ExitError
	if err := p.p.Wait(); !errors.As(err, &exit) || !exit.Killed || exit.Limit != "" {
		t.Errorf("ended with %v", err)
	}
	if err := errors.Join(p.p.Kill(), p.p.Kill()); err != nil {
		t.Errorf("killing it again: %v", err)
	}
}

func TestItGetsNothingFromItsParent(t *testing.T) {
	t.Setenv("KUBECONFIG", "secret")
	t.Setenv("HELM_DRIVER", "secret")
	p := begin(t, wire.DefaultLimits())
	if said, err := p.do("environment", ""); said != "" || err != nil {
		t.Errorf("it knows %q of the environment, %v", said, err)
	}
	said, err := p.do("directory", "")
	if err == nil && strings.HasPrefix(mustGetwd(t), strings.TrimSuffix(said, " (deleted)")) {
		t.Errorf("it works in %q", said)
	}
	if runtime.GOOS != "linux" {
		return
	}
	held, err := os.Open(mustExecutable(t))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	said, err = begin(t, wire.DefaultLimits()).do("descriptors", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range strings.Fields(said) {
		for _, known := range []string{"pipe:", "/dev/null", "anon_inode:", "/proc/", "cpu.max", "cgroup"} {
			if strings.Contains(fd, known) {
				fd = ""
				break
			}
		}
		if fd != "" {
			t.Errorf("it holds %s", fd)
		}
	}
}

func mustGetwd(t *testing.T) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustExecutable(t *testing.T) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A process begins with one processor, except on Windows, and gets one for the collector if it runs
// for longer than a moment.
func TestASecondProcessorComesLater(t *testing.T) {
	p := begin(t, wire.DefaultLimits())
	want := "1"
	if runtime.GOOS == "windows" {
		want = "2"
	}
	if said, err := p.do("processors", ""); said != want || err != nil {
		t.Errorf("it begins with %s processors (%v), want %s", said, err, want)
	}
	if _, err := p.confined(nil, "nothing", ""); err != nil {
		t.Fatal(err)
	}
	var said string
	for range 100 {
		time.Sleep(10 * time.Millisecond)
		if said, _ = p.do("processors", ""); said == "2" {
			return
		}
	}
	t.Errorf("it has %s processors after a second, want 2", said)
}

func TestPrintingIsNoProtocol(t *testing.T) {
	p := begin(t, wire.DefaultLimits())
	if _, err := p.confined(nil, "chatter", ""); err != nil {
		t.Fatal(err)
	}
	if said, err := p.do("echo", "still here"); said != "still here" || err != nil {
		t.Fatalf("%q, %v", said, err)
	}
}

// What ends a process that uses too much, with how long it takes and how much
// memory it gets.
func TestWhatIsUsedUpEndsTheProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	boundedOnly(t)
	for _, tt := range []struct{ act, limit string }{
		{"spin", "cpu"},
		{"spin while reading", "cpu"},
		{"overflow", "stack"},
		{"one big bite", "memory"},
		{"many bites", "memory"},
		{"double", "memory"},
	} {
		t.Run(tt.act, func(t *testing.T) {
			l := small
			if tt.limit != "cpu" {
				l.CPU = 10 * time.Second
			}
			if tt.limit == "stack" {
				l.Memory = 256 << 20
			}
			p := begin(t, l)
			if _, err := p.confined(nil, "nothing", ""); err != nil {
				t.Fatal(err)
			}
			peak := watchPeak(p)
			began := time.Now()
			if _, err := p.do(tt.act, ""); err == nil {
				t.Fatal("it did")
			}
			// Not more: on a machine that is busy, CPU time takes long to use up.
			end := p.end(20 * time.Second)
			wantLimit(t, end, tt.limit)
			if tt.limit == "cpu" {
				wantText(t, fmt.Sprintf("%+v", *end.(*sandbox.ExitError)), "exit status 92") // by its own watchdog, which is quicker
			}
			if used := peak(); used > l.Memory+192<<20 {
				t.Errorf("used %d MiB", used>>20)
			} else {
				t.Logf("%s, %d MiB at most", time.Since(began).Round(time.Millisecond), used>>20)
			}
		})
	}
}

func TestWhatIsWithinLimitsGoesThrough(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	boundedOnly(t)
	p := begin(t, wire.Limits{CPU: 5 * time.Second, Memory: 64 << 20})
	if _, err := p.confined(nil, "nothing", ""); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ act, arg string }{{"threads", ""}, {"garbage", ""}, {"keep", "50000000"}, {"threads", ""}} {
		if _, err := p.do(tt.act, tt.arg); err != nil {
			t.Fatalf("%s: %v, %v", tt.act, err, p.p.Wait())
		}
	}
}

func TestAFloodOfComplaintsIsBounded(t *testing.T) {
	p := begin(t, small)
	if _, err := p.do("complain", ""); err == nil {
		t.Fatal("it goes on")
	}
	var exit *sandbox.ExitError
	if err := p.end(5 * time.Second); !errors.As(err, &exit) || exit.Limit != "" || len(exit.Text) != 64<<10 {
		t.Fatalf("ended with %v", err)
	}
	wantText(t, exit.Error(), "exit status 3")
}

func TestAPanicIsToldOf(t *testing.T) {
	p := begin(t, small)
	_, _ = p.do("panic", "")
	wantText(t, p.end(5*time.Second).Error(), "a panic of the engine")
}

// A process that floods, says rubbish, says nothing or dies keeps no one waiting
// who kills it.
func TestKillEndsWhateverItDoes(t *testing.T) {
	for _, act := range []string{"fill", "silence", "spin", "rubbish"} {
		t.Run(act, func(t *testing.T) {
			p := begin(t, wire.DefaultLimits())
			read := make(chan error, 1)
			go func() {
				_, err := p.do(act, "")
				read <- err
			}()
			time.Sleep(50 * time.Millisecond)
			began := time.Now()
			if err := p.p.Kill(); err != nil {
				t.Error(err)
			}
			_ = p.end(time.Second)
			if err := <-read; err == nil {
				t.Error("it answered")
			}
			if took := time.Since(began); took > 500*time.Millisecond {
				t.Errorf("took %s", took)
			}
		})
	}
}

// No one reads what it is told; then the writer must come free.
func TestAWriterComesFree(t *testing.T) {
	p := begin(t, wire.DefaultLimits())
	wrote := make(chan error, 1)
	go func() {
		_, _ = p.p.Write([]byte{})
		_ = p.conn.Send(wire.Message{Kind: wire.Call, Body: map[string]any{"do": "silence"}})
		_, err := p.p.Write(make([]byte, 8<<20))
		wrote <- err
	}()
	time.Sleep(50 * time.Millisecond)
	p.p.Kill()
	select {
	case err := <-wrote:
		if err == nil {
			t.Error("it was written")
		}
	case <-time.After(time.Second):
		t.Error("still writing")
	}
}

func TestTheContextEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p, err := sandbox.Start(ctx, "", wire.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	cancel()
	if _, err := io.ReadAll(p); err != nil {
		t.Error(err)
	}
	var exit *sandbox.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || !exit.Killed {
		t.Errorf("ended with %v", err)
	}
	if _, err := sandbox.Start(ctx, "", wire.DefaultLimits()); !errors.Is(err, context.Canceled) {
		t.Errorf("started after the end: %v", err)
	}
}

func TestProgramErrorHint(t *testing.T) {
	err := fmt.Errorf("start the script process: %w", &sandbox.ProgramError{Err: fs.ErrNotExist})
	wantText(t, err.Error(), "start the script process: find the running program: file does not exist")
	want := ""
	if runtime.GOOS == "linux" {
		want = "/proc"
	}
	if got := hint.Of(err); !strings.Contains(strings.Join(got, " "), want) || (want == "") != (len(got) == 0) {
		t.Errorf("got %q, want %q in it", got, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the reason is lost")
	}
}

func TestABinaryThatIsNotThere(t *testing.T) {
	_, err := sandbox.Start(context.Background(), "/nowhere/helm", wire.DefaultLimits())
	if err == nil {
		t.Fatal("it started")
	}
	wantText(t, err.Error(), "start the script process")
}
