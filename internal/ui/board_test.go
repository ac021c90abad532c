// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

var update = flag.Bool("update", false, "accept what is drawn now")

// recorded is a line of testdata/stream.jsonl: an event and its time, or a check of the screen.
type recorded struct {
	At     string
	Kind   progress.Kind
	Object string
	Text   string
	Look   string
}

func stream(t *testing.T) []recorded {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "stream.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []recorded
	for line := range strings.Lines(string(text)) {
		var r recorded
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// replay sends the recorded events to b at their times.
func replay(t *testing.T, b *Board, look func(string)) {
	t.Helper()
	start := time.Now()
	for _, r := range stream(t) {
		at, err := time.ParseDuration(r.At)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(start.Add(at)))
		synctest.Wait()
		if r.Look != "" {
			look(r.Look)
			continue
		}
		b.Report(progress.Event{Kind: r.Kind, Object: r.Object, Text: r.Text})
	}
	b.Close()
	synctest.Wait()
}

// onScreen returns a board on a terminal.
func onScreen(t *testing.T, columns, rows int) (*Board, *screen) {
	s := &screen{t: t, columns: columns, rows: rows}
	return &Board{w: s, chatty: true, size: s.size}, s
}

func TestWaitOnTerminals(t *testing.T) {
	for _, size := range [][2]int{{20, 24}, {40, 24}, {80, 24}, {160, 50}, {80, 7}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := onScreen(t, size[0], size[1])
				var out strings.Builder
				replay(t, b, func(what string) {
					fmt.Fprintf(&out, "== %s ==\n%s\n", what, s)
				})
				filetest.Golden(t, filepath.Join("testdata", fmt.Sprintf("screen-%dx%d.txt", size[0], size[1])), out.String(), *update)
			})
		})
	}
}

func TestWaitInPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		replay(t, NewBoard(term.Streams{Err: &out, Getenv: os.Getenv}, Plain, false), func(string) {})
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("escape codes in a pipe: %q", out.String())
		}
		filetest.Golden(t, filepath.Join("testdata", "pipe.txt"), out.String(), *update)
	})
}

// A controller that changes its mind, and a container that crashes again, have no line each time.
func TestPlainWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := NewBoard(term.Streams{Err: &out}, Plain, false)
		for i := range 40 {
			b.Report(progress.Event{Kind: progress.Waiting, Object: "Job/x", Text: fmt.Sprintf("%d of 40 completed", i), Total: 3})
			b.Report(progress.Event{Kind: progress.Failing, Object: "Pod/a", Text: fmt.Sprintf("pod a-%d crashed (%s)", i, strings.Repeat("again, ", i)), Total: 3})
			b.Report(progress.Event{Kind: progress.Waiting, Object: "Pod/a", Text: "running, not ready", Total: 3})
			time.Sleep(990 * time.Millisecond) // not when a line is due
		}
		b.Report(progress.Event{Kind: progress.Ready, Object: "Job/x", Text: "complete", Total: 3})
		b.Report(progress.Event{Kind: progress.Settled})
		time.Sleep(time.Hour)
		synctest.Wait()
		want := `   0s  0 of 3  trouble with Pod/a: pod a-0 crashed ()
  30s  0 of 3  waiting for Job/x: 30 of 40 completed; Pod/a: running, not ready
  39s  1 of 3  complete Job/x
1 of 3 objects complete after 39s
`
		if got := out.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func waiting(object, text string) progress.Event {
	return progress.Event{Kind: progress.Waiting, Object: object, Text: text}
}

func TestResize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := onScreen(t, 60, 24)
		b.Report(progress.Event{Kind: progress.Step, Text: "creating 2 objects"})
		b.Report(waiting("Deployment/web", "1 of 3 pods ready"))
		b.Report(waiting("Deployment/a-worker-with-a-long-name", "no pods yet"))
		for _, size := range [][2]int{{60, 24}, {33, 24}, {10, 24}, {5, 24}, {70, 24}, {70, 4}, {80, 24}} {
			s.resize(size[0], size[1])
			time.Sleep(time.Second)
			synctest.Wait()
			got := strings.ReplaceAll(s.String(), "\n", "")
			if !strings.HasPrefix(got, "creating 2 objects  Depl") && size[0] > 8 || strings.Count(got, "Deployment/a-") > 1 || strings.Contains(got, "cursor") {
				t.Errorf("at %v:\n%s", size, s)
			}
		}
		b.Report(progress.Event{Kind: progress.Settled})
		if got, want := strings.ReplaceAll(s.String(), "\n", ""), "creating 2 objects0 of 2 objects ready after 7s"; got != want {
			t.Errorf("got\n%s", s)
		}
	})
}

// Neither a busy nor a quiet cluster may keep the terminal busy.
func TestDrawInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := onScreen(t, 80, 24)
		for i := range 2000 { // for two seconds
			b.Report(waiting(fmt.Sprintf("Pod/web-%d", i%10), fmt.Sprint("state ", i)))
			b.Report(progress.Event{Kind: progress.Log, Text: fmt.Sprint("line ", i)})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(minInterval)
		synctest.Wait()
		// Lines are written at once until there is a table.
		if busy := s.written() - 100; busy > 25 {
			t.Errorf("%d drawings in two seconds", busy)
		}
		if got := strings.Count(s.String(), "| line "); got != 2000 {
			t.Errorf("%d of 2000 lines of a log arrived", got)
		}
		before := s.written()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if quiet := s.written() - before; quiet < 9 || quiet > 11 {
			t.Errorf("%d drawings in ten seconds without events", quiet)
		}
		b.Close()
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := onScreen(t, 80, 24)
		b.Report(waiting("Pod/a", "x"))
		time.Sleep(time.Second)
		b.Report(progress.Event{Kind: progress.Settled})
		if got, want := s.String(), "Pod/a not ready after 1s\n"; got != want {
			t.Errorf("got\n%s", got)
		}
		s.lines, s.row = nil, 0
		b.Report(waiting("Pod/a", "x"))
		time.Sleep(time.Second)
		b.Report(progress.Event{Kind: progress.Warning, Text: "first"})
		b.Report(progress.Event{Kind: progress.Warning, Text: "second"})
		if !strings.Contains(s.String(), "Pod/a") {
			t.Errorf("no table:\n%s", s)
		}
		b.Close()
		b.Close()
		b.Report(waiting("Pod/b", "x"))
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := s.String(), "Warning: first\nWarning: second\nwaiting for Pod/b: x\n"; got != want {
			t.Errorf("got\n%s", got)
		}
	})
}

func TestAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := onScreen(t, 80, 24)
		others := b.Above(s)
		b.Report(waiting("Pod/a", "x"))
		time.Sleep(time.Second + minInterval/3) // not right after a drawing
		fmt.Fprintln(others, "a trace")
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := s.String(), "a trace\n  Pod/a  x   1s\n0 of 1 ready, 1s\n"; got != want {
			t.Errorf("got\n%s", got)
		}
		fmt.Fprint(others, "Sure? ")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got, want := s.String(), "a trace\nSure?\n[cursor in row 1, column 6]\n"; got != want {
			t.Errorf("got\n%s", got)
		}
		fmt.Fprintln(others, "yes")
		time.Sleep(time.Second)
		synctest.Wait()
		if !strings.HasPrefix(s.String(), "a trace\nSure? yes\n  Pod/a  x   5s\n") {
			t.Errorf("got\n%s", s)
		}
		b.Close()
	})
}

// A table does not flash up for a short wait.
func TestShortWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := onScreen(t, 80, 24)
		b.Report(waiting("Job/x", "running"))
		time.Sleep(minInterval / 2)
		b.Report(progress.Event{Kind: progress.Ready, Object: "Job/x", Text: "complete"})
		b.Report(progress.Event{Kind: progress.Settled})
		b.Report(progress.Event{Kind: progress.Settled}) // a wait without objects
		if got, want := s.String(), "Job/x complete in 0s\n"; got != want || s.written() != 1 {
			t.Errorf("%d writes:\n%s", s.written(), got)
		}
	})
}

func TestWaitForDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := onScreen(t, 80, 24)
		b.Report(waiting("Pod/a", "to be gone"))
		b.Report(waiting("Pod/b", "to be gone"))
		b.Report(progress.Event{Kind: progress.Ready, Object: "Pod/a", Text: "gone"})
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := s.String(), "+ Pod/a  gone\n  Pod/b  to be gone   0s\n1 of 2 gone, 0s\n"; got != want {
			t.Errorf("got\n%s", got)
		}
		b.Report(progress.Event{Kind: progress.Ready, Object: "Pod/b", Text: "gone"})
		b.Report(progress.Event{Kind: progress.Settled})
		if got, want := s.String(), "2 objects gone in 1s\n"; got != want {
			t.Errorf("got\n%s", got)
		}
	})
}

func TestWaitVerb(t *testing.T) {
	for _, test := range []struct {
		name  string
		texts []string
		want  string
	}{
		{"same text", []string{"complete", "complete"}, "2 objects complete in 0s"},
		{"one without text", []string{"complete", ""}, "2 objects ready in 0s"},
		{"two texts", []string{"complete", "gone"}, "2 objects ready in 0s"},
		{"one object", []string{""}, "Pod/0 ready in 0s"},
		{"control characters", []string{"\x1b[2J"}, "Pod/0 \\x1b[2J in 0s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w wait
			now := time.Now()
			for i, text := range test.texts {
				w.update(progress.Event{Kind: progress.Ready, Object: fmt.Sprint("Pod/", i), Text: text}, now)
			}
			if got := w.summary(now); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSummaryOfDeletion(t *testing.T) {
	var w wait
	now := time.Now()
	w.update(progress.Event{Kind: progress.Waiting, Object: "ConfigMap/a", Text: "to be deleted"}, now)
	if got, want := w.summary(now.Add(2900*time.Millisecond)), "ConfigMap/a not deleted after 2s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTableColours(t *testing.T) {
	st := term.Streams{Color: "always"}.Style(nil)
	var w wait
	now := time.Now()
	w.update(waiting("Pod/a", "x"), now)
	w.update(progress.Event{Kind: progress.Failing, Object: "Pod/b", Text: "crashes"}, now)
	w.update(waiting("Pod/c", "x"), now)
	w.update(progress.Event{Kind: progress.Ready, Object: "Pod/c"}, now)
	got := strings.Join(w.table(st, 80, 10, now), "\n")
	for _, want := range []string{"  Pod/a  x", st.Red("! ") + "Pod/b  " + st.Red("crashes"), st.Green("+ ") + "Pod/c  " + st.Green("ready  "), st.Dim("1 of 3 ready, 0s")} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%q", want, got)
		}
	}
}

func TestElapsed(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 1999 * time.Millisecond: "1s", 59 * time.Second: "59s", time.Minute: "1m00s",
		time.Hour - time.Second: "59m59s", 26*time.Hour + 5*time.Minute: "26h05m",
	} {
		if got := elapsed(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}

// Events come from many goroutines while another draws the table.
func TestConcurrentReports(t *testing.T) {
	s := &screen{t: t, columns: 80, rows: 24}
	b := &Board{w: s, chatty: true, size: s.size}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			name := fmt.Sprint("Pod/", i)
			for n := range 30 {
				b.Report(waiting(name, fmt.Sprint("state ", n)))
				b.Report(progress.Event{Kind: progress.Log, Object: name, Text: "a line"})
				if n == 10 && i == 3 {
					fmt.Fprintln(b.Above(s), "a trace")
				}
				time.Sleep(time.Duration(i%4) * time.Millisecond)
			}
			b.Report(progress.Event{Kind: progress.Ready, Object: name})
			if i%7 == 0 {
				b.Report(progress.Event{Kind: progress.Settled})
			}
		})
	}
	all.Wait()
	b.Close()
	got := s.String()
	if n := strings.Count(got, " | a line\n"); n != 600 || strings.Count(got, "a trace\n") != 1 {
		t.Errorf("%d of 600 lines:\n%s", n, got)
	}
	for line := range strings.Lines(got) {
		if !strings.HasSuffix(line, "| a line\n") && line != "a trace\n" && !strings.Contains(line, " ready after ") && !strings.Contains(line, " ready in ") {
			t.Errorf("leftover on the screen: %q", line)
		}
	}
}

func FuzzTableFits(f *testing.F) {
	f.Add(20, 5, "Job/猫", "a long text, longer than a narrow table", uint8(3))
	f.Add(80, 24, "Job/\x1b[2J", "é\u0301\u200d🏳️‍🌈", uint8(40))
	f.Fuzz(func(t *testing.T, columns, rows int, object, text string, n uint8) {
		if columns > 500 || rows > 500 || len(text) > 1000 {
			return
		}
		var w wait
		now := time.Now()
		kinds := []progress.Kind{progress.Waiting, progress.Failing, progress.Ready}
		for i := range int(n) {
			w.update(progress.Event{Kind: kinds[i%3], Object: fmt.Sprint(object, i/2), Text: text}, now)
		}
		lines := w.table(term.Style{}, columns, rows, now)
		if len(lines) > max(rows, 0) {
			t.Errorf("%d lines in %d rows", len(lines), rows)
		}
		for _, l := range lines {
			if width(l) >= columns || strings.ContainsAny(l, "\n\r\x1b") {
				t.Errorf("%q is %d wide in %d columns", l, width(l), columns)
			}
		}
	})
}

// The middle of a name is omitted, however long it is.
func TestPadName(t *testing.T) {
	for _, n := range []int{30, 300, 300_000} {
		got := padName("Job/"+strings.Repeat("x", n)+"-last", 24)
		if !strings.HasPrefix(got, "Job/x") || !strings.HasSuffix(strings.TrimSpace(got), "-last") || width(got) != 24 {
			t.Errorf("%d characters: got %q", n, got)
		}
	}
}
