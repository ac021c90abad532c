// SPDX-License-Identifier: Apache-2.0

//go:build unix

package postrender

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program is an executable shell script.
func program(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "render")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProgram(t *testing.T) {
	var out, stderr bytes.Buffer
	p := Program{Path: program(t, `echo "$1" "$2" >&2; sed s/a/b/`), Args: []string{"one two", "3"}}
	if err := p.Run(context.Background(), strings.NewReader("a\n"), &out, &stderr); err != nil || out.String() != "b\n" || stderr.String() != "one two 3\n" {
		t.Errorf("%v, %q, %q", err, &out, &stderr)
	}
	for text, want := range map[string]string{
		"echo no >&2; exit 3": "exit code 3",
		"kill -9 $$":          "killed",
		"exit 0":              "printed nothing", // does not read its input
	} {
		t.Run(text, func(t *testing.T) {
			_, err := Renderer{Name: "p", Runner: Program{Path: program(t, text)}}.Render(context.Background(), rendered(t))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %v, want %q", text, err, want)
			}
		})
	}
	if err := (Program{Path: filepath.Join(t.TempDir(), "nope")}).Run(context.Background(), strings.NewReader(""), &out, &stderr); err == nil {
		t.Error("a program that is not there was run")
	}
}

// Memory and time are limited for any output.
func TestRenderOutputLimit(t *testing.T) {
	r := Renderer{Name: "p", most: 1 << 20, Runner: Program{Path: program(t, "while :; do echo flooooooooooooooooooooooooooood; done")}}
	if _, err := r.Render(context.Background(), rendered(t)); err == nil || !strings.Contains(err.Error(), "more than 1 MiB") {
		t.Errorf("got %v", err)
	}
	r.Runner = Program{Path: program(t, "cat; i=0; while [ $i -lt 20000 ]; do echo remark >&2; i=$((i+1)); done; exit 1")}
	var failed *Error
	if _, err := r.Render(context.Background(), rendered(t)); !errors.As(err, &failed) || len(failed.Stderr) > maxSaid {
		t.Errorf("got %d bytes of error", len(failed.Stderr))
	}
}

func TestProgramCanceled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for _, text := range []string{"sleep 1000", "trap '' TERM; sleep 1000 & wait; sleep 1000", "exec sleep 1000"} {
		t.Run(text, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			began := time.Now()
			_, err := Renderer{Name: "p", Runner: Program{Path: program(t, text)}}.Render(ctx, rendered(t))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%q: got %v", text, err)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%q took %s", text, took)
			}
			cancel()
		})
	}
}
