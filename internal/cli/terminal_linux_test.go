// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// atTerminal runs cmd at a terminal of its own, types text when it shows prompt,
// and returns what the terminal shows, with plain ends of lines.
func atTerminal(t *testing.T, cmd *exec.Cmd, prompt, text string) (string, error) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("this system lends no terminals:", err)
	}
	defer screen.Close()
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	tty.Close()
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var out strings.Builder
	buf := make([]byte, 4096)
	for typed := false; ; {
		n, err := screen.Read(buf) // EIO when nobody holds the other side any more
		out.Write(buf[:n])
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
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), cmd.Wait()
}
