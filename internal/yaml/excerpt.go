// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"fmt"
	"strconv"
	"strings"
)

// Excerpt returns a line of text and the two lines before and after it, with their numbers and a mark
// on the line. It returns "" for the line 0.
func Excerpt(text string, line int) string {
	if line < 1 {
		return ""
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if line > len(lines) {
		line = len(lines)
	}
	from, to := max(1, line-2), min(len(lines), line+2)
	for to > line && strings.TrimSpace(lines[to-1]) == "" {
		to--
	}
	width := len(strconv.Itoa(to))
	var b strings.Builder
	for n := from; n <= to; n++ {
		mark := "  "
		if n == line {
			mark = "> "
		}
		fmt.Fprintf(&b, "%s%*d | %s\n", mark, width, n, Visible(lines[n-1]))
		if n == line {
			indent := len(lines[n-1]) - len(strings.TrimLeft(lines[n-1], " \t"))
			fmt.Fprintf(&b, "  %*s | %s^\n", width, "", strings.Repeat(" ", indent))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
