// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/moonhelm/moonhelm/script/wire"
)

// Enter runs the script process and returns its exit code. It moves the protocol from
// standard input and output to other descriptors, so that nothing in the engine can write
// into it by mistake, and calls serve with them.
//
// serve must call confine with the permissions granted to all charts together and with the
// limits, before it compiles a script. If confine returns an error, serve must not run
// scripts.
func Enter(serve func(r io.Reader, w io.Writer, confine func(grants []string, l wire.Limits) error) error) int {
	os.Clearenv()
	closeInherited()
	debug.SetMaxStack(maxStack)
	c, err := enter()
	if err != nil {
		fmt.Fprintln(os.Stderr, "take over the protocol:", err)
		return 1
	}
	c.watch = newWatchdog()
	// Enter is called while packages initialise, which Go locks to the first thread;
	// switching to another goroutine is cheaper.
	end := make(chan error, 1)
	go func() {
		end <- serve(bufio.NewReaderSize(c, 64<<10), c.out, c.confine)
	}()
	if err := <-end; err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child is this process. Its Read reads the protocol.
type child struct {
	in, out *os.File
	watch   *watchdog
	free    atomic.Bool // scripts may start programs
	ended   atomic.Bool // Read has reached the end
}

// enter moves the protocol to descriptors that nothing else writes to.
func enter() (*child, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	in, out, err := takePipes(null)
	if err != nil {
		return nil, err
	}
	os.Stdin, os.Stdout = null, null
	disableCoreDumps()
	return &child{in: in, out: out}, nil
}

// Read reads the protocol. At its end helm has exited; Read then kills the programs that
// scripts have started, since this process may exit before the watchdog does it.
func (c *child) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	if err != nil {
		c.ended.Store(true)
		c.killPrograms()
	}
	return n, err
}

// killPrograms kills this process and the programs that it started if helm has exited and
// scripts may start programs. It is called after either becomes known.
func (c *child) killPrograms() {
	if c.ended.Load() && c.free.Load() {
		killGroup()
	}
}

// confine confines the process; see the package's comment.
func (c *child) confine(grants []string, l wire.Limits) error {
	free := slices.Contains(grants, "io") || slices.Contains(grants, "os")
	if free && len(os.Args) > 1 && os.Args[1] != "" {
		// Paths in scripts are relative to the user's working directory.
		if err := os.Chdir(os.Args[1]); err != nil {
			return fmt.Errorf("confine the script process: %w", err)
		}
	}
	c.free.Store(free)
	c.killPrograms()
	if l.Memory > 0 {
		debug.SetMemoryLimit(l.Memory) // collect garbage rather than exceed the limit
	}
	// The watchdog first: it opens files, which is not possible later.
	c.watch.start(l)
	limits := confinement{free: free, network: slices.Contains(grants, "network"), limits: l}
	if err := applyConfinement(limits); err != nil {
		return fmt.Errorf("confine the script process: %w", err)
	}
	return nil
}

// confinement is what applyConfinement enforces.
type confinement struct {
	free    bool // files and programs were granted
	network bool
	limits  wire.Limits
}
