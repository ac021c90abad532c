// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/process"
)

// grace is how long a plugin that was told to end may go on.
const grace = 5 * time.Second

// echo is how long an interrupt may take to arrive here that has ended a plugin.
const echo = 100 * time.Millisecond

// Process is the runtime [Subprocess]: it starts the programs that the manifest
// names. A file among the streams becomes the program's own, so that it may
// be a terminal.
type Process struct{}

// Run implements [Runtime].
func (Process) Run(ctx context.Context, inv Invocation) error {
	list, what := inv.Plugin.Programs, "command"
	if inv.Call == Get {
		list, what = inv.Plugin.gets(inv.Args[len(inv.Args)-1]), "downloader"
	}
	return start(ctx, inv, list, what)
}

// gets is what brings the content at a URL.
func (p *Plugin) gets(url string) []Program {
	scheme, _, _ := strings.Cut(url, ":")
	for _, g := range p.Getters {
		if slices.ContainsFunc(g.Schemes, func(s string) bool { return strings.EqualFold(s, scheme) }) {
			return g.Programs
		}
	}
	return nil
}

// Hook runs what a plugin wants to be run when it is installed, updated or
// uninstalled; nothing where it wants nothing.
func Hook(ctx context.Context, name string, inv Invocation) error {
	list := inv.Plugin.Hooks[name]
	if len(list) == 0 {
		return nil
	}
	err := start(ctx, inv, list, name+" hook")
	var none *NoProgramError
	if errors.As(err, &none) {
		return nil // it wants something on other platforms only
	}
	if err != nil {
		return &HookError{Plugin: inv.Plugin.Name, Hook: name, Err: err}
	}
	return nil
}

// A HookError is returned when a plugin's hook fails.
type HookError struct {
	Plugin, Hook string
	Err          error
}

func (e *HookError) Error() string {
	var exit *ExitError
	if errors.As(e.Err, &exit) {
		return fmt.Sprintf("plugin %s hook for %q exited with error (code %d)", e.Hook, e.Plugin, exit.Code)
	}
	return fmt.Sprintf("plugin %s hook for %q: %v", e.Hook, e.Plugin, e.Err)
}
func (e *HookError) Unwrap() error { return e.Err }

func start(ctx context.Context, inv Invocation, list []Program, what string) error {
	p, ok := choose(list, runtime.GOOS, runtime.GOARCH)
	if !ok {
		return &NoProgramError{Plugin: inv.Plugin.Name, What: what}
	}
	line := p.line(inv.Env)
	if line[0] == "" {
		return &NoProgramError{Plugin: inv.Plugin.Name, What: what}
	}
	name := locate(inv.Plugin.Dir, line[0], inv.Call == Get)
	return run(ctx, inv, name, append(line[1:], inv.Args...), nil)
}

// run starts a program, which gets files behind its streams, and waits for its end.
func run(ctx context.Context, inv Invocation, name string, args []string, files []*os.File) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.ExtraFiles = files
	cmd.Env = inv.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inv.In, inv.Out, inv.Err
	ended := process.EndTogether(cmd, grace)
	err := cmd.Run()
	ended()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() {
		// The key that interrupted it has interrupted helm too, which may hear of it
		// only after the plugin is gone.
		select {
		case <-ctx.Done():
		case <-time.After(echo):
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.Exited():
		return &ExitError{Plugin: inv.Plugin.Name, Code: exit.ExitCode()}
	case ctx.Err() != nil:
		return fmt.Errorf("plugin %q: %w", inv.Plugin.Name, ctx.Err())
	case exit != nil: // a signal ended it; 255 is what Helm makes of that
		return &ExitError{Plugin: inv.Plugin.Name, Code: 255}
	case errors.Is(err, exec.ErrWaitDelay):
		return nil // it has ended well, and left a process that holds its streams
	}
	return fmt.Errorf("plugin %q cannot be started: %w", inv.Plugin.Name, err)
}
