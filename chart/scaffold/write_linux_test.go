// SPDX-License-Identifier: Apache-2.0

package scaffold_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/moonhelm/moonhelm/chart/scaffold"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

// If the disk becomes full at any point, no partial chart is left.
func TestWriteToAFullDisk(t *testing.T) {
	files, err := scaffold.Chart{Name: "web"}.Files()
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 // pages
	for _, there := range []bool{false, true} {
		t.Run(fmt.Sprintf("the directory is there %v", there), func(t *testing.T) {
			dir := t.TempDir()
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", size*os.Getpagesize()>>10)); err != nil {
				t.Skip("no file system to fill:", err)
			}
			defer unix.Unmount(dir, unix.MNT_DETACH)
			if there {
				filetest.Write(t, dir, map[string]string{"web/values.yaml": "mine: 1\n", "web/templates/own.yaml": "mine"})
			}
			for free := 0; ; free++ {
				if free == size {
					t.Fatal("the chart needs more than the disk has")
				}
				filler := filepath.Join(dir, "filler")
				filetest.Fill(t, filler, free)
				was := held(t, dir)
				_, err := scaffold.Write(filepath.Join(dir, "web"), files)
				if err == nil {
					if free < 5 {
						t.Errorf("written to %d free pages", free)
					}
					return
				}
				if !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("%d free pages: got %v, want ENOSPC", free, err)
				}
				wantHeld(t, dir, was)
				if err := os.Remove(filler); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
