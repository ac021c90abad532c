// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command that waits for a server receives a signal.
func TestSignals(t *testing.T) {
	for _, tc := range []struct {
		name   string
		shell  string // how a shell starts helm
		signal syscall.Signal
		ends   bool
	}{
		{"SIGINT", `exec "$0" "$@"`, syscall.SIGINT, true},
		{"SIGTERM", `exec "$0" "$@"`, syscall.SIGTERM, true},
		{"SIGHUP", `exec "$0" "$@"`, syscall.SIGHUP, true},
		{"SIGHUP under nohup", `trap "" HUP; exec "$0" "$@"`, syscall.SIGHUP, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked, answer := make(chan struct{}, 1), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked <- struct{}{}
				<-answer
				http.Error(w, "there is no such chart", http.StatusNotFound)
			}))
			defer server.Close()
			defer func() {
				if tc.ends {
					close(answer)
				}
			}()
			helm, err := exec.LookPath("helm")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", tc.shell, helm, "pull", server.URL+"/web-1.0.0.tgz")
			cmd.Dir = t.TempDir()
			cmd.Env = []string{"HOME=" + cmd.Dir}
			var errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = io.Discard, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer late.Stop()
			<-asked
			if err := cmd.Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			if !tc.ends {
				close(answer)
			}
			exit, ok := errors.AsType[*exec.ExitError](cmd.Wait())
			if !ok || !exit.Exited() || exit.ExitCode() != 1 {
				t.Fatalf("got %v, want the exit code 1\n%s", exit, errs.String())
			}
			want := "interrupted"
			if !tc.ends {
				want = "404"
			}
			if !strings.Contains(errs.String(), want) {
				t.Errorf("got %q, want %q in it", errs.String(), want)
			}
		})
	}
}

// When a terminal is closed, a shell forwards the SIGHUP that the kernel sends too: the second one
// must not abort the handling of the first.
func TestSecondHangupIsIgnored(t *testing.T) {
	cmd := asker(t, "ends-slowly")
	plugin := filepath.Join(cmd.Env[2][len("HELM_PLUGINS="):], "ends-slowly")
	for name, text := range map[string]string{
		"plugin.yaml": "name: ends-slowly\nversion: 0.1.0\nusage: end\ndescription: ends slowly\ncommand: $HELM_PLUGIN_DIR/run.sh\n",
		"run.sh":      "#!/bin/sh\ntrap 'echo ending; read -r line; echo $line; exit 3' TERM\necho ready\nfor i in $(seq 2000); do sleep 0.05; done\n",
	} {
		if err := os.MkdirAll(plugin, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(plugin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(out)
	for _, want := range []string{"ready", "ending", "done"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
		if want != "done" {
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		}
		if want == "ending" {
			fmt.Fprintln(in, "done")
		}
	}
	if err := cmd.Wait(); err == nil || !cmd.ProcessState.Exited() {
		t.Errorf("got %v, want an exit code", cmd.ProcessState)
	}
}
