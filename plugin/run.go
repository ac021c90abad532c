// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"io"
)

// Call is what a plugin is run for.
type Call int

// The calls. What a plugin gets as arguments, and reads and writes, depends on
// them.
const (
	// Command: what the user typed behind the plugin's name; the user's streams.
	Command Call = iota
	// Get: client certificate, its key, certificate authorities (paths, "" for
	// none) and the URL; the content goes to Out.
	Get
	// Render: the arguments that the user chose; objects come by In, and go to
	// Out.
	Render
	// Words: what is on the command line so far; what the last of it may become
	// goes to Out.
	Words
)

// Invocation is one run of a plugin, with everything that it sees.
type Invocation struct {
	Plugin *Plugin
	Call   Call
	Args   []string
	// Env is the whole environment, NAME=value; of two with one name the last
	// counts.
	Env []string
	// In, Out and Err are its streams; nil ones are empty, or discard.
	In       io.Reader
	Out, Err io.Writer
	// Debug asks for all that can be said about an error.
	Debug bool
}

// Runtime runs plugins. It returns when the plugin has ended, and ends the
// plugin when the context does. A plugin that ends with a code other than 0 is
// an [*ExitError]; it has said by itself what there is to say.
type Runtime interface {
	Run(ctx context.Context, inv Invocation) error
}

// An ExitError is returned when a plugin exits with a code other than 0.
type ExitError struct {
	Plugin string
	Code   int
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("plugin %q exited with error (code %d)", e.Plugin, e.Code)
}
