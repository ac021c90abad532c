// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/file"
)

func TestChoose(t *testing.T) {
	all := Program{Command: "all"}
	linux := Program{OS: "linux", Command: "linux"}
	exact := Program{OS: "Linux", Arch: "AMD64", Command: "exact"}
	arm := Program{OS: "linux", Arch: "arm64", Command: "arm"}
	for _, c := range []struct {
		list []Program
		want string
	}{
		{[]Program{all, linux, exact}, "exact"},
		{[]Program{arm, all, linux}, "linux"},
		{[]Program{arm, all, {Command: "second"}}, "all"},
		{[]Program{arm, {OS: "windows", Command: "w"}}, ""},
		{[]Program{{Arch: "amd64", Command: "any system"}, all}, "all"}, // not in Helm
		{[]Program{{OS: "linux", Command: "  "}, all}, "all"},
		{nil, ""},
	} {
		t.Run(c.want, func(t *testing.T) {
			if p, ok := choose(c.list, "linux", "amd64"); p.Command != c.want || ok != (c.want != "") {
				t.Errorf("%+v: %+v", c.list, p)
			}
		})
	}
}

func TestProgramLine(t *testing.T) {
	env := []string{"DIR=/old", "DIR=/a b", "NAME=n"}
	for _, c := range []struct {
		p    Program
		want []string
	}{
		{Program{Command: "$DIR/x y  'z z' $NAME"}, []string{"/a b/x", "y", "'z", "z'", "n"}},
		{Program{Command: "${DIR}/x", Args: []string{"$NAME and", "$MISSING", "$@"}}, []string{"/a b/x", "n and", "", ""}},
		{Program{Command: "$DIR/x $NAME", Args: []string{"$NAME"}, Literal: true}, []string{"/a b/x", "$NAME", "$NAME"}},
	} {
		t.Run(strings.Join(c.want, " "), func(t *testing.T) {
			if got := c.p.line(env); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v: %q", c.p, got)
			}
		})
	}
}

// A relative path of the plugin's program is never looked up in the working directory.
func TestLocate(t *testing.T) {
	dir := writePlugin(t, t.TempDir(), "name: a\n", "get.sh", "#!/bin/sh\n")
	for _, c := range []struct {
		name string
		own  bool
		want string
	}{
		{"/bin/x", false, "/bin/x"},
		{"./x", false, filepath.Join(dir, "x")},
		{"bin/x", true, filepath.Join(dir, "bin", "x")},
		{"get.sh", true, filepath.Join(dir, "get.sh")},
		{"get.sh", false, "get.sh"},
		{"sh", true, "sh"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := locate(dir, c.name, c.own); got != c.want {
				t.Errorf("%+v: %s", c, got)
			}
		})
	}
}

// shell returns a plugin whose command runs a script.
func shell(t *testing.T, script string) *Plugin {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	return &Plugin{Dir: t.TempDir(), Manifest: Manifest{
		Name: "p", Type: CLI, Runtime: Subprocess,
		Programs: []Program{{Command: "sh", Args: []string{"-c", script, "p"}, Literal: true}},
		Getters:  []GetterConfig{{Schemes: []string{"x"}, Programs: []Program{{Command: "sh", Args: []string{"-c", script, "p"}, Literal: true}}}},
		Hooks:    map[string][]Program{HookInstall: {{Command: "sh", Args: []string{"-c", script}, Literal: true}}, HookUpdate: {{OS: "plan9", Command: "x"}}},
	}}
}

func TestRunArgumentsStreamsEnvironment(t *testing.T) {
	p := shell(t, `for a in "$@"; do echo "[$a]"; done; cat; echo "$GREETING" >&2`)
	var out, stderr bytes.Buffer
	err := Process{}.Run(t.Context(), Invocation{
		Plugin: p, Args: []string{"a b", "", "$HOME"}, Env: append(os.Environ(), "GREETING=hello"),
		In: strings.NewReader("in\n"), Out: &out, Err: &stderr,
	})
	if err != nil || out.String() != "[a b]\n[]\n[$HOME]\nin\n" || stderr.String() != "hello\n" {
		t.Errorf("%v %q %q", err, out.String(), stderr.String())
	}
}

func TestExitCodes(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 1": 1, "exit 42": 42, "kill -9 $$": 255} {
		t.Run(script, func(t *testing.T) {
			err := Process{}.Run(t.Context(), Invocation{Plugin: shell(t, script), Env: os.Environ()})
			var exit *ExitError
			if code := 0; errors.As(err, &exit) != (want != 0) || exit != nil && exit.Code != want {
				t.Errorf("%s: %d, %v", script, code, err)
			}
		})
	}
	missing := &Plugin{Dir: t.TempDir(), Manifest: Manifest{Name: "p", Programs: []Program{{Command: "./nope"}}}}
	if err := (Process{}).Run(t.Context(), Invocation{Plugin: missing}); err == nil || !strings.Contains(err.Error(), `plugin "p" cannot be started`) {
		t.Error(err)
	}
	none := &Plugin{Manifest: Manifest{Name: "p", Programs: []Program{{OS: "plan9", Command: "x"}}}}
	var absent *NoProgramError
	if err := (Process{}).Run(t.Context(), Invocation{Plugin: none}); !errors.As(err, &absent) {
		t.Error(err)
	}
}

// An interrupt ends the plugin and its subprocesses.
func TestRunCanceled(t *testing.T) {
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
		t.Skip("with a terminal, its interrupt key reaches the children")
	}
	marks := t.TempDir()
	p := shell(t, `(trap 'touch `+marks+`/told; exit' TERM; touch `+marks+`/started; while :; do sleep 0.05; done) & wait`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Process{}.Run(ctx, Invocation{Plugin: p, Env: os.Environ(), Out: new(bytes.Buffer)}) }()
	await(t, filepath.Join(marks, "started"))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	await(t, filepath.Join(marks, "told"))
}

func await(t *testing.T, path string) {
	t.Helper()
	for range 1000 {
		if exists(path) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s never came", path)
}

// A plugin may leave a subprocess with its streams.
func TestRunLeavesChild(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	t.Parallel()
	var out bytes.Buffer
	err := run(t.Context(), Invocation{Plugin: shell(t, ""), Env: os.Environ(), Out: &out}, "sh", []string{"-c", "echo x; sleep 8 & exit 0"}, nil)
	if err != nil || out.String() != "x\n" {
		t.Errorf("%v %q", err, out.String())
	}
}

func TestRunGet(t *testing.T) {
	var out bytes.Buffer
	inv := Invocation{Plugin: shell(t, `echo "$# $4"`), Call: Get, Args: []string{"c", "k", "ca", "X://y"}, Env: os.Environ(), Out: &out}
	if err := (Process{}).Run(t.Context(), inv); err != nil || out.String() != "4 X://y\n" {
		t.Errorf("%v %q", err, out.String())
	}
	inv.Args[3] = "z://y"
	var none *NoProgramError
	if err := (Process{}).Run(t.Context(), inv); !errors.As(err, &none) || none.What != "downloader" {
		t.Error(err)
	}
	flood := &file.LimitWriter{W: &out, Left: 1000}
	inv = Invocation{Plugin: shell(t, "while :; do echo xxxxxxxxxxxxxxxx; done"), Call: Get, Args: []string{"", "", "", "x://y"}, Env: os.Environ(), Out: flood}
	if err := (Process{}).Run(t.Context(), inv); err == nil || !flood.Exceeded {
		t.Errorf("a flood is not an error: %v", err)
	}
}

func TestHooks(t *testing.T) {
	inv := Invocation{Plugin: shell(t, "exit 3"), Env: os.Environ()}
	var failed *HookError
	if err := Hook(t.Context(), HookInstall, inv); !errors.As(err, &failed) || !strings.Contains(err.Error(), `plugin install hook for "p" exited with error (code 3)`) {
		t.Error(err)
	}
	for _, name := range []string{HookUpdate, HookDelete} { // for another platform, and missing
		if err := Hook(t.Context(), name, inv); err != nil {
			t.Error(err)
		}
	}
}

func TestCompletionFiles(t *testing.T) {
	dir := writePlugin(t, t.TempDir(), "name: a\n", completionFile, `
name: a
flags: [t, --toggle, "b c", "", "x=y"]
validArgs: [one, "two words", "\e[2J"]
commands:
- name: sub
  commands: [{name: deep}, {name: ""}]
- name: "no name"
unknown: 1
`)
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Completion()
	want := Completion{
		Name: "a", Flags: []string{"t", "toggle"}, ValidArgs: []string{"one", "[2J"},
		Commands: []Completion{{Name: "sub", Commands: []Completion{{Name: "deep"}}}},
	}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
	if p.HasProgram() {
		t.Error("it has no program")
	}
	writePlugin(t, dir, "name: a\n", completionFile, "commands: {", completionProgram, "#!/bin/sh\necho \"one\tfirst\"\necho two-$#-$2\necho :4\n")
	if _, err := p.Completion(); err == nil || !strings.Contains(err.Error(), completionFile) {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	words, directive, err := Complete(t.Context(), Invocation{Plugin: p, Args: []string{"a", "b"}, Env: os.Environ()}, nil)
	if err != nil || directive != 4 || !reflect.DeepEqual(words, []string{"one\tfirst", "two-2-b"}) {
		t.Errorf("%q %d %v", words, directive, err)
	}
}
