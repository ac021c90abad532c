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

// A NoProgramError is returned if a plugin has no program for this platform.
type NoProgramError struct {
	Plugin string
	What   string // "command", "install hook", "downloader"
}

func (e *NoProgramError) Error() string {
	return fmt.Sprintf("plugin %q has no %s for %s/%s", e.Plugin, e.What, runtime.GOOS, runtime.GOARCH)
}

// choose returns the best program for a platform: one for its operating system and
// architecture, or else for its operating system, or else for all. Of equally good ones it
// returns the first.
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

// line returns the program and its arguments, with variables expanded from env.
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

// locate returns the path of a program. A relative path is relative to the plugin's directory,
// never to the working directory. A name without a slash is a program in PATH, or if own is
// set, preferably in the plugin's directory.
func locate(dir, name string, ownDir bool) string {
	if filepath.IsAbs(name) {
		return name
	}
	inside := filepath.Join(dir, filepath.FromSlash(name))
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		return inside
	}
	if ownDir {
		if found, err := exec.LookPath(inside); err == nil {
			return found
		}
	}
	return name
}
