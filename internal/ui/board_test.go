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
	"testing"
	"testing/synctest"
	"time"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

var update = flag.Bool("update", false, "accept what is drawn now")

// recorded is a line of testdata/stream.jsonl: an event and when it came, or a
// look at the screen.
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

// replay sends the recorded stream to b at its own times.
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

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwanted\n%s", got, want)
	}
}

// onScreen is a board on a terminal.
func onScreen(t *testing.T, columns, rows int) (*Board, *screen) {
	s := &screen{t: t, columns: columns, rows: rows}
	return &Board{w: s, chatty: true, size: s.size}, s
}

func TestARecordedWaitOnTerminals(t *testing.T) {
	for _, size := range [][2]int{{20, 24}, {40, 24}, {80, 24}, {160, 50}, {80, 7}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := onScreen(t, size[0], size[1])
				var out strings.Builder
				replay(t, b, func(what string) {
					fmt.Fprintf(&out, "== %s ==\n%s\n", what, s)
				})
				golden(t, fmt.Sprintf("screen-%dx%d.txt", size[0], size[1]), out.String())
			})
		})
	}
}

func TestARecordedWaitInAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		replay(t, NewBoard(term.Streams{Err: &out, Getenv: os.Getenv}, false), func(string) {})
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("escape codes in a pipe: %q", out.String())
		}
		golden(t, "pipe.txt", out.String())
	})
}
