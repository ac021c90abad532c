// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/script/wire"
)

// ExitError tells how the process ended when it did not end well.
type ExitError struct {
	// Limit is what it ran into: "cpu", "memory", "stack", or nothing that is
	// known.
	Limit string
	// Killed reports that it was ended by [Process.Kill], or by the end of the
	// context it was started with.
	Killed bool
	// Text is what it wrote to its standard error, as it wrote it, 64 KiB at
	// most: a crash of Go, or nothing.
	Text string
	// Status is how the system describes the end: "exit status 2".
	Status string

	limits wire.Limits
}

// Exceeded is the limit that was hit, for those who do not know this package.
func (e *ExitError) Exceeded() string { return e.Limit }

// Error is a sentence about the scripts where a limit was hit, which is what
// their user can do something about, and otherwise how the process ended.
func (e *ExitError) Error() string {
	switch e.Limit {
	case limitCPU:
		return fmt.Sprintf("the scripts used more CPU time than %s, the limit for an operation", e.limits.CPU)
	case limitMemory:
		return fmt.Sprintf("the scripts used more memory than %d MiB, the limit for an operation", e.limits.Memory>>20)
	case limitStack:
		return "the scripts used up the stack: something calls itself without end"
	}
	if line := firstLine(e.Text); line != "" && !e.Killed {
		return fmt.Sprintf("%s: %q", e.Status, line)
	}
	return e.Status
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line[:min(len(line), 200)]
}

// judge tells how a process ended. What the process wrote is evidence for the
// words of the error only.
func judge(state *os.ProcessState, text string, killed bool, l wire.Limits) error {
	if state == nil {
		return &ExitError{Killed: killed, Text: text, Status: "in an unknown way", limits: l}
	}
	if !killed && state.Success() {
		return nil
	}
	e := &ExitError{Text: text, Status: state.String(), limits: l}
	code := state.ExitCode()
	switch {
	case code == exitMemory:
		e.Limit = limitMemory
	case code == exitCPU:
		e.Limit = limitCPU
	case code == 2 && contains(text, "stack exceeds", "stack overflow"):
		e.Limit = limitStack
	case code == 2 &&
		contains(text, "out of memory", "cannot allocate memory", "failed to create new OS thread", "pthread_create failed",
			"limit on address space"):
		e.Limit = limitMemory
	case killed:
		e.Killed = true
	case code == -1 && l.CPU > 0 && state.UserTime()+state.SystemTime() >= l.CPU:
		e.Limit = limitCPU // the system's last word on it is a kill
	case (code == -1 || code == 2 && !strings.HasPrefix(text, "panic:")) && l.Memory > 0 && peakMemory(state) >= l.Memory:
		// The machine ran out before the limit did, or Go's runtime stumbled over
		// memory that it did not get.
		e.Limit = limitMemory
	}
	return e
}

func contains(text string, words ...string) bool {
	for _, s := range words {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// maxComplaint bounds what is kept of the child's standard error: its
// beginning, where Go says what went wrong.
const maxComplaint = 64 << 10

// complaint keeps what the child writes to its standard error.
type complaint struct {
	text   []byte
	source chan *os.File
	done   chan struct{}
}

func newComplaint() *complaint {
	return &complaint{source: make(chan *os.File, 1), done: make(chan struct{})}
}

// listen reads f to its end and closes it. What is too much is read all the
// same: the child must not hang in a write to no one.
func (c *complaint) listen(f *os.File) {
	c.source <- f
	c.text, _ = io.ReadAll(io.LimitReader(f, maxComplaint))
	_, _ = io.Copy(io.Discard, f)
	f.Close()
	close(c.done)
}

// end returns what was written once the child is gone. Something that the child
// started may still hold the other end; it gets a moment only.
func (c *complaint) end(patience time.Duration) string {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		(<-c.source).Close()
		<-c.done
	}
	return string(c.text)
}
