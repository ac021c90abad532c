// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/wire"
)

// An ExitError is returned by [Process.Wait] when the process did not exit with status 0.
type ExitError struct {
	// Limit is the limit that the process exceeded: "cpu", "memory", "stack", or "" if it
	// exceeded none.
	Limit string
	// Killed is set if [Process.Kill] or the cancelled context of [Start] ended it.
	Killed bool
	// Text is the first 64 KiB of its standard error: empty, or a crash of Go.
	Text string
	// Status is the operating system's description: "exit status 2".
	Status string

	limits wire.Limits
}

// Exceeded returns e.Limit. Callers find it through an interface (see wire.Process).
func (e *ExitError) Exceeded() string { return e.Limit }

// Error names the limit that the scripts exceeded, or else describes how the process ended.
func (e *ExitError) Error() string {
	switch e.Limit {
	case limitCPU:
		return fmt.Sprintf("the scripts used more CPU time than %s, the limit for an operation", e.limits.CPU)
	case limitMemory:
		return fmt.Sprintf("the scripts used more memory than %d MiB, the limit for an operation", e.limits.Memory>>20)
	case limitStack:
		return "the scripts used up the stack: something calls itself without end"
	}
	if line := truncate.Line(e.Text, 200, ""); line != "" && !e.Killed {
		return fmt.Sprintf("%s: %q", e.Status, line)
	}
	return e.Status
}

// exitError returns the error of a process that ended, or nil if it succeeded. Its output
// decides only about the error's text and limit, never about success.
func exitError(state *os.ProcessState, text string, killed bool, l wire.Limits) error {
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
		e.Limit = limitCPU // the system enforces RLIMIT_CPU by killing
	case (code == -1 || code == 2 && !strings.HasPrefix(text, "panic:")) && l.Memory > 0 && peakMemory(state) >= l.Memory:
		// The machine had less memory than the limit, or Go's runtime failed after an
		// allocation was refused.
		e.Limit = limitMemory
	}
	return e
}

func contains(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(s string) bool { return strings.Contains(text, s) })
}

// maxStderr bounds what is kept of the child's standard error: the beginning, which has
// Go's description of a crash.
const maxStderr = 64 << 10

// stderrReader reads the child's standard error.
type stderrReader struct {
	source *os.File
	text   []byte // once done is closed
	done   chan struct{}
}

// readStderr reads f to its end and closes it. What exceeds maxStderr is read and discarded,
// so that the child never blocks in a write.
func readStderr(f *os.File) *stderrReader {
	r := &stderrReader{source: f, done: make(chan struct{})}
	go func() {
		r.text, _ = io.ReadAll(io.LimitReader(f, maxStderr))
		_, _ = io.Copy(io.Discard, f)
		f.Close()
		close(r.done)
	}()
	return r
}

// finish returns what was read once the child has exited. A program that the child
// started may still hold the pipe open: finish closes it after timeout.
func (r *stderrReader) finish(timeout time.Duration) string {
	select {
	case <-r.done:
	case <-time.After(timeout):
		r.source.Close()
		<-r.done
	}
	return string(r.text)
}
