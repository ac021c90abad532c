// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
)

// Interpreter is the runtime of plugins in [Lua]: a program that gets the file to
// begin with, in the plugin's folder, and then the plugin's arguments. It is
// otherwise run like the program of a [Subprocess] plugin.
type Interpreter struct {
	// Path is the program, an absolute path.
	Path string
	// Args stand before the file.
	Args []string
}

// Run implements [Runtime].
func (i Interpreter) Run(ctx context.Context, inv Invocation) error {
	if i.Path == "" {
		return errors.New("the program that runs plugins in " + inv.Plugin.Runtime + " cannot be found")
	}
	file := LuaFile
	if inv.Call == Words {
		file = LuaCompleteFile
	}
	return run(ctx, inv, i.Path, slices.Concat(i.Args, []string{filepath.Join(inv.Plugin.Dir, file)}, inv.Args))
}
