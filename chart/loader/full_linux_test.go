// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

// A file is written completely or not at all if the disk becomes full at any point.
func TestFullDisk(t *testing.T) {
	c, err := LoadFiles([]*chart.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: chart\nversion: 1.0.0\n")}, {Name: "data.bin",
			Data: noise()},
	})
	if err != nil {
		t.Fatal(err)
	}
	big := new(bytes.Buffer)
	if err := Write(big, c, Options{}); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func(dir string) error{
		"package": func(dir string) error { _, err := Save(c, dir, Options{}); return err },
		"unpack": func(dir string) error {
			_, err := Expand(filepath.Join(dir, "out"), bytes.NewReader(big.Bytes()))
			return err
		},
		"put": func(dir string) error { _, err := Put(dir, "x.tgz", bytes.NewReader(big.Bytes())); return err },
		"dependencies": func(dir string) error {
			f := &Directory{Path: filepath.Join(dir, "chart")}
			return f.replace(context.Background(), replacement{
				put: []NewArchive{newArchive(t, "charts", "dep", "1.0.0"), {
					File: "chart-1.0.0.tgz", Open: func() (io.ReadCloser,
						error) {
						return io.NopCloser(bytes.NewReader(big.Bytes())), nil
					}}},
				lockName: "Chart.lock", lock: []byte("digest: x\n"),
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			const size = 128 // pages
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", size*os.Getpagesize()>>10)); err != nil {
				t.Skip("no file system to fill:", err)
			}
			defer unix.Unmount(dir, unix.MNT_DETACH)
			filetest.Write(t, dir, map[string]string{"chart/Chart.yaml": "name: chart\n", "chart/charts/old.txt": "mine", "out/own.txt": "mine"})
			for free := 0; free < size; free++ {
				filetest.Fill(t, filepath.Join(dir, "filler"), free)
				was := listing(t, dir)
				err := do(dir)
				if err == nil {
					return
				}
				if !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("%d free pages: got %v, want ENOSPC", free, err)
				}
				if got := listing(t, dir); got != was {
					t.Errorf("%d free pages: got\n%swas\n%s", free, got, was)
				}
				if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
					t.Fatal(err)
				}
			}
			t.Error("it needs more than the disk has")
		})
	}
}

// noise returns an incompressible file.
func noise() []byte {
	out := make([]byte, 40<<10)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// listing returns the files in dir with their sizes.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			fmt.Fprintln(&b, path, info.Size())
		} else {
			fmt.Fprintln(&b, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
