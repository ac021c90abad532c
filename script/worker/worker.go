// SPDX-License-Identifier: Apache-2.0

// Package worker lets a program run the scripts of charts in a process of its own: the
// program is started once more, and that process takes over before main does anything.
//
//	func main() {
//		worker.Main() // returns, unless this process is to run scripts
//		...
//		config.Scripts = func() action.ScriptRunner {
//			return &script.Host{Start: worker.Start, Approve: script.Policy{}.Approve}
//		}
//	}
//
// What the process can reach is the matter of package sandbox, what scripts can do of
// package engine. The command helm runs its scripts in the same way.
package worker

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/moonhelm/moonhelm/script/engine"
	"github.com/moonhelm/moonhelm/script/sandbox"
	"github.com/moonhelm/moonhelm/script/wire"
)

// called reports whether this program can be its own worker.
var called atomic.Bool

// Main runs scripts and ends the process where [Start] has started it, and returns
// without effect in any other process. Call it first thing in main, and in TestMain of
// tests that run scripts. The earlier it is called, the sooner scripts run: an init
// function of a package that imports little else precedes the start-up of the rest.
func Main() {
	called.Store(true)
	if len(os.Args) > 0 && os.Args[0] == sandbox.ChildName {
		os.Exit(sandbox.Enter(serve))
	}
}

// Start starts this program again to run scripts; it is a script.Starter. A program that
// has not called [Main] would do its own work a second time, and gets an error instead.
func Start(ctx context.Context, limits wire.Limits) (wire.Process, error) {
	if !called.Load() {
		return nil, errors.New("start the process for scripts: the program has to call worker.Main first thing in main")
	}
	p, err := sandbox.Start(ctx, "", limits)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// serve runs the engine behind the walls that its first message asks for.
func serve(r io.Reader, w io.Writer, confine func(grants []string, l wire.Limits) error) error {
	return engine.Serve(context.Background(), r, w, engine.Options{
		Confine: func(first wire.Message) error { return confine(engine.Needs(first)) },
		Exit:    os.Exit,
	})
}
