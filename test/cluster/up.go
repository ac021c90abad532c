// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moonhelm/moonhelm/test/cluster/internal/controlplane"
)

// options are the flags of up.
type options struct {
	detach, untilStdin, quiet bool
	parent, nodes             int
}

const (
	logFile   = "cluster.log"
	readyLine = "ready"
)

// up runs a cluster in the directory until it is stopped, and removes the directory. The
// cluster is a subprocess; if one of the two processes is killed, the other one cleans up.
func up(ctx context.Context, dir string, o options, in io.Reader, out io.Writer) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if o.quiet {
		// The process that reads the output stops reading once the cluster is ready.
		signal.Ignore(syscall.SIGPIPE)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	lock, err := claim(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	defer func() { err = errors.Join(err, removeDirectory(dir)) }()

	if o.untilStdin {
		go func() {
			_, _ = io.Copy(io.Discard, in)
			cancel()
		}()
	}
	if o.parent != 0 {
		go func() {
			for alive(o.parent) {
				time.Sleep(100 * time.Millisecond)
			}
			cancel()
		}()
	}

	server, lines, err := startServer(dir, o.nodes, lock)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		scan := bufio.NewScanner(lines)
		for scan.Scan() {
			if scan.Text() == readyLine {
				close(ready)
			}
		}
		ended <- server.Wait()
	}()
	defer func() {
		// Kill it, because a graceful shutdown takes a minute and saves nothing.
		_ = server.Process.Kill()
		<-ended
	}()
	for {
		select {
		case <-ready:
			announce(out, dir)
			fmt.Fprintln(out, readyLine)
			ready = nil
		case err := <-ended:
			ended <- nil
			return fmt.Errorf("the cluster ended by itself: %v\n%s", err, lastLines(filepath.Join(dir, logFile), 20))
		case <-ctx.Done():
			return nil
		}
	}
}

// startServer starts the cluster's process. The process notices the end of this one by its
// standard input, and prints a line when it is ready.
func startServer(dir string, nodes int, lock *os.File) (*exec.Cmd, io.Reader, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	log, err := os.Create(filepath.Join(dir, logFile))
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	cmd := exec.Command(self, "serve", "--dir", dir, "--nodes", strconv.Itoa(nodes))
	cmd.Stderr = log
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this process
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start the cluster's process: %w", err)
	}
	return cmd, lines, nil
}

// serve is the main function of the cluster's process. It runs the control plane until its
// parent is gone, and then removes the directory.
func serve(ctx context.Context, dir string, nodes int, in io.Reader, out io.Writer) error {
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = removeDirectory(dir)
		os.Exit(0)
	}()
	return controlplane.Serve(ctx, dir, nodes, func() { fmt.Fprintln(out, readyLine) })
}

// detach starts a process that runs up, and returns when the cluster is ready.
func detach(dir string, o options, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"up", "--detached", "--dir", dir, "--nodes", strconv.Itoa(o.nodes)}
	if o.parent != 0 {
		args = append(args, "--with-parent", strconv.Itoa(o.parent))
	}
	cmd := exec.Command(self, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var errs strings.Builder
	cmd.Stderr = &errs
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	scan := bufio.NewScanner(lines)
	for scan.Scan() {
		fmt.Fprintln(out, scan.Text())
		if scan.Text() == readyLine {
			return cmd.Process.Release()
		}
	}
	_ = cmd.Wait()
	return errors.New(strings.TrimPrefix(strings.TrimSpace(errs.String()), "cluster: "))
}

// down stops the cluster in the directory and returns when its processes have ended.
func down(dir string, out io.Writer) error {
	pid, err := owner(dir)
	if errors.Is(err, errNotRunning) {
		if _, missing := os.Stat(filepath.Join(dir, lockFile)); missing == nil {
			if err := removeDirectory(dir); err != nil {
				return err
			}
		}
		fmt.Fprintln(out, "stopped")
		return nil
	}
	if err != nil {
		return err
	}
	_ = syscall.Kill(pid, syscall.SIGTERM)
	for i := range 400 {
		if i == 200 {
			// The other process of the pair cleans up.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if _, err := owner(dir); errors.Is(err, errNotRunning) {
			fmt.Fprintln(out, "stopped")
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("the cluster in %s does not end; its process is %d", dir, pid)
}

// status prints the paths and the process ID of a running cluster.
func status(dir string, out io.Writer) error {
	pid, err := owner(dir)
	if err != nil {
		return err
	}
	announce(out, dir)
	fmt.Fprintf(out, "pid=%d\n", pid)
	return nil
}

func announce(out io.Writer, dir string) {
	fmt.Fprintf(out, "dir=%s\nkubeconfig=%s\nrestricted-kubeconfig=%s\nrestricted-user=%s\nlog=%s\n", dir,
		filepath.Join(dir, controlplane.AdminKubeconfig), filepath.Join(dir, controlplane.RestrictedKubeconfig),
		controlplane.RestrictedUser, filepath.Join(dir, logFile))
}

// alive reports whether a process is running. A zombie is not.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // no such directory on this system
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// lastLines returns the last n lines of a file, for an error message.
func lastLines(path string, n int) string {
	data, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
