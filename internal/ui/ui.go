// SPDX-License-Identifier: Apache-2.0

// Package ui shows [progress.Event]s on standard error: as lines and, on a terminal, as a live
// table of awaited objects and downloads below them. It does not write to standard output.
package ui

import (
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

// describe returns the lines for an event, or "". Changes of awaited objects are shown in the table
// instead.
func (b *Board) describe(e progress.Event) string {
	object, text := term.SafeLine(e.Object), term.Safe(e.Text)
	switch e.Kind {
	case progress.Warning:
		return b.style.Yellow("Warning:") + " " + subject(object, text)
	case progress.Kept:
		return b.style.Dim("kept ") + subject(object, text)
	case progress.Log:
		return b.logLines(object, e.Text)
	case progress.Occurred:
		return b.style.Yellow("event ") + subject(object, term.SafeLine(e.Text))
	case progress.Summary:
		return text
	case progress.Step:
		if b.chatty {
			return b.style.Dim(text)
		}
	case progress.HookRun:
		if b.chatty {
			return b.style.Dim("hook ") + subject(object, text)
		}
	}
	if b.verbose {
		return b.detail(e.Kind, object, text, e)
	}
	return ""
}

// detail returns the line for an event that is shown only in verbose output.
func (b *Board) detail(kind progress.Kind, object, text string, e progress.Event) string {
	switch kind {
	case progress.Created:
		return b.style.Green("created ") + subject(object, text)
	case progress.Updated:
		return b.style.Yellow("updated ") + subject(object, text)
	case progress.Deleted:
		return b.style.Red("deleted ") + subject(object, text)
	case progress.Fetched:
		return b.style.Dim(fmt.Sprintf("downloaded %s: %s", size(e.Done), text))
	}
	return ""
}

// change returns the line for a change of an awaited object, if there is no table.
func (b *Board) change(e progress.Event) string {
	object, text := term.SafeLine(e.Object), term.SafeLine(e.Text)
	switch e.Kind {
	case progress.Waiting:
		return b.style.Dim("waiting for ") + subject(object, text)
	case progress.Failing:
		return b.style.Red("trouble with ") + subject(object, text)
	case progress.Ready:
		if text == "" {
			text = "ready"
		}
		return b.style.Green(text+" ") + object
	}
	return ""
}

// logLines returns the log of an object, with a prefix for each line.
func (b *Board) logLines(object, text string) string {
	prefix := b.style.Dim("| ")
	if object != "" {
		prefix = b.style.Dim(object + " | ")
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = prefix + term.Safe(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
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
