// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/clipperhouse/displaywidth"
)

func TestUTF8(t *testing.T) {
	for _, test := range []struct {
		name string
		env  map[string]string
		want bool
	}{
		{"LANG", map[string]string{"LANG": "en_US.UTF-8"}, true},
		{"the other spelling", map[string]string{"LANG": "C.utf8"}, true},
		{"LC_ALL is stronger", map[string]string{"LC_ALL": "C", "LC_CTYPE": "C.UTF-8", "LANG": "C.UTF-8"}, false},
		{"LC_CTYPE is stronger than LANG", map[string]string{"LC_CTYPE": "C.UTF-8", "LANG": "C"}, true},
		{"an empty variable does not count", map[string]string{"LC_ALL": "", "LANG": "de_DE.UTF-8"}, true},
		{"another encoding", map[string]string{"LANG": "de_DE.ISO-8859-1"}, false},
		{"none", nil, runtime.GOOS == "windows"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := Streams{Getenv: func(k string) string { return test.env[k] }}
			if got := s.UTF8(); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestDrawingWriter(t *testing.T) {
	var b bytes.Buffer
	locale := func(v string) Streams { return Streams{Getenv: func(string) string { return v }} }
	if w := locale("C").ScreenWriter(&b); w != io.Writer(&b) {
		t.Errorf("a pipe: got %T, want the same writer", w)
	}
	if w := locale("C.UTF-8").DrawingWriter(&b); w != io.Writer(&b) {
		t.Errorf("UTF-8: got %T, want the same writer", w)
	}
	const text = "├─ web… █░ │ └ • → · ⎈ 猫"
	n, err := locale("C").DrawingWriter(&b).Write([]byte(text))
	if want := "|- web~ #. | ` * > . * 猫"; n != len(text) || err != nil || b.String() != want {
		t.Errorf("got %d, %v, %q, want %q", n, err, b.String(), want)
	}
	if got, want := displaywidth.String(b.String()), displaywidth.String(text); got != want {
		t.Errorf("%d columns, want %d", got, want)
	}
	if _, err := (asciiWriter{broken{}}).Write([]byte("a")); err == nil {
		t.Error("Write: no error")
	}
}
