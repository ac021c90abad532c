// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/clipperhouse/displaywidth"
)

// screen is a terminal that supports exactly the escape sequences of a board; others are errors.
// Lines that scroll off the top are kept in its history. Long lines are wrapped at a resize, as in
// most terminals.
type screen struct {
	t             *testing.T
	mu            sync.Mutex
	columns, rows int
	lines         [][]string // a wide character is followed by an empty cell
	row, column   int
	noWrap        bool
	writes        int
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	text := string(p)
	for text != "" {
		switch {
		case text[0] == '\n':
			s.row, s.column, text = s.row+1, 0, text[1:]
		case text[0] == '\r':
			s.column, text = 0, text[1:]
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexAny(text, "AJKmhl")
			if end < 0 {
				s.t.Fatalf("unknown escape sequence: %q", text)
			}
			s.code(text[2:end], text[end])
			text = text[end+1:]
		default:
			g := displaywidth.StringGraphemes(text)
			g.Next()
			if g.Value()[0] < ' ' {
				s.t.Fatalf("control character: %q", text)
			}
			s.put(g.Value(), g.Width())
			text = text[len(g.Value()):]
		}
	}
	return len(p), nil
}

func (s *screen) code(argument string, letter byte) {
	switch letter {
	case 'A':
		n, err := strconv.Atoi(argument)
		if err != nil {
			s.t.Fatalf("up by %q", argument)
		}
		s.row = max(s.row-n, s.top())
	case 'J':
		s.cut()
		s.lines = s.lines[:min(len(s.lines), s.row+1)]
	case 'K':
		s.cut()
	case 'h', 'l':
		if argument != "?7" {
			s.t.Fatalf("a mode %q", argument)
		}
		s.noWrap = letter == 'l'
	}
}

func (s *screen) line() *[]string {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, nil)
	}
	return &s.lines[s.row]
}

func (s *screen) cut() {
	if l := s.line(); len(*l) > s.column {
		*l = (*l)[:s.column]
	}
}

func (s *screen) put(char string, width int) {
	if s.column+width > s.columns {
		if s.noWrap {
			s.t.Errorf("a table's line is wider than %d columns", s.columns)
			return
		}
		s.row, s.column = s.row+1, 0
	}
	l := s.line()
	for len(*l) < s.column+width {
		*l = append(*l, " ")
	}
	(*l)[s.column] = char
	for i := 1; i < width; i++ {
		(*l)[s.column+i] = ""
	}
	s.column += width
}

// top returns the first line that is not in the history.
func (s *screen) top() int { return max(max(len(s.lines), s.row+1)-s.rows, 0) }

func (s *screen) size() (int, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.columns, s.rows
}

func (s *screen) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// resize changes the width. The cursor stays on its line.
func (s *screen) resize(columns, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines [][]string
	row := 0
	for i, l := range s.lines {
		if i == s.row {
			row = len(lines)
		}
		for len(l) > columns {
			lines, l = append(lines, l[:columns:columns]), l[columns:]
		}
		lines = append(lines, l)
	}
	if s.row >= len(s.lines) {
		row = len(lines) + s.row - len(s.lines)
	}
	s.lines, s.row, s.columns, s.rows = lines, row, columns, rows
}

// String returns the history, the screen and the cursor position.
func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, l := range s.lines {
		b.WriteString(strings.TrimRight(strings.Join(l, ""), " ") + "\n")
	}
	text := strings.TrimRight(b.String(), "\n") + "\n"
	if text == "\n" {
		text = ""
	}
	if s.column != 0 || s.row != strings.Count(text, "\n") {
		text += fmt.Sprintf("[cursor in row %d, column %d]\n", s.row, s.column)
	}
	return text
}
