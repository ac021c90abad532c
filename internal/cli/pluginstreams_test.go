// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// The same plugin as a subprocess and in Lua: it asks for a name, and prints whether its streams
// are terminals.
const askers = `
-- plugins/ask-shell/plugin.yaml --
name: ask-shell
version: 0.1.0
usage: ask
description: asks
command: $HELM_PLUGIN_DIR/ask.sh
-- plugins/ask-shell/ask.sh --
#!/bin/sh
if [ -t 0 ] && [ -t 1 ] && [ -t 2 ]; then echo "at a terminal"; fi
if [ "$1" = --forever ]; then echo busy; while :; do sleep 1; done; fi
printf 'name? '
read -r name
echo "hello $name"
echo "bye" >&2
exit 3
-- plugins/ask-lua/plugin.yaml --
apiVersion: v1
name: ask-lua
version: 0.1.0
type: cli/v1
runtime: lua
-- plugins/ask-lua/main.lua --
function main(args)
  os.execute("if [ -t 0 ] && [ -t 1 ] && [ -t 2 ]; then echo 'at a terminal'; fi")
  if args[1] == "--forever" then print("busy"); while true do end end
  io.write("name? ")
  print("hello " .. io.read())
  io.stderr:write("bye\n")
  return 3
end
`

// asker returns a command for one of the plugins.
func asker(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("they use the shell")
	}
	dir := t.TempDir()
	if err := txtar.Write(txtar.Parse([]byte(askers)), dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "plugins", "ask-shell", "ask.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("helm", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "HELM_PLUGINS=" + filepath.Join(dir, "plugins"), "NO_COLOR=1", "TERM=dumb"}
	return cmd
}

func TestPluginStreamsPipes(t *testing.T) {
	for _, name := range []string{"ask-shell", "ask-lua"} {
		t.Run(name, func(t *testing.T) {
			cmd := asker(t, name)
			var out, said bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("ada\n"), &out, &said
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 3 || out.String() != "name? hello ada\n" || !strings.HasPrefix(said.String(), "bye\n") {
				t.Errorf("%s ended with %v, printed %q and said %q", name, err, &out, &said)
			}
		})
	}
}

func TestPluginStreamsTerminal(t *testing.T) {
	for _, name := range []string{"ask-shell", "ask-lua"} {
		t.Run(name, func(t *testing.T) {
			got, err := atTerminal(t, asker(t, name), "name? ", "ada\n")
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.HasPrefix(got, "at a terminal\nname? ada\nhello ada\nbye\n") {
				t.Errorf("%s ended with %v and showed\n%s", name, err, got)
			}
		})
	}
}

// The interrupt key ends a plugin that is busy or waits for input.
func TestPluginInterruptKey(t *testing.T) {
	for _, name := range []string{"ask-shell", "ask-lua"} {
		t.Run(name, func(t *testing.T) {
			for prompt, args := range map[string][]string{"name? ": {name}, "busy\r\n": {name, "--forever"}} {
				got, err := atTerminal(t, asker(t, args...), prompt, "\x03")
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != 1 || strings.Contains(got, "bye") || strings.Contains(got, "exited with error") {
					t.Errorf("%v ended with %v and showed\n%s", args, err, got)
				}
			}
		})
	}
}

// CVE-2021-21303: a post-renderer's remarks may quote the chart.
func TestPostRendererStderrIsEscaped(t *testing.T) {
	cmd := asker(t, "template", "web", "--post-renderer", "./remark")
	cmd.Dir = t.TempDir()
	err := txtar.Write(txtar.Parse([]byte("-- web/Chart.yaml --\napiVersion: v2\nname: web\nversion: 1.0.0\n"+
		"-- web/templates/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"+
		"-- remark --\n#!/bin/sh\ncat\nprintf '\\033]0;pwn\\007\\n' >&2\n")), cmd.Dir)
	if err := errors.Join(err, os.Chmod(filepath.Join(cmd.Dir, "remark"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if got, err := atTerminal(t, cmd, "pwn", "\n"); err != nil || !strings.Contains(got, `\x1b]0;pwn\x07`) || strings.Contains(got, "\x1b]") {
		t.Errorf("%v, showed\n%q", err, got)
	}
}

// The reader of a plugin's output may close the pipe.
func TestPluginBrokenPipe(t *testing.T) {
	cmd := asker(t, "ask-lua")
	dir := filepath.Dir(strings.TrimPrefix(cmd.Env[2], "HELM_PLUGINS="))
	endless := "function main() while true do print('y') end end"
	if err := os.WriteFile(filepath.Join(dir, "plugins", "ask-lua", "main.lua"), []byte(endless), 0o644); err != nil {
		t.Fatal(err)
	}
	pipe := exec.Command("sh", "-c", "helm ask-lua | head -n 2")
	pipe.Env = cmd.Env
	if out, err := pipe.Output(); err != nil || string(out) != "y\ny\n" {
		t.Errorf("%v, %q", err, out)
	}
}
