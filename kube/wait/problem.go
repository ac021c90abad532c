// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/truncate"
)

// A Problem is an object that is not what a wait was for, and why, as far as that is known.
type Problem struct {
	Kind, Name string
	// Namespace is "" for a cluster-scoped kind.
	Namespace string
	// Missing is the state that is waited for: "1 of 3 pods ready".
	Missing string
	// Cause is what keeps the object from it, or "" if that is not known: "container main of
	// pod web-0 crashed (exit code 1)".
	Cause string
	// SameAs is the object, as Kind/name, of an earlier problem with the same cause, or "".
	SameAs string
	// Details are lines about the cause: events, the end of a log.
	Details []string
	// Over is the object's own timeout if that was over, else the zero value.
	Over Limit

	// elsewhere is set if the object is not in the namespace of the wait.
	elsewhere bool
}

// object returns the name of the object, with its namespace if that is another one than the
// wait's.
func (p *Problem) object() string {
	if p.elsewhere && p.Namespace != "" {
		return fmt.Sprintf("%s/%s in namespace %s", p.Kind, p.Name, p.Namespace)
	}
	return p.Kind + "/" + p.Name
}

// line returns the object, the missing state and the cause.
func (p *Problem) line() string {
	line := p.object()
	for _, part := range []string{p.over(), p.Missing, p.cause()} {
		if part != "" {
			line += ": " + part
		}
	}
	return line
}

// over says that the object's own time is over, if it is.
func (p *Problem) over() string {
	if p.Over.Origin == "" {
		return ""
	}
	return fmt.Sprintf("not ready within %s, as %s says", elapsed(p.Over.Timeout), p.Over.Origin)
}

func (p *Problem) cause() string {
	if p.SameAs != "" {
		return "for the same reason as " + p.SameAs
	}
	return p.Cause
}

// A PendingError is returned if a wait ends before all objects are ready or deleted.
type PendingError struct {
	// Problems are the objects that are not ready, or still exist. Those whose cause is known
	// come first, each followed by those with the same cause and those that depend on it.
	Problems []Problem
	// Total is the number of all objects of the wait; 0 means that these are all.
	Total int
	// Deletion is set if the wait was for deletions.
	Deletion bool
	// After is the time from the begin of the wait to its end.
	After time.Duration
	// Expired is the object whose own timeout, Limit, has ended the wait, or "".
	Expired string
	Limit   Limit
	Err     error // the cause of the end: context.DeadlineExceeded, ...
}

// Error returns a sentence, and, if that has no room for them, a line for each object.
func (e *PendingError) Error() string {
	if len(e.Problems) == 1 && e.total() == 1 {
		p := &e.Problems[0]
		return e.ended() + ": " + p.line() + indentedLines(p.Details)
	}
	return e.ended() + ": " + e.count() + indentedLines(e.Lines())
}

func (e *PendingError) Unwrap() error { return e.Err }

// TimedOut reports whether the wait has ended because its time was over.
func (e *PendingError) TimedOut() bool { return errors.Is(e.Err, context.DeadlineExceeded) }

// Outcome says how the wait has ended: "timed out after 12s: 7 of 11 objects are not ready".
func (e *PendingError) Outcome() string { return e.End() + ": " + e.count() }

// End is [PendingError.Outcome] without the objects: "timed out after 12s".
func (e *PendingError) End() string {
	if e.TimedOut() {
		return "timed out after " + elapsed(e.After)
	}
	return fmt.Sprintf("was stopped after %s (%s)", elapsed(e.After), e.Err)
}

// Lines returns a line for each object, with the lines about its cause, indented, below it. It
// ends with the names of those that are too many.
func (e *PendingError) Lines() []string {
	var out []string
	for i := range e.Problems {
		p := &e.Problems[i]
		if i == maxLines {
			return append(out, fmt.Sprintf("and %d more: %s", len(e.Problems)-i, names(e.Problems[i:])))
		}
		out = append(out, p.line())
		for _, d := range p.Details {
			out = append(out, "  "+d)
		}
	}
	return out
}

// Summary returns the error in one short line, for the description of a record.
func (e *PendingError) Summary() string {
	ended := strings.Replace(e.ended(), " ("+context.DeadlineExceeded.Error()+")", "", 1)
	return ended + ": " + e.count() + e.named()
}

// Hint returns advice for the user of the command line if the wait timed out, else "".
func (e *PendingError) Hint() string {
	if more := e.MoreTime(); more != "" {
		return more + "; helm status shows the current state"
	}
	return ""
}

// MoreTime says what gives the wait more time if it timed out, else "".
func (e *PendingError) MoreTime() string {
	switch {
	case !e.TimedOut():
		return ""
	case e.Expired != "":
		more := elapsed(2 * e.Limit.Timeout)
		return fmt.Sprintf("--timeout %s=%s gives it more time than %s", e.Expired, more, e.Limit.Origin)
	}
	return "--timeout gives it more time"
}

// maxLines is the number of objects that have a line of their own, maxNames that of objects that
// are named together.
const (
	maxLines = 25
	maxNames = 3
)

// ended returns the begin of the error's sentence: the messages of Helm 3 and Helm 4.
func (e *PendingError) ended() string {
	switch {
	case e.TimedOut() && e.After > 0:
		return fmt.Sprintf("timed out waiting for the condition (context deadline exceeded) after %s", elapsed(e.After))
	case e.TimedOut():
		return "timed out waiting for the condition (context deadline exceeded)"
	case e.After > 0:
		return fmt.Sprintf("%s after %s of waiting", e.Err, elapsed(e.After))
	}
	return fmt.Sprintf("%s while waiting", e.Err)
}

func (e *PendingError) total() int { return max(e.Total, len(e.Problems)) }

// count returns how many objects are missing: "7 of 11 objects are not ready".
func (e *PendingError) count() string {
	state := "not ready"
	if e.Deletion {
		state = "not deleted yet"
	}
	switch n, all := len(e.Problems), e.total(); {
	case n == 1 && all == 1:
		return e.Problems[0].object() + " is " + state
	case n == 1:
		return fmt.Sprintf("1 of %d objects is %s", all, state)
	default:
		return fmt.Sprintf("%d of %d objects are %s", n, all, state)
	}
}

// named returns the names that count has not.
func (e *PendingError) named() string {
	if e.total() == 1 {
		if why := e.Problems[0].Cause; why != "" {
			return ": " + truncate.Line(why, maxSummary, "…")
		}
		return ""
	}
	return ": " + names(e.Problems)
}

// maxSummary limits the reason in a summary.
const maxSummary = 200

// names returns the names of the first problems, and the number of the others.
func names(problems []Problem) string {
	var out []string
	for i := range problems[:min(len(problems), maxNames)] {
		out = append(out, problems[i].object())
	}
	text := strings.Join(out, ", ")
	if rest := len(problems) - maxNames; rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// A FailedError is returned for an object that has failed and will not become ready.
type FailedError struct {
	Object string
	// Reason is the reason in the object's status or pods.
	Reason string
	// Details are lines that explain the failure: events, the end of a log.
	Details []string
	// Others are the other objects that are not ready, in the order of a [PendingError].
	Others []Problem
	// Grace is how long the problem lasted before the wait gave up, by [Grace.Start] or
	// [Grace.Crash], and Rule the rule: "a container that cannot start". Both are zero if the
	// failure is final in itself.
	Grace time.Duration
	Rule  string
	// After is the time from the begin of the wait to its end.
	After time.Duration
}

func (e *FailedError) Error() string { return e.sentence() + indentedLines(e.Lines()) }

func (e *FailedError) sentence() string { return fmt.Sprintf("%s failed: %s", e.Object, e.Reason) }

// Outcome says how the wait has ended: "gave up after 21s: Deployment/web in namespace shop
// failed: ...".
func (e *FailedError) Outcome() string {
	return fmt.Sprintf("gave up after %s: %s", elapsed(e.After), e.sentence())
}

// Lines returns the lines about the failure, those for other objects, and the rule by which the
// wait gave up.
func (e *FailedError) Lines() []string {
	out := append(slices.Clone(e.Details), e.otherLines()...)
	if e.Grace > 0 {
		out = append(out, fmt.Sprintf("gave up because %s is given %s to recover", e.Rule, elapsed(e.Grace)))
	}
	return out
}

// otherLines returns a line for each of the other objects that have a cause, and one for the rest.
func (e *FailedError) otherLines() []string {
	var out []string
	var rest []Problem
	for _, p := range e.Others {
		if p.cause() == "" || len(out) == maxLines {
			rest = append(rest, p)
			continue
		}
		out = append(out, "also failing: "+p.object()+": "+p.cause())
	}
	if len(rest) > 0 {
		out = append(out, "not ready either: "+names(rest))
	}
	return out
}

// Summary returns the error in one short line, for the description of a record.
func (e *FailedError) Summary() string {
	return fmt.Sprintf("%s failed: %s", e.Object, truncate.Line(e.Reason, maxSummary, "…"))
}

// Hint returns advice for the user of the command line if the wait gave up by a rule, else "".
func (e *FailedError) Hint() string {
	if e.Grace <= 0 {
		return ""
	}
	return "--give-up-after=2m gives it more time to recover, and --give-up-after=never all of --timeout"
}

// indentedLines returns lines that follow a sentence, or "".
func indentedLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "\n  " + strings.Join(lines, "\n  ")
}

// elapsed rounds a time to seconds, and a short one down to tenths.
func elapsed(d time.Duration) string {
	if d < time.Second {
		return d.Truncate(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
