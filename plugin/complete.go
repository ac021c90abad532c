// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/internal/file"
)

// The files of a plugin for shell completion: static completions, and a program for
// dynamic ones.
const (
	completionFile    = "completion.yaml"
	completionProgram = "plugin.complete"
)

// Completion is the completion of a plugin's command or of a subcommand, from
// completion.yaml.
type Completion struct {
	Name string
	// Flags are names without dashes; one letter is a shorthand.
	Flags     []string
	ValidArgs []string
	Commands  []Completion
}

// maxCompletion is the maximum depth of subcommands.
const maxCompletion = 32

type completion struct {
	Name      string       `yaml:"name"`
	Flags     []string     `yaml:"flags"`
	ValidArgs []string     `yaml:"validArgs"`
	Commands  []completion `yaml:"commands"`
}

// Completion reads completion.yaml. A plugin without one has a zero Completion.
func (p *Plugin) Completion() (Completion, error) {
	path := filepath.Join(p.Dir, completionFile)
	data, err := readOwn(p.Dir, completionFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Completion{}, nil
	}
	var c completion
	if err == nil {
		err = decode(data, false, &c)
	}
	if err != nil {
		return Completion{}, &LoadError{Path: path, Err: err}
	}
	return c.clean(maxCompletion), nil
}

// clean removes entries that are not words.
func (c completion) clean(depth int) Completion {
	out := Completion{Name: word(c.Name)}
	for _, f := range c.Flags {
		if f = strings.TrimLeft(word(f), "-"); f != "" && !strings.Contains(f, "=") {
			out.Flags = append(out.Flags, f)
		}
	}
	for _, a := range c.ValidArgs {
		if a = word(a); a != "" {
			out.ValidArgs = append(out.ValidArgs, a)
		}
	}
	for _, sub := range c.Commands {
		if s := sub.clean(depth - 1); s.Name != "" && depth > 0 {
			out.Commands = append(out.Commands, s)
		}
	}
	return out
}

func word(s string) string {
	if fields := strings.Fields(printable(s)); len(fields) == 1 {
		return fields[0]
	}
	return ""
}

// HasProgram reports whether the plugin has a program that completes command lines:
// plugin.complete, or [LuaCompleteFile] of a plugin in Lua.
func (p *Plugin) HasProgram() bool {
	name := completionProgram
	if p.Runtime == Lua {
		name = LuaCompleteFile
	}
	info, err := os.Stat(filepath.Join(p.Dir, name))
	return err == nil && info.Mode().IsRegular()
}

// maxWords is the largest output of a completion program that is read.
const maxWords = 1 << 20

// Complete returns the completions of the last argument in inv.Args, from the plugin's program.
// A word may be followed by a tab and a description. directive is Cobra's shell completion
// directive, or 0 if the program returns none. lua runs the programs of Lua plugins.
func Complete(ctx context.Context, inv Invocation, lua Runtime) (words []string, directive int, err error) {
	var out bytes.Buffer
	inv.Call, inv.Out = Words, &file.LimitWriter{W: &out, Left: maxWords}
	if inv.Plugin.Runtime == Lua {
		err = lua.Run(ctx, inv)
	} else {
		err = run(ctx, inv, filepath.Join(inv.Plugin.Dir, completionProgram), inv.Args, nil)
	}
	if err != nil {
		return nil, 0, err
	}
	for line := range strings.Lines(out.String()) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			words = append(words, line)
		}
	}
	if n := len(words); n > 0 {
		if number, ok := strings.CutPrefix(words[n-1], ":"); ok {
			if d, err := strconv.Atoi(number); err == nil {
				return words[:n-1], d, nil
			}
		}
	}
	return words, 0, nil
}
