// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// Program is a [Runner] that starts an executable with the environment of this process.
type Program struct {
	Path string
	Args []string
}

// gracePeriod is how long a program may run after the interrupt, and how long a process that
// it has started may keep its output open.
const gracePeriod = 2 * time.Second

// Run implements [Runner].
func (p Program) Run(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, stderr
	cmd.WaitDelay = gracePeriod
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		return fmt.Errorf("it failed with exit code %d", exit.ExitCode())
	case errors.As(err, &exit):
		return fmt.Errorf("it was killed: %w", err)
	case errors.Is(err, exec.ErrWaitDelay):
		return errors.New("it has exited, but a process that it started keeps its output open")
	}
	return err
}
