// SPDX-License-Identifier: Apache-2.0

// Package worker runs the scripts of charts in a process of their own: the running program
// starts itself again, and in that process [Main] takes over.
//
//	func main() {
//		worker.Main() // returns, unless this process is to run scripts
//		...
//		config.Scripts = func() action.ScriptRunner {
//			return &script.Host{Start: worker.Start, Approve: script.Policy{}.Approve}
//		}
//	}
//
// Package sandbox confines the process, package engine interprets the scripts. The command
// helm runs scripts in the same way.
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

// called is set by [Main].
var called atomic.Bool

// Main runs scripts and exits if [Start] has started this process; otherwise it returns at
// once. Call it first in main, and in the TestMain of tests that run scripts. Calling it
// from an init function of a package that imports little starts scripts sooner, since the
// other packages' initialisation is skipped.
func Main() {
	called.Store(true)
	if len(os.Args) > 0 && os.Args[0] == sandbox.ChildName {
		os.Exit(sandbox.Enter(serve))
	}
}

// Start starts this program again to run scripts; it is a script.Starter. It returns an error
// if the program has not called [Main]: the process would repeat the program's own work.
func Start(ctx context.Context, limits wire.Limits) (wire.Process, error) {
	if !called.Load() {
		return nil, errors.New("start the script process: the program has to call worker.Main first thing in main")
	}
	p, err := sandbox.Start(ctx, "", limits)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// serve runs the engine, confined as its first message demands.
func serve(r io.Reader, w io.Writer, confine func(grants []string, l wire.Limits) error) error {
	return engine.Serve(context.Background(), r, w, engine.Options{
		Confine: func(first wire.Message) error { return confine(engine.Needs(first)) },
		Exit:    os.Exit,
	})
}
