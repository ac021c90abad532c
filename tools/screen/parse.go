// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strconv"
	"strings"
)

// A style is how a terminal shows text. The zero value is its default.
type style struct {
	colour    int // 1 to 8: red 2, green 3 and so on; 9 to 16 are the bright ones; 0 is the default
	bold, dim bool
}

// cells are text of one style, from a column on, counted from 0.
type cells struct {
	column int
	style  style
	text   string
}

type line []cells

var escape = regexp.MustCompile(`\x1b\[([0-9;]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?]*[A-Za-z]`)

// parse returns the lines of a screen, without empty ones at its end. A style lasts over line ends, as tmux
// prints it.
func parse(text string) (lines []line) {
	var now style
	for text := range strings.SplitSeq(strings.TrimRight(text, "\n "), "\n") {
		var l line
		column := 0
		add := func(part string) {
			if part = strings.TrimRight(part, "\r"); part != "" {
				l = append(l, cells{column, now, part})
				column += len([]rune(part))
			}
		}
		at := 0
		for _, m := range escape.FindAllStringSubmatchIndex(text, -1) {
			add(text[at:m[0]])
			at = m[1]
			if m[2] >= 0 {
				now = now.with(text[m[2]:m[3]])
			}
		}
		add(text[at:])
		lines = append(lines, l)
	}
	return lines
}

// with returns the style after the parameters of a sequence "select graphic rendition".
func (s style) with(parameters string) style {
	codes := strings.Split(parameters, ";")
	for i := 0; i < len(codes); i++ {
		code, _ := strconv.Atoi(codes[i]) // none is 0
		switch {
		case code == 0:
			s = style{}
		case code == 1:
			s.bold = true
		case code == 2:
			s.dim = true
		case code == 22:
			s.bold, s.dim = false, false
		case code >= 30 && code <= 37:
			s.colour = code - 29
		case code >= 90 && code <= 97:
			s.colour = code - 81
		case code == 39:
			s.colour = 0
		case (code == 38 || code == 48) && i+1 < len(codes): // colours by number are not drawn
			i += map[string]int{"5": 2, "2": 4}[codes[i+1]]
		}
	}
	return s
}
