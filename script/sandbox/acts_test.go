// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// acts are what the child can be told to do.
var acts = map[string]func(arg string, protocol io.Writer) (string, error){
	"nothing": func(string, io.Writer) (string, error) { return "", nil },
	"echo":    func(arg string, _ io.Writer) (string, error) { return arg, nil },
	"environment": func(string, io.Writer) (string, error) {
		return strings.Join(os.Environ(), " "), nil
	},
	"processors": func(string, io.Writer) (string, error) { return fmt.Sprint(runtime.GOMAXPROCS(0)), nil },
	"directory":  func(string, io.Writer) (string, error) { return os.Getwd() },
	"descriptors": func(string, io.Writer) (string, error) {
		entries, err := os.ReadDir("/proc/self/fd")
		var out []string
		for _, e := range entries {
			to, _ := os.Readlink("/proc/self/fd/" + e.Name())
			out = append(out, to)
		}
		return strings.Join(out, " "), err
	},
	"chatter": func(string, io.Writer) (string, error) {
		fmt.Println("this must not be taken for the protocol")
		_, err := os.Stdout.WriteString("nor this")
		return "", err
	},
	"complain": func(string, io.Writer) (string, error) {
		line := bytes.Repeat([]byte("complaint "), 1<<10)
		for range 1 << 10 {
			os.Stderr.Write(line)
		}
		os.Exit(3)
		return "", nil
	},

	// Using up.
	"spin": func(string, io.Writer) (string, error) {
		for i := 0; ; i++ {
		}
	},
	"overflow":     func(string, io.Writer) (string, error) { return fmt.Sprint(deeper(0)), nil },
	"one big bite": func(string, io.Writer) (string, error) { return fmt.Sprint(len(make([]byte, 14<<30))), nil },
	"many bites": func(string, io.Writer) (string, error) {
		var kept [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = byte(i)
			}
			kept = append(kept, b)
			runtime.KeepAlive(kept)
		}
	},
	"double": func(string, io.Writer) (string, error) {
		for s := "x"; ; s += s {
			runtime.KeepAlive(s)
		}
	},
	"garbage": func(string, io.Writer) (string, error) { // much, none of it kept
		n := 0
		for range 2000 {
			n += len(bytes.Repeat([]byte("x"), 1<<20))
		}
		return fmt.Sprint(n), nil
	},
	"threads": func(string, io.Writer) (string, error) { // new threads are still to be had
		done := make(chan bool)
		for range 8 {
			go func() {
				runtime.LockOSThread()
				time.Sleep(10 * time.Millisecond)
				done <- true
			}()
		}
		for range 8 {
			<-done
		}
		return "", nil
	},
	"keep": func(arg string, _ io.Writer) (string, error) {
		var size int
		fmt.Sscan(arg, &size)
		b := bytes.Repeat([]byte("x"), size)
		for range 5 {
			time.Sleep(20 * time.Millisecond)
		}
		return fmt.Sprint(len(b)), nil
	},

	// Misbehaving.
	"fill": func(_ string, protocol io.Writer) (string, error) {
		for {
			if _, err := protocol.Write(make([]byte, 1<<20)); err != nil {
				return "", err
			}
		}
	},
	"rubbish": func(_ string, protocol io.Writer) (string, error) {
		_, err := io.WriteString(protocol, "HTTP/1.1 200 OK\r\n\r\n")
		return "", err
	},
	"silence": func(string, io.Writer) (string, error) { select {} },
	"die":     func(string, io.Writer) (string, error) { os.Exit(7); return "", nil },
	"panic":   func(string, io.Writer) (string, error) { panic("a panic of the engine") },

	// Reaching out.
	"read": func(arg string, _ io.Writer) (string, error) {
		b, err := os.ReadFile(arg)
		return string(b), err
	},
	"list": func(arg string, _ io.Writer) (string, error) {
		_, err := os.ReadDir(arg)
		return "", err
	},
	"stat": func(arg string, _ io.Writer) (string, error) {
		_, err := os.Stat(arg)
		return "", err
	},
	"write":  func(arg string, _ io.Writer) (string, error) { return "", os.WriteFile(arg, []byte("x"), 0o600) },
	"remove": func(arg string, _ io.Writer) (string, error) { return "", os.Remove(arg) },
	"chmod":  func(arg string, _ io.Writer) (string, error) { return "", os.Chmod(arg, 0o777) },
	"rename": func(arg string, _ io.Writer) (string, error) { return "", os.Rename(arg, arg+".new") },
	"link": func(arg string, _ io.Writer) (string, error) {
		return "", errors.Join(os.Symlink("/etc/passwd", filepath.Join(arg, "link")))
	},
	"pipe": func(string, io.Writer) (string, error) {
		_, _, err := os.Pipe()
		return "", err
	},
	"dial": func(arg string, _ io.Writer) (string, error) {
		network, address, _ := strings.Cut(arg, " ")
		c, err := net.DialTimeout(network, address, time.Second)
		if err == nil {
			_, err = c.Write([]byte("x"))
		}
		return "", err
	},
	"listen": func(arg string, _ io.Writer) (string, error) {
		_, err := net.Listen("tcp", "127.0.0.1:0")
		return "", err
	},
	"run": func(arg string, _ io.Writer) (string, error) {
		out, err := exec.Command("/bin/sh", "-c", arg).CombinedOutput()
		return string(out), err
	},
	"background": func(arg string, _ io.Writer) (string, error) {
		cmd := exec.Command("/bin/sh", "-c", arg)
		err := cmd.Start()
		return fmt.Sprint(cmd.Process.Pid), err
	},
	"signal": func(arg string, _ io.Writer) (string, error) {
		signal.Reset()
		var pid int
		fmt.Sscan(arg, &pid)
		return "", signalTo(pid)
	},
}

// deeper calls itself without end and does not let the compiler see that.
//
//go:noinline
func deeper(n int) int {
	var room [64]int
	room[n%64] = n
	if n < 0 {
		return n
	}
	return deeper(n+1) + room[(n+1)%64]
}
