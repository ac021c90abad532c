// SPDX-License-Identifier: Apache-2.0

package pager

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/termtest"
)

// terminal is a terminal of 40 columns and 10 rows.
type terminal struct {
	tty    *os.File
	mu     sync.Mutex
	screen bytes.Buffer
	done   chan struct{}
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	tty, screen := termtest.Open(t, 40, 10)
	term := &terminal{tty: tty, done: make(chan struct{})}
	go func() {
		defer close(term.done)
		_, _ = io.Copy(term, screen) // EIO when the other side is closed
		screen.Close()
	}()
	return term
}

func (s *terminal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.Write(p)
}

// seen closes the terminal and returns what was written to it.
func (s *terminal) seen() string {
	s.tty.Close()
	<-s.done
	return strings.ReplaceAll(s.screen.String(), "\r\n", "\n")
}

func TestWrite(t *testing.T) {
	long := strings.Repeat("line\n", 20)
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	count := script("count", `echo "$1 shows $(wc -l) lines with LESS=$LESS LV=$LV"`)
	killed := script("killed", `stty -echo; kill -KILL $$`)
	for _, tc := range []struct {
		name, text string
		env        map[string]string
		off        bool
		want       string
		warning    string // part of it
	}{
		{name: "a long text", text: long, env: map[string]string{"PAGER": count + " it"}, want: "it shows 20 lines with LESS=FRX LV=-c\n"},
		{name: "HELM_PAGER before PAGER", text: long, env: map[string]string{"HELM_PAGER": count + " helm", "PAGER": "false"}, want: "helm shows 20 lines with LESS=FRX LV=-c\n"},
		{name: "the user's options", text: long, env: map[string]string{"PAGER": count, "LESS": "-S", "LV": "x"}, want: " shows 20 lines with LESS=-S LV=x\n"},
		{name: "a pipe", text: long, env: map[string]string{"PAGER": "cat | " + count + " 'a b'"}, want: "a b shows 20 lines with LESS=FRX LV=-c\n"},
		{name: "a text that fits", text: "a\nb\n", env: map[string]string{"PAGER": count}, want: "a\nb\n"},
		{name: "as many lines as rows", text: strings.Repeat("a\n", 10), env: map[string]string{"PAGER": count}, want: " shows 10 lines with LESS=FRX LV=-c\n"},
		{name: "a long line", text: strings.Repeat("a", 400) + "\n", env: map[string]string{"PAGER": count}, want: " shows 1 lines with LESS=FRX LV=-c\n"},
		{name: "colours are no width", text: strings.Repeat("\x1b[31m"+strings.Repeat("a", 38)+"\x1b[0m\n", 9), env: map[string]string{"PAGER": count, "plain": "1"},
			want: strings.Repeat("\x1b[31m"+strings.Repeat("a", 38)+"\x1b[0m\n", 9)},
		{name: "off", text: long, env: map[string]string{"PAGER": count}, off: true, want: long},
		{name: "cat", text: long, env: map[string]string{"HELM_PAGER": "cat", "PAGER": count}, want: long},
		{name: "a dumb terminal", text: long, env: map[string]string{"PAGER": count, "TERM": "dumb"}, want: long},
		{name: "a pager that does not read", text: strings.Repeat(long, 10_000), env: map[string]string{"PAGER": "true"}, want: ""},
		{name: "a pager that fails", text: long, env: map[string]string{"PAGER": "false"}, want: ""},
		{name: "a pager that does not exist", text: long, env: map[string]string{"PAGER": filepath.Join(dir, "none")}, want: long,
			warning: "could not be started"},
		{name: "a shell's command that does not exist", text: long, env: map[string]string{"PAGER": "'" + filepath.Join(dir, "none") + "' 2>/dev/null"}, want: long},
		{name: "a pager that is killed", text: long, env: map[string]string{"PAGER": killed}, want: "\x1b[?1047l\x1b[?25h\x1b[0m\r\n",
			warning: `killed" was ended: signal: killed; --no-pager shows`},
		{name: "an interrupt", text: long, env: map[string]string{"PAGER": "sh -c 'kill -INT $$'"}, want: "\x1b[?1047l\x1b[?25h\x1b[0m\r\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.env["TERM"] == "" {
				tc.env["TERM"] = "xterm"
			}
			for _, name := range []string{"LESS", "LV"} {
				t.Setenv(name, tc.env[name])
			}
			screen := newTerminal(t)
			before, err := unix.IoctlGetTermios(int(screen.tty.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			var warnings bytes.Buffer
			p := Pager{Off: tc.off, Streams: term.Streams{In: screen.tty, Out: screen.tty, Err: &warnings, Getenv: func(name string) string { return tc.env[name] }}}
			if err := p.Write(tc.text); err != nil {
				t.Error(err)
			}
			after, err := unix.IoctlGetTermios(int(screen.tty.Fd()), unix.TCGETS)
			if err != nil || *before != *after {
				t.Errorf("the terminal's state has changed: %v, %v", after, err)
			}
			if got := screen.seen(); got != tc.want {
				t.Errorf("got %.300q, want %.300q", got, tc.want)
			}
			if got := warnings.String(); !strings.Contains(got, tc.warning) || tc.warning == "" && got != "" {
				t.Errorf("got the warning %q, want %q", got, tc.warning)
			}
		})
	}
}

func TestWriteToFile(t *testing.T) {
	screen := newTerminal(t)
	defer screen.seen()
	long := strings.Repeat("line\n", 20)
	env := func(name string) string { return map[string]string{"PAGER": "false", "TERM": "xterm"}[name] }
	for name, s := range map[string]term.Streams{
		"a file":            {In: screen.tty, Getenv: env},
		"input from a pipe": {In: strings.NewReader(""), Getenv: env},
		"no input":          {Getenv: env},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			s.Out = &b
			p := Pager{Streams: s}
			if err := p.Write(long); err != nil || b.String() != long || p.Usable() {
				t.Errorf("got %q, %v, usable %t", b.String(), err, p.Usable())
			}
			p.Out = screen.tty
			if got := p.Usable(); got != (name == "a file") {
				t.Errorf("to a terminal: got %t", got)
			}
		})
	}
}
