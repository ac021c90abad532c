// SPDX-License-Identifier: Apache-2.0

package ui

import "strings"

// maxHanging limits the indentation of a continued line.
const maxHanging = 8

// Fold breaks the lines of text that are wider than columns at spaces. What is continued is
// indented by two columns more than its line. Words that are too long, and lines of logs, which
// begin with "|", stay whole. The last column is not used.
func Fold(text string, columns int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if width(line) >= columns && !strings.HasPrefix(strings.TrimLeft(line, " "), "|") {
			lines[i] = foldLine(line, columns-1)
		}
	}
	return strings.Join(lines, "\n")
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
