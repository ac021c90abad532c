// SPDX-License-Identifier: Apache-2.0

// Package ui turns progress into lines for people. In comes a stream of
// [progress.Event], out go lines on the error stream; standard output is never
// touched, it belongs to the command.
package ui

import (
	"fmt"
	"io"
	"sync"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

// Report returns a function that writes events to w. On a terminal it tells
// each step of an operation; in a pipe only warnings and what was kept, unless
// verbose. The function may be called from several goroutines.
func Report(w io.Writer, style term.Style, verbose bool) progress.Func {
	if w == nil {
		return nil
	}
	var mu sync.Mutex
	chatty := verbose || term.IsTerminal(w)
	return func(e progress.Event) {
		line := describe(e, style, chatty, verbose)
		if line == "" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(w, line)
	}
}

func describe(e progress.Event, style term.Style, chatty, verbose bool) string {
	object, text := term.SafeLine(e.Object), term.Safe(e.Text)
	switch e.Kind {
	case progress.Warning:
		return style.Yellow("Warning:") + " " + subject(object, text)
	case progress.Kept:
		return style.Dim("kept ") + subject(object, text)
	}
	if !chatty {
		return ""
	}
	switch e.Kind {
	case progress.Step:
		return style.Dim(text)
	case progress.HookRun:
		return style.Dim("hook ") + subject(object, text)
	case progress.Waiting:
		return style.Dim("waiting for ") + subject(object, text)
	}
	if !verbose {
		return ""
	}
	switch e.Kind {
	case progress.Created:
		return style.Green("created ") + subject(object, text)
	case progress.Deleted:
		return style.Red("deleted ") + subject(object, text)
	case progress.Ready:
		return style.Green("ready ") + subject(object, text)
	case progress.Download:
		return style.Dim(fmt.Sprintf("downloaded %d of %d bytes: %s", e.Done, e.Total, text))
	}
	return ""
}

func subject(object, text string) string {
	switch {
	case object == "":
		return text
	case text == "":
		return object
	}
	return object + ": " + text
}
