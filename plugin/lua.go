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

// Interpreter is the runtime [Lua]: it runs a program with the plugin's main file and the
// plugin's arguments, like the program of a [Subprocess] plugin.
type Interpreter struct {
	// Path is the absolute path of the program.
	Path string
	// Args precede the file.
	Args []string
}

// Run implements [Runtime]. The error is a [*MemoryError] if the interpreter's Go runtime
// crashes because it is out of memory.
func (i Interpreter) Run(ctx context.Context, inv Invocation) error {
	if i.Path == "" {
		return errors.New("the program that runs plugins in " + inv.Plugin.Runtime + " cannot be found")
	}
	file := LuaFile
	if inv.Call == Words {
		file = LuaCompleteFile
	}
	args := slices.Concat(i.Args, []string{filepath.Join(inv.Plugin.Dir, file)}, inv.Args)
	if runtime.GOOS != "linux" { // only on Linux the memory limit is the kernel's
		return run(ctx, inv, i.Path, args, nil)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	crash := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(read, maxCrash)) // a partial output is enough
		_, _ = io.Copy(io.Discard, read)                      // so that the crash does not block
		crash <- string(text)
	}()
	inv.Env = append(inv.Env, CrashVariable+"="+CrashDescriptor)
	err = run(ctx, inv, i.Path, args, []*os.File{write})
	// A process that the plugin has started may keep the other end open.
	err = errors.Join(err, write.Close(), read.SetReadDeadline(time.Now().Add(echo)))
	text := <-crash
	_ = read.Close()
	switch {
	case strings.Contains(text, "out of memory"), strings.Contains(text, "cannot allocate memory"):
		return &MemoryError{Plugin: inv.Plugin.Name}
	case text != "" && inv.Err != nil:
		_, _ = io.WriteString(inv.Err, text) // the error is returned anyway
	}
	return err
}

// The environment variable that makes an [Interpreter] write the output of a crash of its Go
// runtime to a file descriptor, and its value, the descriptor.
const (
	CrashVariable   = "MOONHELM_CRASH_OUTPUT"
	CrashDescriptor = "3"
)

// maxCrash is the largest output of a crash that is read, in bytes.
const maxCrash = 64 << 10

// A MemoryError is returned for a plugin that exceeded its memory limit.
type MemoryError struct{ Plugin string }

func (e *MemoryError) Error() string {
	return fmt.Sprintf("plugin %q exceeded its memory limit", e.Plugin)
}
