// SPDX-License-Identifier: Apache-2.0

package readme

import (
	"strings"

	"github.com/moonhelm/moonhelm/internal/lazy"
)

// comment is a description of a value in values.yaml.
type comment struct {
	text     string
	typ      string // "# -- (type) text"
	fallback string // "# @default -- text", for the value's default
	section  string // "# @section -- name"
	notation string // "# @notationType -- name"
}

// raw marks a comment whose lines stay lines, and ignored a value that is left out: "@ignore" or
// "@ignored".
const (
	raw     = "# @raw"
	ignored = "@ignore"
)

var (
	pathComment = lazy.Regexp(`^\s*#\s*(.*)\s+--\s*(.*)$`)
	typeComment = lazy.Regexp(`^\((.*?)\)\s*(.*)$`)
)

// start is the beginning of a comment about the value below it.
const start = "# --"

// above parses the comment directly above a value. The last line that begins with "# --" begins
// the description.
func above(head string) comment {
	lines := strings.Split(head, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		text, ok := strings.CutPrefix(lines[i], start)
		if !ok {
			continue
		}
		if strings.Contains(text, " -- ") || strings.HasSuffix(text, " --") {
			return comment{} // the same as in helm-docs: its path is "-- " and what follows
		}
		return parse(strings.TrimLeft(text, " \t"), lines[i+1:])
	}
	return comment{}
}

// parse parses a comment from the first line of its text and the lines after it.
func parse(first string, rest []string) comment {
	var c comment
	if m := typeComment().FindStringSubmatch(first); m != nil {
		c.typ, first = m[1], m[2]
	}
	text, separator := []string{first}, " "
	for _, l := range rest {
		l = strings.TrimLeft(l, " \t")
		switch {
		case strings.HasPrefix(l, raw):
			separator = "\n"
		case !strings.HasPrefix(l, "#"): // empty lines between a comment and its value
		case set(&c.fallback, l, "# @default -- "), set(&c.section, l, "# @section -- "),
			set(&c.notation, l, "# @notationType -- "):
		default:
			text = append(text, strings.TrimPrefix(strings.TrimPrefix(l, "#"), " "))
		}
	}
	c.text = strings.Join(text, separator)
	return c
}

// set sets field to what follows prefix in the line.
func set(field *string, line, prefix string) bool {
	value, ok := strings.CutPrefix(line, prefix)
	if ok {
		*field = value
	}
	return ok
}

// byPath parses the comments that name the value they are about, "# a.b -- text", which may be
// anywhere in the file.
func byPath(lines []string) map[string]comment {
	out := map[string]comment{}
	for i := 0; i < len(lines); i++ {
		m := pathComment().FindStringSubmatch(lines[i])
		if m == nil || m[1] == "" || strings.HasPrefix(m[1], "-- ") {
			continue
		}
		first := i + 1
		for i+1 < len(lines) && strings.HasPrefix(strings.TrimLeft(lines[i+1], " \t"), "#") {
			i++
		}
		out[m[1]] = parse(m[2], lines[first:i+1])
	}
	return out
}
