// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/termtest"
)

// atTerminal runs cmd in a terminal, types text at prompt, and returns the terminal's output with
// plain line ends.
func atTerminal(t *testing.T, cmd *exec.Cmd, prompt, text string) (string, error) {
	t.Helper()
	tty, screen := termtest.Open(t, 0, 0)
	// A terminal hangs up when its session leader ends, which discards unread output. Therefore the
	// leader is a shell, which reports when the command has ended, and ends when all output has
	// been read.
	const ended = "\x1e"
	hold, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer release.Close()
	cmd.Args = append([]string{"sh", "-c", `trap : INT; "$@"; code=$?; printf '\036'; read -r _ <&3; exit $code`, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.ExtraFiles = "/bin/sh", []*os.File{hold}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	tty.Close()
	hold.Close()
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(30*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	var out strings.Builder
	buf := make([]byte, 4096)
	for typed := false; ; {
		n, err := screen.Read(buf) // EIO when the other side is closed
		out.Write(buf[:n])
		if strings.HasSuffix(out.String(), ended) {
			release.Close()
		}
		if err != nil {
			break
		}
		if !typed && strings.HasSuffix(out.String(), prompt) {
			if _, err := screen.WriteString(text); err != nil {
				t.Fatal(err)
			}
			typed = true
		}
	}
	seen := strings.TrimSuffix(out.String(), ended)
	return strings.ReplaceAll(seen, "\r\n", "\n"), cmd.Wait()
}
