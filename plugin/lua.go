// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"slices"
)

// Interpreter is the runtime of plugins in a language of their own, such as
// [Lua]: a program that gets the plugin's folder and then its arguments, and is
// otherwise run like the program of a [Subprocess] plugin.
type Interpreter struct {
	// Path is the program, an absolute path.
	Path string
	// Args stand before the plugin's folder.
	Args []string
}

// Run implements [Runtime].
func (i Interpreter) Run(ctx context.Context, inv Invocation) error {
	if i.Path == "" {
		return errors.New("the program that runs plugins in " + inv.Plugin.Runtime + " cannot be found")
	}
	return run(ctx, inv, i.Path, slices.Concat(i.Args, []string{inv.Plugin.Dir}, inv.Args))
}
