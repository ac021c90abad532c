// SPDX-License-Identifier: Apache-2.0

package term

import (
	"io"
	"runtime"
	"strings"
)

// UTF8 reports whether the locale's character encoding is UTF-8, by LC_ALL, LC_CTYPE and LANG. As
// in POSIX, the first that is set decides, and none of them means the locale C. Windows has no such
// variables; its console gets UTF-8.
func (s Streams) UTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := s.env(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return runtime.GOOS == "windows"
}

// asciiMarks replaces the characters that helm draws with. Each replacement is as wide.
var asciiMarks = strings.NewReplacer("…", "~", "█", "#", "░", ".", "├", "|", "└", "`", "│", "|", "─", "-", "•", "*",
	"→", ">", "·", ".", "⎈", "*")

// DrawingWriter returns a writer that replaces the characters that helm draws with (bars, branches
// and ellipses) with ASCII, if the locale is not UTF-8. Otherwise it returns w.
func (s Streams) DrawingWriter(w io.Writer) io.Writer {
	if s.UTF8() {
		return w
	}
	return asciiWriter{w}
}

// ScreenWriter is [Streams.DrawingWriter] if w is a terminal. Otherwise it returns w, because files
// must not be altered.
func (s Streams) ScreenWriter(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return s.DrawingWriter(w)
	}
	return w
}

type asciiWriter struct{ w io.Writer }

func (a asciiWriter) Write(p []byte) (int, error) {
	if _, err := asciiMarks.WriteString(a.w, string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
