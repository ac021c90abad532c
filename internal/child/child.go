// SPDX-License-Identifier: Apache-2.0

// Package child makes the program that imports it the process for charts'
// scripts when it is started under the name [sandbox.ChildName]: the engine
// runs on standard input and output, and the program's own main never does.
// Started under any other name, it does nothing.
//
// It is imported for its effect, by the command and by tests that need such a
// process of their own binary.
package child

import (
	"context"
	"io"
	"os"

	"github.com/moonhelm/moonhelm/script/engine"
	"github.com/moonhelm/moonhelm/script/sandbox"
	"github.com/moonhelm/moonhelm/script/wire"
)

// The one init in the house that has an effect. Go initialises a package as
// soon as all that it imports is, so this runs before the greater part of helm
// (client-go, the schema compiler, cobra) has been set up, which the scripts'
// process has no use for: it is up in less than half the time. Hence also
// the rule for what this package imports: as little as the engine needs.
func init() {
	if len(os.Args) > 0 && os.Args[0] == sandbox.ChildName {
		os.Exit(sandbox.Enter(serve))
	}
}

// serve runs the engine behind the walls that its first message asks for.
func serve(r io.Reader, w io.Writer, confine func(grants []string, l wire.Limits) error) error {
	return engine.Serve(context.Background(), r, w, engine.Options{
		Confine: func(first wire.Message) error { return confine(engine.Needs(first)) },
		Exit:    os.Exit,
	})
}
