// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/script/sandbox"
	"github.com/moonhelm/moonhelm/script/wire"
)

// watchPeak tells in the end how much memory the process had at most.
func watchPeak(p *play) func() int64 {
	stop, peak := make(chan bool), make(chan int64)
	status := fmt.Sprintf("/proc/%d/status", p.pid())
	go func() {
		var most int64
		for {
			if text, err := os.ReadFile(status); err == nil {
				most = max(most, field(text, "VmHWM:")<<10)
			}
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-peak
	}
}

func field(status []byte, name string) int64 {
	_, rest, found := bytes.Cut(status, []byte(name))
	if !found {
		return 0
	}
	n, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	return n
}

// pid is the process's number.
func (p *play) pid() int {
	p.t.Helper()
	said, err := p.do("pid", "")
	if err != nil {
		p.t.Fatal(err)
	}
	n, _ := strconv.Atoi(said)
	return n
}

func init() {
	acts["pid"] = func(string, io.Writer) (string, error) { return fmt.Sprint(os.Getpid()), nil }
	acts["stop itself"] = func(string, io.Writer) (string, error) {
		err := syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		if err == nil {
			time.Sleep(time.Minute) // another thread may take the signal, a moment later
		}
		return "", err
	}
	acts["kill itself"] = func(string, io.Writer) (string, error) {
		return "", syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	acts["unlimited"] = func(string, io.Writer) (string, error) {
		return "", syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: 1 << 40, Max: 1 << 40})
	}
	acts["fork"] = func(string, io.Writer) (string, error) {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return "", errno
		}
		if pid == 0 {
			syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
		}
		return "", nil
	}
	acts["code"] = func(string, io.Writer) (string, error) {
		_, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		return "", err
	}
	acts["only Landlock"] = func(string, io.Writer) (string, error) {
		sandbox.OnlyLandlock()
		return "", nil
	}
	acts["only seccomp"] = func(string, io.Writer) (string, error) {
		time.Sleep(time.Millisecond) // Go's own descriptors are there once there is a timer
		sandbox.OnlySeccomp()
		return "", nil
	}
	acts["only descriptors"] = func(string, io.Writer) (string, error) {
		time.Sleep(time.Millisecond)
		return "", sandbox.OnlyDescriptors()
	}
}

// outside is a place to break into: a file, a directory, servers.
type outside struct{ file, directory, tcp, udp, unix string }

func newOutside(t *testing.T) outside {
	t.Helper()
	dir := t.TempDir()
	o := outside{file: filepath.Join(dir, "secret"), directory: dir, unix: filepath.Join(dir, "socket")}
	if err := os.WriteFile(o.file, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unix, err := net.Listen("unix", o.unix)
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close(); unix.Close(); udp.Close() })
	o.tcp, o.udp = tcp.Addr().String(), udp.LocalAddr().String()
	return o
}

// A script without io and os reaches nothing, even if it had all of Go's
// functions, and the permission network opens no sockets: helm makes those
// requests.
func TestNothingCanBeReachedFromBehindTheWalls(t *testing.T) {
	needSeccomp(t)
	o := newOutside(t)
	for _, grants := range [][]string{nil, {"network"}} {
		t.Run(cmp.Or(strings.Join(grants, " "), "no permissions"), func(t *testing.T) {
			p := begin(t, wire.DefaultLimits())
			if _, err := p.confined(grants, "nothing", ""); err != nil {
				t.Fatal(err)
			}
			wantConfined(t, p, o)
			if said, err := p.do("echo", "still well"); said != "still well" || err != nil {
				t.Errorf("%q, %v; %v", said, err, p.end(time.Second))
			}
		})
	}
	if b, err := os.ReadFile(o.file); string(b) != "secret" || err != nil {
		t.Errorf("the file holds %q now, %v", b, err)
	}
	if entries, err := os.ReadDir(o.directory); len(entries) != 2 || err != nil {
		t.Errorf("the directory holds %v now, %v", entries, err)
	}
}

// wantConfined requires that the process is refused everything outside of it.
func wantConfined(t *testing.T, p *play, o outside) {
	t.Helper()
	for _, tt := range []struct{ name, act, arg string }{
		{"read a file", "read", o.file},
		{"read its environment", "read", "/proc/self/environ"},
		{"read the environment of its parent", "read", fmt.Sprintf("/proc/%d/environ", os.Getpid())},
		{"read a file of the system", "read", "/etc/hostname"},
		{"list the root", "list", "/"},
		{"list a directory", "list", o.directory},
		{"stat", "stat", o.file},
		{"write a file", "write", o.file},
		{"write a new file", "write", filepath.Join(o.directory, "new")},
		{"write in its directory", "write", "new"},
		{"write to a device", "write", "/dev/null"},
		{"remove", "remove", o.file},
		{"rename", "rename", o.file},
		{"chmod", "chmod", o.file},
		{"link", "link", o.directory},
		{"pipe", "pipe", ""},
		{"dial TCP", "dial", "tcp " + o.tcp},
		{"dial UDP", "dial", "udp " + o.udp},
		{"dial a Unix socket", "dial", "unix " + o.unix},
		{"listen", "listen", ""},
		{"run", "run", "true"},
		{"fork", "fork", ""},
		{"signal its parent", "signal", fmt.Sprint(os.Getpid())},
		{"stop itself", "stop itself", ""},
		{"kill itself", "kill itself", ""},
		{"lift its limits", "unlimited", ""},
		{"map executable memory", "code", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said, err := p.do(tt.act, tt.arg)
			var refused *refusedError
			if !errors.As(err, &refused) {
				t.Errorf("%s %s: got %q, %v, want a refusal", tt.act, tt.arg, said, err)
			} else if text := refused.text; !strings.Contains(text, "not permitted") && !strings.Contains(text, "permission denied") && !strings.Contains(text, "too many open files") {
				t.Errorf("%s %s: failed for another reason: %s", tt.act, tt.arg, text)
			}
		})
	}
}

// Each mechanism suffices alone, for systems that have only that one.
func TestEachWallStandsAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	o := newOutside(t)
	files := []string{"read " + o.file, "list " + o.directory, "write " + o.directory + "/new", "run true", "dial tcp " + o.tcp}
	for _, tt := range []struct {
		mechanism, wantErr string
		refused            []string
	}{
		{"only Landlock", "permission denied", append(files, "remove "+o.file, "link "+o.directory)},
		{"only seccomp", "operation not permitted", append(files, "remove "+o.file, "stat "+o.file, "chmod "+o.file, "dial udp "+o.udp, "dial unix "+o.unix, "fork ", "pipe ")},
		{"only descriptors", "too many open files", append(files, "dial udp "+o.udp, "dial unix "+o.unix, "pipe ")},
	} {
		t.Run(tt.mechanism, func(t *testing.T) {
			switch abi := landlockABI(); {
			case tt.mechanism == "only seccomp":
				needSeccomp(t)
			case tt.mechanism == "only Landlock" && abi < 4:
				t.Skipf("this kernel has version %d of Landlock, 4 is the first to know of TCP", abi)
			}
			p := begin(t, wire.DefaultLimits())
			if _, err := p.do(tt.mechanism, ""); err != nil {
				t.Fatal(err)
			}
			for _, what := range tt.refused {
				act, arg, _ := strings.Cut(what, " ")
				_, err := p.do(act, arg)
				var refused *refusedError
				if !errors.As(err, &refused) || !strings.Contains(refused.text, tt.wantErr) {
					t.Errorf("%s: %v", what, err)
				}
			}
			for _, act := range []string{"threads", "garbage", "nothing"} {
				if _, err := p.do(act, ""); err != nil {
					t.Fatalf("Go does not get along with it: %s: %v; %v", act, err, p.end(time.Second))
				}
			}
		})
	}
}

// needSeccomp leaves a test out where the kernel has no filters for system
// calls: some machines that are emulated.
func needSeccomp(t *testing.T) {
	t.Helper()
	if text, err := os.ReadFile("/proc/self/status"); err == nil && !bytes.Contains(text, []byte("Seccomp:")) {
		t.Skip("this kernel has no seccomp")
	}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("there is no filter for " + runtime.GOARCH)
	}
}

// Before the process is confined, and with io or os granted, all that works: the
// test before this one does not pass by accident.
func TestGrantsOpenWhatTheySay(t *testing.T) {
	o := newOutside(t)
	for _, grants := range [][]string{{"io"}, {"os"}, {"io", "network"}} {
		p := begin(t, wire.DefaultLimits())
		if said, err := p.confined(grants, "directory", ""); said != mustGetwd(t) || err != nil {
			t.Errorf("%s: works in %q, %v", grants, said, err)
		}
		for _, tt := range []struct{ act, arg, want string }{
			{"read", o.file, "secret"},
			{"list", o.directory, ""},
			{"write", filepath.Join(o.directory, "new"), ""},
			{"remove", filepath.Join(o.directory, "new"), ""},
			{"run", "echo $((40 + 2)); pwd", "42\n" + mustGetwd(t) + "\n"},
		} {
			if said, err := p.do(tt.act, tt.arg); said != tt.want || err != nil {
				t.Errorf("%s: %s %s: %q, %v", grants, tt.act, tt.arg, said, err)
			}
		}
		_, err := p.do("dial", "tcp "+o.tcp)
		switch open := err == nil; {
		case len(grants) == 2 && !open:
			t.Errorf("%s: no TCP: %v", grants, err)
		case len(grants) == 1 && open && landlockABI() >= 4:
			t.Errorf("%s: TCP is open", grants)
		}
	}
}

// landlockABI is the version of Landlock in the kernel, 0 for none.
func landlockABI() int {
	const sysLandlockCreateRuleset, flagVersion = 444, 1
	v, _, errno := syscall.Syscall(sysLandlockCreateRuleset, 0, 0, flagVersion)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// All threads are confined: those that exist and those that start later.
func TestConfinementCoversThreads(t *testing.T) {
	needSeccomp(t)
	p := begin(t, wire.DefaultLimits())
	if _, err := p.confined(nil, "threads", ""); err != nil {
		t.Fatal(err)
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.pid()))
	if err != nil || len(tasks) < 3 {
		t.Fatalf("%d threads, %v", len(tasks), err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that has ended
		}
		if field(text, "Seccomp:") != 2 || field(text, "NoNewPrivs:") != 1 {
			t.Errorf("%s: seccomp %d, no new privileges %d", task, field(text, "Seccomp:"), field(text, "NoNewPrivs:"))
		}
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.pid()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Max core file size        0", "Max open files            0", "Max cpu time              17 "} {
		wantText(t, string(limits), want)
	}
}

// A process whose parent is gone must not go on, whatever it does, nor what it
// started.
func TestItDoesNotOutliveItsParent(t *testing.T) {
	for _, act := range []string{"spin", "silence", "nothing", "background"} {
		t.Run(act, func(t *testing.T) {
			parent, pid := startParent(t, act)
			_ = parent.Process.Kill()
			_ = parent.Wait()
			wantGone(t, pid)
		})
	}
}

// A process whose parent is gone before it has confined itself does nothing: what it started could not be
// found any more.
func TestAnOrphanStartsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "written")
	parent, pid := startParent(t, "write later "+path)
	_ = parent.Wait()
	wantGone(t, pid)
	if _, err := os.Stat(path); err == nil {
		t.Error("it wrote a file")
	}
}

// startParent starts a parent that is told to do act, and returns the number that it says.
func startParent(t *testing.T, act string) (parent *exec.Cmd, pid int) {
	t.Helper()
	parent = exec.Command(mustExecutable(t))
	parent.Env = append(os.Environ(), "SANDBOX_TEST_PARENT="+act)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	return parent, pid
}

// wantGone waits a second for a process to end.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	for range 100 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || bytes.Contains(text, []byte("State:\tZ")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still there a second later", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// What the script started ends with it.
func TestKillEndsWhatItStarted(t *testing.T) {
	for _, way := range []string{"kill", "end"} {
		p := begin(t, wire.DefaultLimits())
		said, err := p.confined([]string{"os"}, "background", "sleep 60")
		if err != nil {
			t.Fatal(err)
		}
		if way == "kill" {
			p.p.Kill()
		} else {
			_, _ = p.do("die", "")
		}
		_ = p.end(2 * time.Second)
		pid, err := strconv.Atoi(said)
		if err != nil {
			t.Fatalf("%s: %q is not the number of a process", way, said)
		}
		wantGone(t, pid)
	}
}

// A process that stops itself uses no time; helm's watchdog kills it.
func TestAStoppedProcessCanBeKilled(t *testing.T) {
	p := begin(t, wire.DefaultLimits())
	go func() {
		time.Sleep(100 * time.Millisecond)
		p.p.Kill()
	}()
	if _, err := p.confined([]string{"os"}, "stop itself", ""); err == nil {
		t.Error("it goes on")
	}
	_ = p.end(time.Second)
}

// Nothing is left of many processes, however they ended.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	round := func() {
		for _, act := range []string{"nothing", "die", "silence", "panic"} {
			p, err := sandbox.Start(context.Background(), "", small)
			if err != nil {
				t.Fatal(err)
			}
			c := wire.NewConn(p, p)
			_ = c.Send(wire.Message{Kind: wire.Call, Body: map[string]any{"do": act}})
			if act != "silence" {
				_, _ = c.Receive()
			}
			p.Kill()
			p.Wait()
		}
	}
	round()
	goroutines, files := runtime.NumGoroutine(), count(t, "/proc/self/fd")
	for range 5 {
		round()
	}
	for range 50 {
		if runtime.NumGoroutine() <= goroutines && count(t, "/proc/self/fd") <= files {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if n := count(t, "/proc/self/fd"); n > files {
		t.Errorf("%d open files, %d before", n, files)
	}
	if n := count(t, os.Getenv("TMPDIR")); n > 0 {
		t.Errorf("%d directories are left", n)
	}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if len(bytes.TrimSpace(children)) > 0 {
		t.Errorf("children are left: %s", children)
	}
}

func count(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
