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

// grace is the grace period of a plugin between the interrupt and the kill.
const grace = 5 * time.Second

// echo is how long helm may receive an interrupt after the plugin has exited because of it.
const echo = 100 * time.Millisecond

// Process is the runtime [Subprocess]: it starts the programs in the manifest. If a stream is a
// file, such as a terminal, the program gets the file itself.
type Process struct{}

// Run implements [Runtime].
func (Process) Run(ctx context.Context, inv Invocation) error {
	list, what := inv.Plugin.Programs, "command"
	if inv.Call == Get {
		list, what = inv.Plugin.gets(inv.Args[len(inv.Args)-1]), "downloader"
	}
	return start(ctx, inv, list, what)
}

// gets returns the programs that download from a URL.
func (p *Plugin) gets(url string) []Program {
	scheme, _, _ := strings.Cut(url, ":")
	for _, g := range p.Getters {
		if slices.ContainsFunc(g.Schemes, func(s string) bool { return strings.EqualFold(s, scheme) }) {
			return g.Programs
		}
	}
	return nil
}

// Hook runs a plugin's hook for its installation, update or uninstallation, if it has one.
func Hook(ctx context.Context, name string, inv Invocation) error {
	list := inv.Plugin.Hooks[name]
	if len(list) == 0 {
		return nil
	}
	err := start(ctx, inv, list, name+" hook")
	if _, ok := errors.AsType[*NoProgramError](err); ok {
		return nil // the hook is for other platforms
	}
	if err != nil {
		return &HookError{Plugin: inv.Plugin.Name, Hook: name, Err: err}
	}
	return nil
}

// A HookError is returned if a plugin's hook fails.
type HookError struct {
	Plugin, Hook string
	Err          error
}

func (e *HookError) Error() string {
	if exit, ok := errors.AsType[*ExitError](e.Err); ok {
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

// run starts a program with additional open files and waits for it.
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
		// The interrupt key has sent a signal to helm too, which may arrive after the
		// plugin has exited.
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
	case exit != nil: // killed by a signal; Helm returns 255
		return &ExitError{Plugin: inv.Plugin.Name, Code: 255}
	case errors.Is(err, exec.ErrWaitDelay):
		return nil // it has exited, but left a process that keeps its streams open
	}
	return fmt.Errorf("plugin %q cannot be started: %w", inv.Plugin.Name, err)
}
