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

// Enter is the life of the process for scripts. It takes the protocol away from
// standard input and output, so that nothing in the engine can write into it by
// mistake, and runs serve on it; the result is the exit code.
//
// serve must call confine once it knows what the scripts' charts were granted
// together and what the limits are, and before it compiles a script. An error
// of it means that the process must not run them.
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
	// Enter is called while packages initialise, and Go ties that to the first
	// thread; a goroutine of its own is cheaper to switch to.
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

// child is this process. Reading from it reads the protocol.
type child struct {
	in, out *os.File
	watch   *watchdog
	free    atomic.Bool // scripts may start programs
}

// enter moves the protocol to where nothing else writes.
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
	forbidCores()
	return &child{in: in, out: out}, nil
}

// Read reads the protocol. Its end is the end of helm, and of what scripts have
// started: the watchdog may come too late for that, as the process ends by
// itself once no one listens.
func (c *child) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	if err != nil && c.free.Load() {
		endFamily()
	}
	return n, err
}

// confine puts up the walls. See the package's comment.
func (c *child) confine(grants []string, l wire.Limits) error {
	free := slices.Contains(grants, "io") || slices.Contains(grants, "os")
	if free && len(os.Args) > 1 && os.Args[1] != "" {
		// Paths that a user's script names are meant from where the user is.
		if err := os.Chdir(os.Args[1]); err != nil {
			return fmt.Errorf("confine the scripts' process: %w", err)
		}
	}
	c.free.Store(free)
	if l.Memory > 0 {
		debug.SetMemoryLimit(l.Memory)
	}
	// The watchdog first: it needs what cannot be opened any more behind the walls.
	c.watch.start(l)
	if err := wall(walls{free: free, network: slices.Contains(grants, "network"), limits: l}); err != nil {
		return fmt.Errorf("confine the scripts' process: %w", err)
	}
	return nil
}

// walls says which walls to put up.
type walls struct {
	free    bool // files and programs were granted
	network bool
	limits  wire.Limits
}
