// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/moonhelm/moonhelm/internal/file"
)

func TestLimitWriter(t *testing.T) {
	var b bytes.Buffer
	own := errors.New("own")
	w := &file.LimitWriter{W: &b, Left: 5, Err: own}
	if n, err := w.Write([]byte("abc")); n != 3 || err != nil || w.Exceeded {
		t.Errorf("Write within the limit: %d, %v, exceeded %v", n, err, w.Exceeded)
	}
	if n, err := w.Write([]byte("def")); n != 0 || !errors.Is(err, own) || !w.Exceeded {
		t.Errorf("Write beyond the limit: %d, %v, exceeded %v", n, err, w.Exceeded)
	}
	if b.String() != "abc" {
		t.Errorf("passed on: got %q, want %q", b.String(), "abc")
	}
	if _, err := io.Copy(&file.LimitWriter{W: &b}, bytes.NewBufferString("x")); !errors.Is(err, file.ErrTooMuch) {
		t.Errorf("Copy beyond the limit: got %v, want ErrTooMuch", err)
	}
}

func TestHeadWriter(t *testing.T) {
	var b bytes.Buffer
	w := &file.HeadWriter{W: &b, Left: 4}
	for _, s := range []string{"abc", "def", "ghi"} {
		t.Run(s, func(t *testing.T) {
			if n, err := w.Write([]byte(s)); n != 3 || err != nil {
				t.Errorf("Write(%q): %d, %v", s, n, err)
			}
		})
	}
	if got := b.String(); got != "abcd" {
		t.Errorf("passed on: got %q, want abcd", got)
	}
}
