// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"io"
)

// Call is the purpose of a run.
type Call int

// The calls. They determine the arguments and the use of the streams.
const (
	// Command runs the plugin's command with the user's arguments and streams.
	Command Call = iota
	// Get downloads from a URL. The arguments are the paths of the client certificate, its
	// key and the certificate authorities (each may be ""), and the URL. The content is
	// written to Out.
	Get
	// Render post-processes objects, from In to Out. The arguments are the user's.
	Render
	// Words completes the arguments. The completions of the last one are written to Out.
	Words
)

// Invocation describes a run of a plugin.
type Invocation struct {
	Plugin *Plugin
	Call   Call
	Args   []string
	// Env is the whole environment, NAME=value. Of duplicates, the last one is used.
	Env []string
	// In, Out and Err are the standard streams. If nil, they are empty or discarded.
	In       io.Reader
	Out, Err io.Writer
	// Debug requests detailed error messages.
	Debug bool
}

// Runtime runs plugins. Run returns when the plugin has exited, and ends the plugin when ctx is
// done. A plugin that exits with a non-zero code is an [*ExitError]; it has already printed its
// error message.
type Runtime interface {
	Run(ctx context.Context, inv Invocation) error
}

// An ExitError is returned if a plugin exits with a non-zero code.
type ExitError struct {
	Plugin string
	Code   int
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("plugin %q exited with error (code %d)", e.Plugin, e.Code)
}
