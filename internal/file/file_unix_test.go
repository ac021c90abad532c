// SPDX-License-Identifier: Apache-2.0

//go:build unix

package file

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// special contains a file of each kind, by its name in a KindError.
func special(t *testing.T) map[string]string {
	t.Helper()
	dir, err := os.MkdirTemp("", "f") // the path of a socket is limited in length
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	pipe, socket, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	return map[string]string{pipe: "a named pipe", link: "a named pipe", socket: "a socket", dir: "a directory", "/dev/zero": "a device"}
}

func TestOpenRejectsIrregularFiles(t *testing.T) {
	for path, want := range special(t) {
		t.Run(want, func(t *testing.T) {
			for name, open := range map[string]func() error{
				"Open":     func() error { _, err := Open(path); return err },
				"OpenFile": func() error { _, err := OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); return err },
				"Read":     func() error { _, err := Read(path, 1); return err },
			} {
				err := open()
				var kind *KindError
				var at *fs.PathError
				if !errors.As(err, &kind) || !errors.As(err, &at) || at.Path != path || !strings.HasSuffix(err.Error(), "this is "+want) {
					t.Errorf("%s: got %v, want an error about %s", name, err, want)
				}
			}
		})
	}
}

func TestReadInputPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(pipe, []byte("a: 1\n"), 0) }()
	got, err := ReadInput(t.Context(), pipe, 100)
	if err != nil || string(got) != "a: 1\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestReadInputContext(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadInput(ctx, pipe, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("a pipe without a writer: got %v, want %v", err, context.Canceled)
	}
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // unblocks the remaining reader
	if err == nil {
		f.Close()
	}
}

func TestReadInputLimit(t *testing.T) {
	var size *SizeError
	if _, err := ReadInput(t.Context(), "/dev/zero", 1<<20); !errors.As(err, &size) || size.Limit != 1<<20 {
		t.Errorf("got %v, want a *SizeError", err)
	}
}
