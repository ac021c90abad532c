// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/script/wire"
)

// Process is a running script process. Read reads its standard output (buffered), Write
// writes to its standard input. One goroutine may read while another writes; Kill and Wait
// are safe for concurrent use.
//
// The caller must call Kill in the end, even after the process has exited: it closes the
// pipes.
type Process struct {
	cmd    *exec.Cmd
	group  group
	limits wire.Limits
	dir    string

	in     *os.File
	out    *os.File
	output *bufio.Reader
	stderr *stderrReader

	mu     sync.Mutex
	killed bool
	ended  bool

	done chan struct{}
	err  error // once done is closed
}

// Start starts a process for the scripts of one operation. The process ends when Kill is
// called, ctx is done, or this program exits.
//
// binary is the path of helm or of another program that calls worker.Main; empty means the
// running program. l only serves to describe how the process ended: the limits that the
// process enforces on itself reach it through the protocol.
func Start(ctx context.Context, binary string, l wire.Limits) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if os.Args[0] == ChildName {
		// A program that does not call worker.Main would start itself forever.
		return nil, errors.New("start the script process: this is a script process already; set the path of a helm " +
			"binary that runs scripts")
	}
	path, err := program(binary)
	if err != nil {
		return nil, fmt.Errorf("start the script process: %w", err)
	}
	p := &Process{limits: l, done: make(chan struct{})}
	if err := p.start(path); err != nil {
		return nil, fmt.Errorf("start the script process: %w", err)
	}
	release := context.AfterFunc(ctx, func() { _ = p.Kill() })
	go func() {
		p.reap()
		release()
	}()
	return p, nil
}

// A ProgramError is returned if the system does not say which program is running, which is the
// program that runs the scripts. On Linux it does in /proc.
type ProgramError struct{ Err error }

func (e *ProgramError) Error() string { return "find the running program: " + e.Err.Error() }

func (e *ProgramError) Unwrap() error { return e.Err }

// Hint suggests what to do.
func (e *ProgramError) Hint() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	return "scripts run in a process of their own, and helm starts itself by /proc/self/exe: mount /proc " +
		"(mount -t proc proc /proc, or in a chroot from outside: mount --bind /proc ROOT/proc)"
}

// program returns the path to start for binary. On Linux the running program is
// /proc/self/exe, which stays valid when the file is replaced by an update.
func program(binary string) (string, error) {
	own, err := os.Executable()
	switch {
	case binary == "" && err != nil:
		return "", &ProgramError{Err: err}
	case binary != "" && binary != own:
		return binary, nil
	}
	const self = "/proc/self/exe"
	if runtime.GOOS == "linux" {
		if _, err := os.Readlink(self); err == nil {
			return self, nil
		}
	}
	return own, nil
}

// start creates the pipes and the directory and starts the program at path.
func (p *Process) start(path string) error {
	var pipes [3][2]*os.File
	var err error
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			closeAll(pipes)
			return err
		}
	}
	workingDir, _ := os.Getwd() // for a child that has access to files
	p.dir, _ = os.MkdirTemp("", "helm-scripts-")
	p.cmd = &exec.Cmd{
		Path:   path,
		Args:   []string{ChildName, workingDir},
		Env:    environment(),
		Dir:    cmp.Or(p.dir, rootDir), // without a writable temporary directory
		Stdin:  pipes[0][0],
		Stdout: pipes[1][1],
		Stderr: pipes[2][1],
	}
	err = p.group.start(p.cmd)
	if err != nil || removeEarly {
		p.removeDir()
	}
	if err != nil {
		closeAll(pipes)
		return err
	}
	for _, f := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} {
		f.Close()
	}
	p.in, p.out = pipes[0][1], pipes[1][0]
	p.output = bufio.NewReaderSize(p.out, 64<<10)
	p.stderr = readStderr(pipes[2][0])
	return nil
}

func closeAll(pipes [3][2]*os.File) {
	for _, ends := range pipes {
		for _, f := range ends {
			if f != nil {
				f.Close()
			}
		}
	}
}

// environment returns the child's whole environment: settings of Go's runtime, which the
// child deletes when it has started.
func environment() []string {
	return []string{
		"GOMAXPROCS=" + firstProcessors,
		"GOTRACEBACK=none", // print the reason of a crash, not the stacks
	}
}

func (p *Process) removeDir() {
	if p.dir != "" {
		_ = os.Remove(p.dir) // it is empty; an error is not a reason to fail
	}
}

// Read reads from the process's standard output. It returns [io.EOF] when the process has
// ended; [Process.Wait] returns the reason.
func (p *Process) Read(b []byte) (int, error) {
	n, err := p.output.Read(b)
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF // killed
	}
	return n, err
}

// Write writes to the process's standard input.
func (p *Process) Write(b []byte) (int, error) { return p.in.Write(b) }

// Kill kills the process and the programs that it started, and closes its pipes; unread
// output is lost. Kill may be called repeatedly, also after the process has ended.
func (p *Process) Kill() error {
	p.mu.Lock()
	var err error
	if !p.ended {
		p.killed = true
		err = p.group.kill(p.cmd.Process)
	}
	p.mu.Unlock()
	p.in.Close()
	p.out.Close()
	return err
}

// Wait waits for the process to end. It returns nil if the process exited with status 0 and
// an [*ExitError] otherwise. It may be called repeatedly and concurrently.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// reap waits for the process, kills the programs that it left running and sets p.err. It
// runs whether Wait is called or not, so that no zombie remains.
func (p *Process) reap() {
	if p.group.waitExited(p.cmd.Process) {
		p.markEnded()
	}
	_ = p.cmd.Wait() // exitError reads the state
	killed := p.markEnded()
	p.group.close()
	text := p.stderr.finish(100 * time.Millisecond)
	if !removeEarly {
		p.removeDir()
	}
	p.err = exitError(p.cmd.ProcessState, text, killed, p.limits)
	close(p.done)
}

// markEnded kills the programs that an exited process left running, and keeps later calls
// of Kill from using a process ID that may have been reused. It reports whether the process
// had been killed.
func (p *Process) markEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		_ = p.group.kill(p.cmd.Process)
	}
	return p.killed
}
