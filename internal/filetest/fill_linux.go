// SPDX-License-Identifier: Apache-2.0

package filetest

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"
)

// Fill creates a file that leaves the given number of pages free in its file system.
func Fill(t *testing.T, name string, free int) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := bytes.Repeat([]byte("x"), os.Getpagesize())
	n := int64(0)
	for {
		if _, err := f.Write(page); errors.Is(err, syscall.ENOSPC) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if err := f.Truncate((n - int64(free)) * int64(len(page))); err != nil {
		t.Fatal(err)
	}
}
