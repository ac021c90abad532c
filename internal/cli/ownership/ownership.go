// SPDX-License-Identifier: Apache-2.0

// Package ownership provides the commands that change which release objects belong to: adopt, disown,
// mv and rename. They differ in their arguments.
package ownership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/internal/term"
)

// Options are the flags that the commands share.
type Options struct {
	Yes        bool
	DryRun     bool
	Output     output.Format
	Timeout    time.Duration
	MaxHistory int
}

// lockTimeout is how long the commands wait for the locks of the releases.
const lockTimeout = 5 * time.Minute

// bind registers the flags.
func (o *Options) bind(cmd *cobra.Command, f *cmdutil.Factory) {
	fs := cmd.Flags()
	fs.BoolVarP(&o.Yes, "yes", "y", false, "make the change without asking; required without a terminal")
	fs.BoolVar(&o.DryRun, "dry-run", false, "show the change, and make none")
	fs.DurationVar(&o.Timeout, "timeout", lockTimeout, "time to wait for other operations on the releases")
	cmdutil.BindHistoryMax(fs, f, &o.MaxHistory)
	o.Output.Bind(fs)
	output.Complete(cmd)
	cmdutil.CompleteChoices(cmd)
}

// A NotConfirmedError is returned if the user has not confirmed a change. Nothing was changed.
type NotConfirmedError struct {
	Operation string
	// Asked is false if there is no terminal to ask at.
	Asked bool
}

func (e *NotConfirmedError) Error() string {
	if e.Asked {
		return e.Operation + ": nothing was changed: the change was not confirmed"
	}
	return e.Operation + ": nothing was changed: there is no terminal to ask at whether to make this change"
}

// Hint suggests a flag to the user.
func (e *NotConfirmedError) Hint() string {
	if e.Asked {
		return ""
	}
	return "--yes makes it without asking; --dry-run only shows it"
}

// confirm returns the function that shows a change and asks whether to make it.
func (o *Options) confirm(f *cmdutil.Factory) func(context.Context, *action.Transfer) error {
	return func(ctx context.Context, t *action.Transfer) error {
		shown := f.Streams
		if o.Output != output.Table {
			shown.Out = f.Err // the result is the only document on standard output
		}
		if err := report.TransferPlan(ctx, shown, t); err != nil || o.Yes {
			return err
		}
		if !f.Interactive() {
			return &NotConfirmedError{Operation: string(t.Verb)}
		}
		err := term.Confirm(ctx, f.Ask, "The objects stay as they are, except for these labels and annotations.\n")
		if _, declined := errors.AsType[*term.DeclinedError](err); declined {
			return &NotConfirmedError{Operation: string(t.Verb), Asked: true}
		}
		return err
	}
}

// verb has the functions of one of the operations.
type verb[R any] struct {
	plan, run func(context.Context, R) (*action.Transfer, error)
	// done returns the sentence about a change that was made.
	done func(*action.Transfer) string
}

// options returns the options of a request.
func (o *Options) options(f *cmdutil.Factory) action.TransferOptions {
	return action.TransferOptions{Confirm: o.confirm(f), MaxHistory: o.MaxHistory}
}

// run plans the change or makes it, and prints the result.
func run[R any](ctx context.Context, f *cmdutil.Factory, o *Options, req R, v verb[R]) error {
	if o.DryRun {
		t, err := v.plan(ctx, req)
		if err != nil {
			return err
		}
		return report.WriteTransfer(f.Streams, o.Output, t, func() error {
			if t.Unchanged() {
				return o.nothing(f)
			}
			return report.TransferPlan(ctx, f.Streams, t)
		})
	}
	t, err := v.run(ctx, req)
	if err != nil {
		return err
	}
	return report.WriteTransfer(f.Streams, o.Output, t, func() error {
		switch {
		case t.Finished:
			_, err := fmt.Fprintln(f.Out, "finished the interrupted change; there is nothing more to do")
			return err
		case t.Unchanged():
			return o.nothing(f)
		}
		_, err := fmt.Fprintln(f.Out, v.done(t))
		return err
	})
}

func (o *Options) nothing(f *cmdutil.Factory) error {
	_, err := fmt.Fprintln(f.Out, "nothing to do: the objects belong to the release")
	return err
}

// config returns the configuration of the operations.
func (o *Options) config(f *cmdutil.Factory) (*action.Config, error) {
	return f.Config(cmdutil.ScriptFlags{Off: true}, cmdutil.ApplyFlags{}, o.Timeout)
}

// count formats the number of objects.
func count(t *action.Transfer) string {
	if len(t.Objects) == 1 {
		return t.Objects[0].String()
	}
	return fmt.Sprintf("%d objects", len(t.Objects))
}

// names parses the names of objects.
func names(cmd *cobra.Command, args []string) ([]action.ObjectName, error) {
	out := make([]action.ObjectName, len(args))
	for i, arg := range args {
		var ok bool
		if out[i], ok = action.ParseObjectName(arg); !ok {
			return nil, &cmdutil.UsageError{Command: cmd.CommandPath(), Usage: cmd.UseLine(),
				Problem: fmt.Sprintf("got %q, want an object as KIND/NAME or NAMESPACE/KIND/NAME", arg)}
		}
	}
	return out, nil
}
