// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// A NoProgramError is returned when a plugin names no program for this platform.
type NoProgramError struct {
	Plugin string
	What   string // "command", "install hook", "downloader"
}

func (e *NoProgramError) Error() string {
	return fmt.Sprintf("plugin %q has no %s for %s/%s", e.Plugin, e.What, runtime.GOOS, runtime.GOARCH)
}

// choose is the program of a list that suits a platform best: one for its
// system and architecture, else one for its system, else one for all. Of those
// that suit equally the first counts.
func choose(list []Program, goos, arch string) (Program, bool) {
	best, found := 0, Program{}
	for _, p := range list {
		rank := 0
		switch {
		case len(strings.Fields(p.Command)) == 0:
		case strings.EqualFold(p.OS, goos) && strings.EqualFold(p.Arch, arch):
			rank = 3
		case strings.EqualFold(p.OS, goos) && p.Arch == "":
			rank = 2
		case p.OS == "" && p.Arch == "":
			rank = 1
		}
		if rank > best {
			best, found = rank, p
		}
	}
	return found, best > 0
}

// line is the program and its arguments, with variables of env for their names.
func (p Program) line(env []string) []string {
	vars := lookup(env)
	words := append(strings.Fields(p.Command), p.Args...)
	words[0] = os.Expand(words[0], vars)
	if p.Literal {
		return words
	}
	for i := range words[1:] {
		words[i+1] = os.Expand(words[i+1], vars)
	}
	return words
}

func lookup(env []string) func(string) string {
	return func(name string) string {
		for i := len(env) - 1; i >= 0; i-- {
			if key, value, ok := strings.Cut(env[i], "="); ok && key == name {
				return value
			}
		}
		return ""
	}
}

// locate finds a program: what is not an absolute path lies in the plugin's directory,
// never in the one that the user happens to be in. A mere name means a program
// of the PATH, and where own says so one in the plugin's directory before that.
func locate(dir, name string, own bool) string {
	if filepath.IsAbs(name) {
		return name
	}
	inside := filepath.Join(dir, filepath.FromSlash(name))
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		return inside
	}
	if own {
		if found, err := exec.LookPath(inside); err == nil {
			return found
		}
	}
	return name
}
