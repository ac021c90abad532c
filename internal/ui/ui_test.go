// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

// all contains an event of each kind.
var all = []progress.Event{
	{Kind: progress.Step, Text: "creating 2 objects"},
	{Kind: progress.Created, Object: "Service/web"},
	{Kind: progress.Deleted, Object: "Service/old"},
	{Kind: progress.Kept, Object: "Secret/s", Text: "of another release"},
	{Kind: progress.Waiting, Object: "Deployment/web", Text: "0 of 1 ready"},
	{Kind: progress.Ready, Object: "Deployment/web"},
	{Kind: progress.HookRun, Object: "Job/setup", Text: "pre-install"},
	{Kind: progress.Warning, Text: "old chart"},
	{Kind: progress.Fetched, Text: "chart", Done: 5},
	{Kind: "a kind of next year", Text: "x"},
}

func TestModesInAPipe(t *testing.T) {
	const (
		silent = "kept Secret/s: of another release\nWarning: old chart\n"
		lines  = `creating 2 objects
kept Secret/s: of another release
   0s  1 of 1  ready Deployment/web
hook Job/setup: pre-install
Warning: old chart
`
	)
	for _, test := range []struct {
		name    string
		mode    Mode
		verbose bool
		want    string
	}{
		{"the zero value", "", false, silent},
		{"auto", Auto, false, silent},
		{"plain", Plain, false, lines},
		{"none", None, false, silent},
		{"none is stronger than verbose", None, true, silent},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			report := progress.Func(NewBoard(term.Streams{Err: &b}, test.mode, test.verbose).Report)
			for _, e := range all {
				report.Send(e)
			}
			if b.String() != test.want {
				t.Errorf("got\n%s\nwant\n%s", b.String(), test.want)
			}
		})
	}
}

func TestVerbose(t *testing.T) {
	var b bytes.Buffer
	report := progress.Func(NewBoard(term.Streams{Err: &b}, Auto, true).Report)
	for _, e := range all {
		report.Send(e)
	}
	want := `creating 2 objects
created Service/web
deleted Service/old
kept Secret/s: of another release
   0s  0 of 1  waiting for Deployment/web: 0 of 1 ready
   0s  1 of 1  ready Deployment/web
hook Job/setup: pre-install
Warning: old chart
downloaded 5 B: chart
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestTerminalSteps(t *testing.T) {
	var got []string
	for _, e := range all {
		if (&Board{chatty: true}).describe(e) != "" {
			got = append(got, string(e.Kind))
		}
	}
	if want := "step kept hook warning"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestUntrustedTextIsEscaped(t *testing.T) {
	var b bytes.Buffer
	NewBoard(term.Streams{Err: &b}, Auto, false).Report(progress.Event{Kind: progress.Warning, Object: "a\nb", Text: "\x1b[2J"})
	if want := "Warning: a b: \\x1b[2J\n"; b.String() != want {
		t.Errorf("got %q", b.String())
	}
}

func TestBoardWithoutStream(t *testing.T) {
	b := NewBoard(term.Streams{}, Auto, true)
	b.Report(progress.Event{Kind: progress.Warning, Text: "x"})
	b.Report(progress.Event{Kind: progress.Waiting, Object: "x"})
	b.Close()
}

func TestConcurrentLines(t *testing.T) {
	var b bytes.Buffer
	report := progress.Func(NewBoard(term.Streams{Err: &b}, Auto, false).Report)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() { report.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprint("number ", i)}) })
	}
	wg.Wait()
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if !strings.HasPrefix(line, "Warning: number ") {
			t.Errorf("%q", line)
		}
	}
}
