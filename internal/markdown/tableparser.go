// SPDX-License-Identifier: Apache-2.0

package markdown

import "strings"

// findTable returns the lines of a paragraph before a table of GitHub's, and the table, which is nil if
// there is none.
func findTable(lines []string) ([]string, *node) {
	for i := 1; i < len(lines); i++ {
		if !isDelimiterRow(lines[i]) {
			continue
		}
		head := splitCells(lines[i-1])
		if len(head) != len(splitCells(lines[i])) {
			continue
		}
		t := &node{kind: table}
		t.add(tableRow(head, len(head)))
		for _, l := range lines[i+1:] {
			t.add(tableRow(splitCells(l), len(head)))
		}
		return lines[:i-1], t
	}
	return lines, nil
}

// isDelimiterRow reports whether a line is the one below a table's header.
func isDelimiterRow(line string) bool {
	line = strings.Trim(line, whitespace)
	if !strings.Contains(line, "|") {
		return false
	}
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	for c := range strings.SplitSeq(line, "|") {
		c = strings.TrimSuffix(strings.TrimPrefix(strings.Trim(c, whitespace), ":"), ":")
		if c == "" || strings.Trim(c, "-") != "" {
			return false
		}
	}
	return true
}

// tableRow returns a row of at most the given number of cells.
func tableRow(cells []string, columns int) *node {
	r := &node{kind: row}
	for _, c := range cells[:min(len(cells), columns)] {
		r.add(&node{kind: cell, text: c})
	}
	return r
}

// splitCells divides a line at the pipes that are not escaped.
func splitCells(line string) []string {
	line = strings.Trim(line, whitespace)
	var out []string
	start := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			if i > 0 {
				out = append(out, strings.Trim(line[start:i], whitespace))
			}
			start = i + 1
		}
	}
	if start < len(line) {
		out = append(out, strings.Trim(line[start:], whitespace))
	}
	return out
}
