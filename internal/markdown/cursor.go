// SPDX-License-Identifier: Apache-2.0

package markdown

import "strings"

// tabStop is the distance of tab stops in columns.
const tabStop = 4

// cursor is a position in a line. It may be within a tab.
type cursor struct {
	line    string
	pos     int
	column  int
	partial bool // a part of the tab at pos is after the cursor
}

// indent returns the columns of white space from the cursor.
func (c *cursor) indent() int {
	column := c.column
	for _, b := range []byte(c.line[c.pos:]) {
		switch b {
		case ' ':
			column++
		case '\t':
			column += tabStop - column%tabStop
		default:
			return column - c.column
		}
	}
	return column - c.column
}

// skip moves the cursor over at most n columns of white space.
func (c *cursor) skip(n int) {
	for n > 0 && c.pos < len(c.line) {
		wide := 1
		switch c.line[c.pos] {
		case ' ':
		case '\t':
			wide = tabStop - c.column%tabStop
		default:
			return
		}
		if wide > n {
			c.column, c.partial = c.column+n, true
			return
		}
		n -= wide
		c.pos, c.column, c.partial = c.pos+1, c.column+wide, false
	}
}

// advance moves the cursor over n bytes that are not white space.
func (c *cursor) advance(n int) {
	c.pos, c.column, c.partial = c.pos+n, c.column+n, false
}

// rest returns the line from the cursor.
func (c *cursor) rest() string {
	if c.partial {
		return strings.Repeat(" ", tabStop-c.column%tabStop) + c.line[c.pos+1:]
	}
	return c.line[c.pos:]
}

// isBlank reports whether only white space follows.
func (c *cursor) isBlank() bool { return isBlank(c.line[c.pos:]) }

// whitespace are the characters that CommonMark calls white space in a line.
const whitespace = " \t\v\f\r"

func isBlank(s string) bool { return strings.Trim(s, whitespace) == "" }
