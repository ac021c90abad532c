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

// ScriptFlags are the flags for charts' scripts.
type ScriptFlags struct {
	// Off disables scripts. The other flags and the environment are not validated then.
	Off bool
	// Yes accepts every permission that a chart asks for.
	Yes bool
	// Accept lists the permissions to accept, nil if the flag is not given.
	Accept []string
	// CPU is the limit of CPU time for all scripts of an operation.
	CPU time.Duration
	// Trace is "", "text" or "json".
	Trace string
}

// Bind registers the flags.
func (f *ScriptFlags) Bind(fs *pflag.FlagSet) {
	fs.BoolVarP(&f.Yes, "yes", "y", false, "accept all permissions that the chart's scripts request, and hooks of a "+
		"record that create objects outside the release's namespace")
	StringSliceVarP(fs, &f.Accept, "accept-perms", "",
		"permissions to accept without asking: network, io, os; fail if the chart requests others")
	fs.DurationVar(&f.CPU, "script-timeout", wire.DefaultLimits().CPU,
		"limit of the CPU time of all the chart's scripts")
	fs.StringVar(&f.Trace, "trace-events", "",
		"print the changes of each event's handlers to standard error: as text, or as json with one object per line")
	fs.Lookup("trace-events").NoOptDefVal = "text"
}

// BindOff registers the flag that runs no scripts.
func (f *ScriptFlags) BindOff(fs *pflag.FlagSet) {
	fs.BoolVar(&f.Off, "no-scripts", false, "do not run the scripts of the release's chart")
}

// check returns an error if a flag is invalid.
func (f *ScriptFlags) check() error {
	switch f.Trace {
	case "", "text", "json":
	default:
		return fmt.Errorf("--trace-events is %q, must be text or json", f.Trace)
	}
	if f.CPU <= 0 && !f.Off {
		return fmt.Errorf("--script-timeout is %s, must be positive", f.CPU)
	}
	return nil
}

// Events returns the event bus of one operation without a cluster, with the chart's scripts as
// handlers.
func (f *Factory) Events(flags ScriptFlags) (*event.Bus, error) {
	bus, err := f.newBus(flags)
	if err != nil {
		return nil, err
	}
	runners, err := f.scriptRunners(flags)
	if err != nil {
		return nil, err
	}
	if runners != nil {
		bus.Use(runners())
	}
	return bus, nil
}

// newBus returns a bus without handlers, traced as the flags say.
func (f *Factory) newBus(flags ScriptFlags) (*event.Bus, error) {
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

// scriptRunners returns a function that creates hosts of scripts, or nil if scripts are disabled.
// The hosts share the permissions that the user has accepted, and end with the command.
func (f *Factory) scriptRunners(flags ScriptFlags) (func() action.ScriptRunner, error) {
	if flags.Off {
		return nil, nil
	}
	hosts, err := f.ScriptHosts(flags)
	if err != nil {
		return nil, err
	}
	return func() action.ScriptRunner { return hosts() }, nil
}

// ScriptHosts returns a function that creates hosts of scripts, which share the permissions that
// the user has accepted and end with the command.
func (f *Factory) ScriptHosts(flags ScriptFlags) (func() *script.Host, error) {
	limits, err := f.limits(flags)
	if err != nil {
		return nil, err
	}
	policy := script.Policy{Yes: flags.Yes, Accept: flags.Accept, Interactive: f.Interactive(), Ask: f.Ask}
	approvals := &script.Approvals{Ask: approver(policy)}
	return func() *script.Host {
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

// approver returns a function that approves permissions by policy. Its errors name the flags that
// grant them.
func approver(policy script.Policy) func(context.Context, []script.Ask) error {
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

// permissionsOf returns the permissions that asks contain, without duplicates.
func permissionsOf(asks []script.Ask) []string {
	return slices.DeleteFunc(script.PermissionNames(), func(name string) bool {
		return !slices.ContainsFunc(asks, func(a script.Ask) bool { return slices.Contains(a.Permissions, name) })
	})
}

// limits returns the default limits overridden by the flags and the environment.
func (f *Factory) limits(flags ScriptFlags) (wire.Limits, error) {
	l := wire.DefaultLimits()
	l.CPU = flags.CPU
	memory, err := f.ScriptMemory()
	if memory > 0 {
		l.Memory = memory
	}
	return l, err
}

// ScriptMemory returns the memory limit of scripts in HELM_SCRIPT_MEMORY, in bytes, or 0 if it is
// not set.
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

// ScriptChecker returns a checker that parses charts' scripts without running them.
func (f *Factory) ScriptChecker(flags ScriptFlags) (script.Checker, error) {
	limits, err := f.limits(flags)
	return script.Checker{Start: f.startScripts, Limits: limits}, err
}

// startScripts starts this program as the subprocess that runs a chart's scripts. Close waits until
// it has exited, so that no zombie is left to a parent that does not reap.
func (f *Factory) startScripts(ctx context.Context, l wire.Limits) (script.Process, error) {
	p, err := sandbox.Start(ctx, f.Settings.Binary, l)
	if err != nil {
		return nil, err
	}
	f.closers = append(f.closers, func() error { return errors.Join(p.Kill(), p.Wait()) })
	return p, nil
}

// Close releases the resources of the command. It may be called more than once.
func (f *Factory) Close() {
	for _, fn := range f.closers {
		_ = fn() // each closer has reported its own error
	}
	f.closers = nil
}
