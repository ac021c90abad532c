// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestMovable(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := Streams{Getenv: func(string) string { return "xterm" }}
	for _, w := range []any{nil, f, &bytes.Buffer{}} {
		if columns, rows := Size(w); s.Movable(w) || columns != 80 || rows != 24 {
			t.Errorf("%T: %t, %d by %d", w, s.Movable(w), columns, rows)
		}
	}
}
