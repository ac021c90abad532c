// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/process"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plugin"
	"github.com/moonhelm/moonhelm/script/engine"
	"github.com/moonhelm/moonhelm/script/wire"
)

// luaPlugin runs a plugin written in Lua; args are its main file and its arguments. It handles no
// signals, so an interrupt ends the plugin like any program.
func luaPlugin(args []string, streams term.Streams) int {
	f := cmdutil.New(withCrashOutput(streams))
	defer f.Close()
	f.Settings.Binary, _ = os.Executable() // "" if the system does not support it
	if len(args) == 0 {
		fmt.Fprintf(f.Err, "Error: helm %s runs a plugin, and needs its file\n", cmdutil.LuaCommand)
		return 1
	}
	memory, err := f.ScriptMemory()
	if err != nil {
		fmt.Fprintf(f.Err, "Error: %v\n", err)
		return 1
	}
	if memory == 0 {
		memory = engine.DefaultMemory
	}
	limit, err := process.LimitMemory(memory + overhead)
	if err != nil {
		fmt.Fprintf(f.Err, "Error: %v\n", err)
		return 1
	}
	root, err := os.OpenRoot(filepath.Dir(args[0]))
	if err != nil {
		fmt.Fprintf(f.Err, "Error: %v\n", err)
		return 1
	}
	defer root.Close()
	name := f.Getenv("HELM_PLUGIN_NAME")
	if name == "" {
		name = filepath.Base(filepath.Dir(args[0]))
	}
	outside := f.Outside()
	code, err := engine.Program{
		Name: name, Files: root.FS(), Main: filepath.Base(args[0]), Args: args[1:], Environ: os.Environ(),
		In: f.In, Out: f.Out, Err: f.Err, Lines: term.IsTerminal(f.Out),
		Helm: f.Settings.Binary, Chart: chartFiles(f), Memory: memory, Start: limit.Start, End: os.Exit,
		Ask: func(kind wire.Kind, body map[string]any) (map[string]any, error) {
			return outside.Answer(context.Background(), kind, body)
		},
	}.Run()
	if err != nil {
		fmt.Fprint(f.Err, explainPlugin(err, name, f))
	}
	return code
}

// overhead is the memory of a Lua plugin's process beyond the plugin's limit, in bytes: garbage and
// helm itself.
const overhead = 256 << 20

// withCrashOutput passes crashes of Go's runtime to the helm that started this process, if it has
// asked for them: an allocation beyond the memory limit ends the process before it can report an
// error.
func withCrashOutput(streams term.Streams) term.Streams {
	descriptor := streams.Getenv(plugin.CrashVariable)
	if descriptor != plugin.CrashDescriptor || os.Unsetenv(plugin.CrashVariable) != nil {
		return streams
	}
	if stderr, err := process.CrashOutput(3); err == nil {
		streams.Err, os.Stderr = stderr, stderr
	}
	return streams
}

// chartFiles returns the function that loads charts for a plugin.
func chartFiles(factory *cmdutil.Factory) func(reference string, options map[string]any) (map[string]any, error) {
	return func(reference string, options map[string]any) (map[string]any, error) {
		var flags cmdutil.ChartFlags
		flags.Version, _ = options["version"].(string)
		flags.Repo, _ = options["repo"].(string)
		c, err := factory.Chart(context.Background(), reference, &flags)
		if err != nil {
			return nil, err
		}
		files, err := loader.Flatten(c)
		if err != nil {
			return nil, err
		}
		list := make([]any, len(files))
		for i, f := range files {
			list[i] = map[string]any{"name": f.Name, "data": string(f.Data)}
		}
		return map[string]any{"name": c.Name(), "version": c.Metadata.Version, "files": list}, nil
	}
}

// explainPlugin returns the message for an error of a plugin. It has a position in the plugin,
// unless it comes from helm.fail.
func explainPlugin(err error, name string, f *cmdutil.Factory) string {
	var b strings.Builder
	var failed *engine.ProgramError
	placed := errors.As(err, &failed) && failed.File != ""
	fmt.Fprintf(&b, "%s ", f.Style(f.Err).Red("Error:"))
	if placed {
		fmt.Fprintf(&b, "plugin %q: ", name)
	}
	b.WriteString(term.Safe(err.Error()))
	b.WriteByte('\n')
	if failed != nil && failed.Traceback != "" && f.Settings.Debug {
		b.WriteString(f.Style(f.Err).Dim(term.Safe(failed.Traceback)) + "\n")
	}
	return b.String()
}
