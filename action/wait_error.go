// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/kube/wait"
)

// A WaitError is returned if an operation fails because a wait fails, or because it is
// interrupted, after the revision was recorded. Err contains a [*wait.PendingError] or a
// [*wait.FailedError], which have the objects and the reasons as data, or an [*InterruptedError].
type WaitError struct {
	// Operation is "install", "upgrade", "rollback", "uninstall", "test" or "rollout".
	Operation string
	Release   string
	Revision  int
	// Target is the revision that a rollback goes back to.
	Target int
	// Deployed is the last successful revision before Revision, or 0 if there is none.
	Deployed int
	// Undone says what of the operation was undone.
	Undone Undone
	// Unwritten is the number of batches of objects that were not written, because they depend on
	// those that did not become ready.
	Unwritten int
	// Readiness is set if the wait had a timeout of its own, WaitOptions.ReadinessTimeout.
	Readiness bool
	// Batch names the batch of objects that the wait was for, if there are several.
	Batch string
	Err   error
}

// Undone says what of a failed operation was undone.
type Undone string

// What can be undone. The zero value means nothing.
const (
	// UndoneCreated means that the objects that the operation had created were deleted.
	UndoneCreated Undone = "created"
	// UndoneAll means that the release was rolled back or uninstalled.
	UndoneAll Undone = "all"
)

// An InterruptedError is the error of an operation whose context ended outside of a wait.
type InterruptedError struct {
	// After is the time from the begin of the operation.
	After time.Duration
	Cause error // of the context's end
	Err   error // what could not be finished
}

func (e *InterruptedError) Error() string {
	return strings.Join(append([]string{e.Outcome()}, e.Lines()...), ": ")
}

func (e *InterruptedError) Unwrap() error { return e.Err }

// Outcome says how the operation has ended: "was stopped after 3s (interrupt signal received)".
func (e *InterruptedError) Outcome() string {
	return fmt.Sprintf("was stopped after %s (%s)", e.After.Round(100*time.Millisecond), e.Cause)
}

// Lines returns what could not be finished, if that is known.
func (e *InterruptedError) Lines() []string {
	if what := e.unfinished(); what != "" {
		return []string{what + ": interrupted"}
	}
	return nil
}

// Summary returns the error in one short line, for the description of a record.
func (e *InterruptedError) Summary() string {
	if what := e.unfinished(); what != "" {
		return oneLine(what) + ": " + e.Cause.Error()
	}
	return e.Cause.Error()
}

// unfinished returns the message of Err without the context's cause.
func (e *InterruptedError) unfinished() string {
	text := e.Err.Error()
	for _, ended := range []string{context.Canceled.Error(), e.Cause.Error()} {
		text = strings.TrimSuffix(strings.TrimSuffix(text, ended), ": ")
	}
	return text
}

// interrupted returns err as an [*InterruptedError] if ctx has ended and no wait has failed.
func (c *Config) interrupted(ctx context.Context, begun time.Time, err error) error {
	if err == nil || ctx.Err() == nil || isLockLost(ctx) || isWaitFailure(err) || !errors.Is(err, ctx.Err()) {
		return err
	}
	return &InterruptedError{After: c.now().Sub(begun), Cause: context.Cause(ctx), Err: err}
}

// waitFailure is a [*wait.PendingError], a [*wait.FailedError] or an [*InterruptedError].
type waitFailure interface {
	error
	Outcome() string
	Lines() []string
	Summary() string
}

// Error returns the operation and the outcome, a line for each object, and what stays.
func (e *WaitError) Error() string {
	lines := e.outcome()
	if last := e.lastLine(); last != "" {
		lines = append(lines, last)
	}
	return strings.Join(lines, "\n  ")
}

// outcome returns how the operation has ended, and the lines about the objects.
func (e *WaitError) outcome() []string {
	var (
		hook    *HookError
		pending *wait.PendingError
		failure waitFailure
	)
	isHook := errors.As(e.Err, &hook)
	switch {
	case isHook && errors.As(e.Err, &pending):
		header := fmt.Sprintf("%s: %s %s in the %s", hook.failed(), e.what(), pending.End(), hook.name())
		return append([]string{header}, pending.Lines()...)
	case errors.As(e.Err, &failure) && (!isHook || isInterrupted(failure)):
		lines := append([]string{e.what() + " " + failure.Outcome()}, failure.Lines()...)
		if e.Unwritten > 0 && e.Batch != "" {
			lines = append(lines, "the wait was for "+e.Batch)
		}
		return lines
	}
	return []string{e.Err.Error()}
}

func isInterrupted(err error) bool {
	var interrupted *InterruptedError
	return errors.As(err, &interrupted)
}

func (e *WaitError) Unwrap() error { return e.Err }

// what returns the operation with the revision that it makes.
func (e *WaitError) what() string {
	what := fmt.Sprintf("%s of %s", e.Operation, e.Release)
	switch {
	case e.Operation == "rollback":
		what += fmt.Sprintf(" to revision %d (as revision %d)", e.Target, e.Revision)
	case e.Operation == "upgrade":
		what += fmt.Sprintf(" to revision %d", e.Revision)
	case e.Operation == "install" && e.Revision > 1, e.Operation == "rollout":
		what += fmt.Sprintf(" (revision %d)", e.Revision)
	}
	return what
}

// lastLine returns Helm's sentence for a timeout, and what stays.
func (e *WaitError) lastLine() string {
	const sentence = "timed out waiting for the condition (context deadline exceeded)"
	pending := (*wait.PendingError)(nil)
	stays := e.stays()
	switch timedOut := errors.As(e.Err, &pending) && pending.TimedOut(); {
	case !timedOut:
		return stays
	case stays == "":
		return sentence
	default:
		return sentence + ": " + stays
	}
}

// stays returns what the operation leaves behind, or "" if it was undone, or for a
// test.
func (e *WaitError) stays() string {
	switch {
	case e.Undone == UndoneAll, e.Operation == "test", e.Operation == "rollout":
		return ""
	case e.Undone == UndoneCreated:
		return fmt.Sprintf("revision %d is recorded as failed, and the objects that it has created are deleted", e.Revision)
	case e.Operation == "uninstall":
		return "the release is recorded as failed, and its history is kept"
	}
	text := fmt.Sprintf("revision %d is recorded as failed, and what it has written stays", e.Revision)
	if e.Unwritten > 0 {
		text += "; objects that depend on those above were not written"
	}
	return text
}

// Summary returns the error in one short line, for the description of a record.
func (e *WaitError) Summary() string { return summaryOf(e.Err) }

// Hint suggests commands to the user.
func (e *WaitError) Hint() string {
	hints := []string{e.waitHint()}
	if more := e.nextHint(); more != "" {
		hints = append(hints, more)
	}
	return strings.Join(hints, "\n")
}

// waitHint suggests how to look at the release, and how to wait longer.
func (e *WaitError) waitHint() string {
	status := fmt.Sprintf("helm status %s shows the current state", e.Release)
	if e.Undone == UndoneAll {
		status = fmt.Sprintf("helm history %s lists the revisions", e.Release)
		if e.Operation == "install" {
			status = ""
		}
	}
	var pending *wait.PendingError
	var failed *wait.FailedError
	first := ""
	switch {
	case errors.As(e.Err, &failed):
		first = failed.Hint()
	case errors.As(e.Err, &pending) && pending.TimedOut():
		first = pending.MoreTime()
		if e.Readiness && pending.Expired == "" {
			first = "--readiness-timeout, up to --timeout, gives it more time"
		}
	case e.Undone == "":
		return "interrupted: " + strings.Replace(status, "the current state", "how far the operation got", 1)
	}
	if first != "" && status != "" {
		first += "; "
	}
	return first + status
}

// nextHint suggests how to go on.
func (e *WaitError) nextHint() string {
	switch {
	case e.Undone == UndoneAll:
		return ""
	case e.Operation == "uninstall":
		return fmt.Sprintf("helm uninstall %s goes on with what is left", e.Release)
	case e.Operation == "install":
		return fmt.Sprintf("helm upgrade --install %[1]s tries again; helm uninstall %[1]s removes what is left", e.Release)
	case e.Deployed > 0:
		return fmt.Sprintf("the next helm upgrade goes on from here; helm rollback %s %d goes back", e.Release, e.Deployed)
	}
	return ""
}

// setUndone notes in the *WaitError in the tree of err, if there is one, what was undone.
func setUndone(err error, u Undone) {
	if waited, ok := errors.AsType[*WaitError](err); ok {
		waited.Undone = u
	}
}

// isWaitFailure reports whether err is the error of a wait.
func isWaitFailure(err error) bool {
	var failure waitFailure
	return errors.As(err, &failure)
}

// summaryOf returns err in one line for a record: the short one that an error in its tree has,
// or its message with the lines joined.
func summaryOf(err error) string {
	var short interface {
		error
		Summary() string
	}
	if errors.As(err, &short) {
		return short.Summary()
	}
	return oneLine(err.Error())
}

// oneLine joins the lines of text, of which the first may introduce the others.
func oneLine(text string) string {
	first, rest, more := strings.Cut(text, "\n")
	if !more {
		return text
	}
	lines := strings.Split(rest, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	separator := "; "
	if strings.HasSuffix(first, ":") {
		separator = " "
	}
	return first + separator + strings.Join(lines, "; ")
}
