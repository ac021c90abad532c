// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Interpreter is the runtime of plugins in [Lua]: a program that gets the file to
// begin with, in the plugin's directory, and then the plugin's arguments. It is
// otherwise run like the program of a [Subprocess] plugin.
type Interpreter struct {
	// Path is the program, an absolute path.
	Path string
	// Args precede the file.
	Args []string
}

// Run implements [Runtime]. The error is a [*MemoryError] where the interpreter says so
// when Go's runtime crashes.
func (i Interpreter) Run(ctx context.Context, inv Invocation) error {
	if i.Path == "" {
		return errors.New("the program that runs plugins in " + inv.Plugin.Runtime + " cannot be found")
	}
	file := LuaFile
	if inv.Call == Words {
		file = LuaCompleteFile
	}
	args := slices.Concat(i.Args, []string{filepath.Join(inv.Plugin.Dir, file)}, inv.Args)
	if runtime.GOOS != "linux" { // where the limit on memory is not one of the system
		return run(ctx, inv, i.Path, args, nil)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	crash := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(read, maxCrash)) // what came counts
		_, _ = io.Copy(io.Discard, read)                      // a crash waits until all of it is read
		crash <- string(text)
	}()
	inv.Env = append(inv.Env, CrashVariable+"="+CrashDescriptor)
	err = run(ctx, inv, i.Path, args, []*os.File{write})
	// Something that the plugin has started may hold the other end: it is not waited for.
	err = errors.Join(err, write.Close(), read.SetReadDeadline(time.Now().Add(echo)))
	text := <-crash
	_ = read.Close() // it was only read
	switch {
	case strings.Contains(text, "out of memory"), strings.Contains(text, "cannot allocate memory"):
		return &MemoryError{Plugin: inv.Plugin.Name}
	case text != "" && inv.Err != nil:
		_, _ = io.WriteString(inv.Err, text) // the error says the rest
	}
	return err
}

// The environment variable that has an [Interpreter] write to a descriptor why Go's
// runtime crashed, and its value, that descriptor.
const (
	CrashVariable   = "MOONHELM_CRASH_OUTPUT"
	CrashDescriptor = "3"
)

// maxCrash is how much of a crash's output is read.
const maxCrash = 64 << 10

// A MemoryError is returned for a plugin that used more memory than it may.
type MemoryError struct{ Plugin string }

func (e *MemoryError) Error() string {
	return fmt.Sprintf("plugin %q used more memory than it may", e.Plugin)
}
