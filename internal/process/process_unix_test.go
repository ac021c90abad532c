// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import (
	"bufio"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestOwnGroup(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for name, script := range map[string]string{
		"a child":                       "sleep 1000 & echo $!; wait",
		"a child that does not listen":  "sh -c 'trap \"\" TERM; while :; do sleep 1; done' & echo $!; wait",
		"a program that does not, with": "trap '' TERM; sleep 1000 & echo $!; while :; do sleep 1; done",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", "-c", script)
			ended := OwnGroup(cmd, 200*time.Millisecond)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			child, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			if err := cmd.Wait(); err == nil {
				t.Error("Run: no error")
			}
			ended()
			for !errors.Is(syscall.Kill(child, 0), syscall.ESRCH) { // until init has reaped it, or the test times out
				time.Sleep(time.Millisecond)
			}
		})
	}
}
