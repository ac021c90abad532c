// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/ui"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/registry"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// explain returns the message for an error of a command, and hints if there are any. On a terminal
// its lines are wrapped, and without UTF-8 the mark of a tab in an excerpt is ASCII.
func explain(err error, f *cmdutil.Factory) string {
	said := message(err, f.Style(f.Err))
	text := ui.Screen(f.Streams, f.Err, redactPasswords(said))
	if f.Settings.Debug {
		text += redactPasswords(f.Style(f.Err).Dim(chain(err, said)))
	}
	return text
}

func message(err error, st term.Style) string {
	if errors.Is(err, context.Canceled) && untouched(err) { // nothing to clean up
		text := strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
		return fmt.Sprintf("%s %s\n", st.Red("Error:"), indented(text))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", st.Red("Error:"), indented(err.Error()))
	for _, h := range hints(err) {
		fmt.Fprintf(&b, "%s %s\n", st.Cyan("hint:"), indented(h))
	}
	return b.String()
}

// indented returns text for a terminal in which every line but the first begins with a blank. So
// text from charts and scripts cannot imitate helm's own lines, such as "Error:", "hint:" or
// "Allow?".
func indented(text string) string {
	lines := strings.Split(term.Safe(text), "\n")
	for i, line := range lines {
		if i > 0 && strings.TrimSpace(line) != "" && line[0] != ' ' && line[0] != '\t' {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// hints returns the hints of err, or those for an API status or an interrupt.
func hints(err error) []string {
	if found := hint.Of(err); found != nil {
		return found
	}
	if text := kube.APIHint(err); text != "" {
		return []string{text}
	}
	if errors.Is(err, context.Canceled) {
		return []string{"interrupted: helm status shows how far the operation got"}
	}
	return nil
}

// changesReleases reports whether cmd writes to the cluster, so that an interrupt may leave
// something to clean up.
func changesReleases(cmd *cobra.Command) bool {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	switch path {
	case "install", "upgrade", "rollback", "uninstall", "test":
		return true
	}
	return false
}

// An interruptedError is returned if a command was interrupted and there is nothing to clean up.
type interruptedError struct {
	Err   error
	Cause error // cause of the context's end, nil if unknown
}

func (e *interruptedError) Error() string {
	text := e.Err.Error()
	if e.Cause != nil { // "interrupt signal received"
		text = strings.ReplaceAll(text, e.Cause.Error(), "interrupted")
	}
	return text
}

func (e *interruptedError) Unwrap() error { return e.Err }

// untouched reports whether the interrupt came before anything was written to the cluster.
func untouched(err error) bool {
	var (
		handler  *event.HandlerError
		harmless *interruptedError
		locked   *lock.LockedError
	)
	if errors.As(err, &harmless) || errors.As(err, &locked) {
		return true
	}
	if failed, ok := errors.AsType[*cmdutil.FailedError](err); ok {
		err = failed.Err
	}
	if !errors.As(err, &handler) {
		return err == context.Canceled || stillFetching(err) //nolint:errorlint // a wrapped one says what was interrupted
	}
	switch handler.Event {
	case "post-install", "post-upgrade", "post-rollback", "post-delete", "pre-test", "post-test", "failed-test":
		return false
	}
	early := handler.Owner == string(event.ObjectValidation) || handler.Owner == string(event.Permissions)
	return !handler.Core || early || handler.Event == "chart-resolved" || handler.Event == "post-render"
}

// chain lists the types of the errors in err's tree, for bug reports, with the texts that the
// message does not have.
func chain(err error, message string) string {
	said := func(text string) bool { return strings.Contains(message, text) }
	var b strings.Builder
	var add func(err error, depth int)
	add = func(err error, depth int) {
		if err == nil {
			return
		}
		fmt.Fprintf(&b, "%s%T", strings.Repeat("  ", depth), err)
		if text := err.Error(); !said(text) && !said(term.SafeLine(text)) && !said(indented(text)) {
			b.WriteString(": " + term.SafeLine(text))
		}
		b.WriteByte('\n')
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				add(e, depth+1)
			}
			return
		}
		add(errors.Unwrap(err), depth+1)
	}
	add(err, 0)
	return b.String()
}

// stillFetching reports whether the interrupt ended a transfer, before anything was written.
func stillFetching(err error) bool {
	var (
		fetching *fetch.InterruptedError
		pushing  *registry.InterruptedError
	)
	return errors.As(err, &fetching) || errors.As(err, &pushing)
}
