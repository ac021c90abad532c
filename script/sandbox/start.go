// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bufio"
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

// Process is the scripts' process, seen from helm. Read gives what it says
// (buffered), Write tells it something. One goroutine may read while another
// writes and any number call Kill and Wait.
//
// Kill must be called in the end, also where the process has ended by itself:
// it frees the pipes.
type Process struct {
	cmd    *exec.Cmd
	family family
	limits wire.Limits
	dir    string

	in    *os.File
	out   *os.File
	said  *bufio.Reader
	moans *complaint

	mu     sync.Mutex
	killed bool
	ended  bool

	done chan struct{}
	err  error // once done is closed
}

// Start starts a process for one operation's scripts. The process lives until
// its Kill is called, ctx is done, or helm itself is gone.
// binary is a helm, or another program that calls worker.Main; empty means
// the program that is running. Of the limits only those are used here that tell
// how the process ended: what the child keeps to it is told in the protocol.
func Start(ctx context.Context, binary string, l wire.Limits) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if os.Args[0] == ChildName {
		// A binary that is told to run scripts and knows nothing of it would
		// start itself again, and that one again.
		return nil, errors.New("start the process for scripts: this is such a process already; name a helm " +
			"binary to run scripts with")
	}
	path, err := program(binary)
	if err != nil {
		return nil, fmt.Errorf("start the process for scripts: %w", err)
	}
	p := &Process{limits: l, moans: newComplaint(), done: make(chan struct{})}
	if err := p.start(path); err != nil {
		return nil, fmt.Errorf("start the process for scripts: %w", err)
	}
	release := context.AfterFunc(ctx, func() { _ = p.Kill() })
	go func() {
		p.reap()
		release()
	}()
	return p, nil
}

// program is the path to start for binary. On Linux the running program is
// named by what the kernel knows of it, so that it does not matter whether the
// file was replaced meanwhile.
func program(binary string) (string, error) {
	own, err := os.Executable()
	switch {
	case binary == "" && err != nil:
		return "", err
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

// start makes the pipes and the directory and starts the program at path.
func (p *Process) start(path string) error {
	var pipes [3][2]*os.File
	var err error
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			closeAll(pipes)
			return err
		}
	}
	// Without a directory to be had, the root is as good: it is a fallback for
	// machines with nowhere to write.
	if p.dir, err = os.MkdirTemp("", "helm-scripts-"); err != nil {
		p.dir = ""
	}
	p.cmd = &exec.Cmd{
		Path:   path,
		Args:   []string{ChildName, workingFolder()},
		Env:    environment(),
		Dir:    p.dir,
		Stdin:  pipes[0][0],
		Stdout: pipes[1][1],
		Stderr: pipes[2][1],
	}
	if p.dir == "" {
		p.cmd.Dir = rootFolder
	}
	err = p.family.start(p.cmd)
	if err != nil || removeEarly {
		p.removeFolder()
	}
	if err != nil {
		closeAll(pipes)
		return err
	}
	for _, f := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} {
		f.Close()
	}
	p.in, p.out = pipes[0][1], pipes[1][0]
	p.said = bufio.NewReaderSize(p.out, 64<<10)
	go p.moans.listen(pipes[2][0])
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

// workingFolder is where a child that may see the file system goes.
func workingFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// environment is all that the child gets to know from the environment: what
// Go's runtime reads as it starts. The child forgets it at once.
func environment() []string {
	return []string{
		"GOMAXPROCS=2",     // one for the script, one for the collector and the watchdog
		"GOTRACEBACK=none", // a crash says why, not where
		"GOGC=400",         // short lives; the memory limit bounds it
	}
}

func (p *Process) removeFolder() {
	if p.dir != "" {
		_ = os.Remove(p.dir) // empty; what cannot be removed is not a reason to fail
	}
}

// Read reads what the process says. At its end it is [io.EOF]; [Process.Wait]
// tells why.
func (p *Process) Read(b []byte) (int, error) {
	n, err := p.said.Read(b)
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF // killed
	}
	return n, err
}

// Write tells the process something.
func (p *Process) Write(b []byte) (int, error) { return p.in.Write(b) }

// Kill ends the process and all that it started, at once, and frees its pipes.
// What stands in them is lost. It may be called again, and after the process
// has ended.
func (p *Process) Kill() error {
	p.mu.Lock()
	var err error
	if !p.ended {
		p.killed = true
		err = p.family.kill(p.cmd.Process)
	}
	p.mu.Unlock()
	p.in.Close()
	p.out.Close()
	return err
}

// Wait waits for the end of the process and tells how it came: nil if all was
// well, an [*ExitError] otherwise. It may be called by many and again.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// reap waits for the process, ends what it left behind and says how it went.
// It runs whether anybody waits or not: nothing stays a zombie.
func (p *Process) reap() {
	if p.family.await(p.cmd.Process) {
		p.bury()
	}
	_ = p.cmd.Wait() // its state says it better
	killed := p.bury()
	p.family.close()
	text := p.moans.end(100 * time.Millisecond)
	if !removeEarly {
		p.removeFolder()
	}
	p.err = judge(p.cmd.ProcessState, text, killed, p.limits)
	close(p.done)
}

// bury ends what a process that has ended left behind, and lets no later Kill
// touch its number. It reports whether the process had been killed.
func (p *Process) bury() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		_ = p.family.kill(p.cmd.Process)
	}
	return p.killed
}
