// SPDX-License-Identifier: Apache-2.0

package peertest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	bin, count := filepath.Join(t.TempDir(), "peer"), filepath.Join(t.TempDir(), "count")
	script := "#!/bin/sh\necho x >>" + count + "\ncat \"$1\"/file\necho \"$1\" >&2\nexit 3\n"
	if err := os.WriteFile(bin, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	// run runs the reference in its own directory, and returns the number of starts so far.
	run := func(content string, args ...string) int {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Command{Bin: bin, Args: append([]string{dir}, args...), Reads: []string{dir}}.Run()
		if want := (Answer{content, dir + "\n", 3}); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		text, err := os.ReadFile(count)
		if err != nil {
			t.Fatal(err)
		}
		return len(text) / 2
	}
	steps := []struct {
		name, content string
		args          []string
		off           bool
		starts        int
	}{
		{"the first time", "a", nil, false, 1},
		{"the same in another directory", "a", nil, false, 1},
		{"another content", "b", nil, false, 2},
		{"another argument", "a", []string{"x"}, false, 3},
		{"switched off", "a", nil, true, 4},
		{"the same again", "a", nil, false, 4},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			if s.off {
				t.Setenv("MOONHELM_PEER_ANSWERS", "off")
			}
			if got := run(s.content, s.args...); got != s.starts {
				t.Errorf("started %d times so far, want %d", got, s.starts)
			}
		})
	}
}

func TestRunStartError(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	if _, err := (Command{Bin: filepath.Join(t.TempDir(), "none")}).Run(); err == nil {
		t.Error("Run: no error for a missing binary")
	}
}

func TestOnce(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	bin, file := filepath.Join(t.TempDir(), "peer"), filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(bin, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	runs := 0
	steps := []struct {
		name, content string
		runs          int
		test          func(t *testing.T)
	}{
		{"a test that is skipped", "a", 1, func(t *testing.T) { t.Skip("no cluster") }},
		{"the first time", "a", 2, nil},
		{"the same again", "a", 2, nil},
		{"another file", "b", 3, nil},
	}
	for _, s := range steps {
		if err := os.WriteFile(file, []byte(s.content), 0o644); err != nil {
			t.Fatal(err)
		}
		Once(t, "once", bin, []string{file}, func(t *testing.T) {
			runs++
			if s.test != nil {
				s.test(t)
			}
		})
		if runs != s.runs {
			t.Errorf("%s: run %d times so far, want %d", s.name, runs, s.runs)
		}
	}
}
