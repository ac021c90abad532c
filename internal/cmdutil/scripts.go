// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/ui"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/sandbox"
	"github.com/moonhelm/moonhelm/script/wire"
)

// ScriptFlags say what charts' scripts may do, and whether to tell what they did.
type ScriptFlags struct {
	// Off runs no scripts. What is wrong with the other flags and the environment is no
	// reason then for an operation not to run.
	Off bool
	// Yes accepts every permission that a chart asks for.
	Yes bool
	// Accept are the permissions to accept, nil where none were named.
	Accept []string
	// CPU is how much computing time the scripts of an operation have.
	CPU time.Duration
	// Trace is "", "text" or "json".
	Trace string
}

// Bind registers the flags.
func (f *ScriptFlags) Bind(fs *pflag.FlagSet) {
	fs.BoolVarP(&f.Yes, "yes", "y", false, "accept all permissions that the chart's scripts ask for, and hooks of a "+
		"record that create objects outside the release's namespace")
	StringSliceVarP(fs, &f.Accept, "accept-perms", "",
		"permissions to accept, asking nothing: network, io, os; the chart fails if it wants others")
	fs.DurationVar(&f.CPU, "script-timeout", wire.DefaultLimits().CPU,
		"computing time that the chart's scripts have in all")
	fs.StringVar(&f.Trace, "trace-events", "",
		"tell on standard error what each event's handlers changed: text, or json for one object per line")
	fs.Lookup("trace-events").NoOptDefVal = "text"
}

// BindOff registers the flag that runs no scripts.
func (f *ScriptFlags) BindOff(fs *pflag.FlagSet) {
	fs.BoolVar(&f.Off, "no-scripts", false, "do not run the scripts of the release's chart")
}

// check tells what is wrong with the flags.
func (f *ScriptFlags) check() error {
	switch f.Trace {
	case "", "text", "json":
	default:
		return fmt.Errorf("--trace-events is %q, must be text or json", f.Trace)
	}
	if f.CPU <= 0 && !f.Off {
		return fmt.Errorf("--script-timeout is %s, must be more than nothing", f.CPU)
	}
	return nil
}

// Events is the event bus of one operation that needs no cluster, on which the
// chart's scripts answer.
func (f *Factory) Events(flags ScriptFlags) (*event.Bus, error) {
	bus, err := f.traced(flags)
	if err != nil {
		return nil, err
	}
	hosts, err := f.hosts(flags)
	if err != nil {
		return nil, err
	}
	if hosts != nil {
		bus.Use(hosts())
	}
	return bus, nil
}

// traced is a bus without handlers that is traced as flags says.
func (f *Factory) traced(flags ScriptFlags) (*event.Bus, error) {
	if err := flags.check(); err != nil {
		return nil, err
	}
	bus := &event.Bus{}
	switch flags.Trace {
	case "text":
		bus.Trace(ui.TraceText(f.board().Above(f.Err), f.Style(f.Err)))
	case "json":
		bus.Trace(ui.TraceJSON(f.board().Above(f.Err)))
	}
	return bus, nil
}

// hosts returns what makes the hosts of scripts, which end with the command; nil where
// scripts are off. What one of them was allowed, the others need not ask for.
func (f *Factory) hosts(flags ScriptFlags) (func() action.ScriptRunner, error) {
	if flags.Off {
		return nil, nil
	}
	limits, err := f.limits(flags)
	if err != nil {
		return nil, err
	}
	policy := script.Policy{Yes: flags.Yes, Accept: flags.Accept, Interactive: f.Interactive(), Ask: f.Ask}
	approvals := &script.Approvals{Ask: approve(policy)}
	return func() action.ScriptRunner {
		host := &script.Host{
			Start:   f.startScripts,
			Approve: approvals.Approve,
			Limits:  limits,
			Print:   script.Printer(f.board().Above(f.Err)),
			Debug:   f.Settings.Debug,
		}
		f.closers = append(f.closers, host.Close)
		return host
	}, nil
}

// approve answers charts by policy, with the words of the flags where it refuses.
func approve(policy script.Policy) func(context.Context, []script.Ask) error {
	return func(ctx context.Context, asks []script.Ask) error {
		err := policy.Approve(ctx, asks)
		var refused *script.PermissionError
		switch known := errors.As(err, &refused); {
		case err == nil:
			return nil
		case policy.Accept != nil && !known:
			return fmt.Errorf("--accept-perms: %w", err)
		case policy.Accept != nil:
			refused.Problem = "--accept-perms does not grant them"
		case known && !policy.Interactive:
			refused.Problem += "; --yes grants all of them, --accept-perms " + strings.Join(permissionsOf(asks), ",") +
				" exactly these"
		}
		return err
	}
}

// permissionsOf are the permissions that are asked for, each once.
func permissionsOf(asks []script.Ask) []string {
	return slices.DeleteFunc(script.PermissionNames(), func(name string) bool {
		return !slices.ContainsFunc(asks, func(a script.Ask) bool { return slices.Contains(a.Permissions, name) })
	})
}

// limits are the defaults with what flags and environment say.
func (f *Factory) limits(flags ScriptFlags) (wire.Limits, error) {
	l := wire.DefaultLimits()
	l.CPU = flags.CPU
	memory, err := f.ScriptMemory()
	if memory > 0 {
		l.Memory = memory
	}
	return l, err
}

// ScriptMemory is what the environment says that scripts may use, in bytes; 0
// where it says nothing.
func (f *Factory) ScriptMemory() (int64, error) {
	text := strings.TrimSpace(f.Getenv("HELM_SCRIPT_MEMORY"))
	if text == "" {
		return 0, nil
	}
	q, err := resource.ParseQuantity(text)
	const least, most = 16 << 20, 64 << 30
	if err != nil || q.Value() < least || q.Value() > most {
		return 0, fmt.Errorf("HELM_SCRIPT_MEMORY is %q, must be a size from 16Mi to 64Gi, such as 512Mi", term.SafeLine(text))
	}
	return q.Value(), nil
}

// ScriptChecker reads charts' scripts without running them.
func (f *Factory) ScriptChecker(flags ScriptFlags) (script.Checker, error) {
	limits, err := f.limits(flags)
	return script.Checker{Start: f.startScripts, Limits: limits}, err
}

// startScripts starts the process that runs a chart's scripts: this program
// once more. Close waits for its death, after the output, so that no zombie is left
// to a parent that does not reap.
func (f *Factory) startScripts(ctx context.Context, l wire.Limits) (script.Process, error) {
	p, err := sandbox.Start(ctx, f.Settings.Binary, l)
	if err != nil {
		return nil, err
	}
	f.closers = append(f.closers, func() error { return errors.Join(p.Kill(), p.Wait()) })
	return p, nil
}

// Close ends what the command has started. It may be called again.
func (f *Factory) Close() {
	for _, fn := range f.closers {
		_ = fn() // what went wrong has been told where it happened
	}
	f.closers = nil
}
