// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"io"
	"strings"

	"github.com/moonhelm/moonhelm/internal/term"
)

// maxHanging limits the indentation of a continued line.
const maxHanging = 8

// Screen returns text as w shows it: on a terminal it is folded, and without UTF-8 drawn with ASCII.
func Screen(s term.Streams, w io.Writer, text string) string {
	if !term.IsTerminal(w) {
		return text
	}
	columns, _ := term.Size(w)
	var screen strings.Builder
	fmt.Fprint(s.DrawingWriter(&screen), Fold(text, columns))
	return screen.String()
}

// Fold breaks the lines of text that are wider than columns at spaces. What is continued is
// indented by two columns more than its line. Words that are too long, and quoted lines of logs and
// files, stay whole. The last column is not used.
func Fold(text string, columns int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if width(line) >= columns && !isQuoted(line) {
			lines[i] = foldLine(line, columns-1)
		}
	}
	return strings.Join(lines, "\n")
}

// isQuoted reports whether line is quoted from a log ("| text") or a file ("> 12 | text").
func isQuoted(line string) bool {
	return strings.HasPrefix(strings.TrimLeft(line, " \t>0123456789"), "|")
}

func foldLine(line string, columns int) string {
	own := line[:len(line)-len(strings.TrimLeft(line, " "))]
	hanging := strings.Repeat(" ", min(len(own)+2, maxHanging))
	var out strings.Builder
	out.WriteString(own)
	used, begun := len(own), false
	for word := range strings.SplitSeq(line[len(own):], " ") {
		w := width(word)
		switch {
		case begun && used+1+w > columns:
			out.WriteString("\n" + hanging)
			used = len(hanging)
		case begun:
			out.WriteByte(' ')
			used++
		}
		out.WriteString(word)
		used, begun = used+w, true
	}
	return out.String()
}
