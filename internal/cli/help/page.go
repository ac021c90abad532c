// SPDX-License-Identifier: Apache-2.0

package help

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
)

const (
	// plainWidth is the width of prose that is not for a terminal.
	plainWidth = 80
	// proseWidth is the width of the widest prose: longer lines are hard to read.
	proseWidth = 100
	// flagWidth is the width of the widest lines of flags, names included.
	flagWidth = 120
	// leastWidth is the width at which lines are no longer broken.
	leastWidth = 30
)

// page is a help text that is being written.
type page struct {
	out   *bytes.Buffer
	width int // of the terminal, or 0: then a flag or command takes one line, for programs that search for it
	style term.Style
}

// width returns the width of the terminal w, or 0 if it is none.
func width(w io.Writer) int {
	if !term.IsTerminal(w) {
		return 0
	}
	return max(term.Width(w), leastWidth)
}

func (p *page) heading(title string) { fmt.Fprintln(p.out, p.style.Bold(title+":")) }

// println writes a line. Texts of plugins are untrusted: control characters do not reach a terminal.
func (p *page) println(line string) {
	if p.width > 0 {
		line = term.Safe(line)
	}
	fmt.Fprintln(p.out, line)
}

// prose returns the width of prose.
func (p *page) prose() int {
	if p.width == 0 {
		return plainWidth
	}
	return min(p.width, proseWidth)
}

// text writes paragraphs, which are wrapped, and indented lines, which stay as they are where
// they fit.
func (p *page) text(text string) {
	var paragraph []string
	end := func() {
		if paragraph != nil {
			p.paragraph(strings.Join(paragraph, " "))
		}
		paragraph = nil
	}
	for _, line := range p.joined(text) {
		switch {
		case line == "":
			end()
			p.println("")
		case line[0] == ' ':
			end()
			p.indented(line)
		default:
			paragraph = append(paragraph, line)
		}
	}
	end()
}

// joined returns the lines of text. On a terminal, a line that goes on below the second column of a
// list is joined with the one before.
func (p *page) joined(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		below := strings.TrimLeft(line, " ")
		if n := len(lines); n > 0 && p.width > 0 && below != line {
			if _, text, ok := columns(lines[n-1]); ok && len(lines[n-1])-len(text) == len(line)-len(below) {
				lines[n-1] += " " + below
				continue
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// columns splits an indented line at its first gap of two blanks, and reports whether it has one.
func columns(line string) (name, text string, ok bool) {
	blanks := len(line) - len(strings.TrimLeft(line, " "))
	gap := strings.Index(line[blanks:], "  ")
	if gap < 0 || blanks == 0 {
		return "", "", false
	}
	return line[:blanks+gap], strings.TrimLeft(line[blanks+gap:], " "), true
}

// paragraph writes text in lines of the width of prose.
func (p *page) paragraph(text string) {
	for _, line := range fill(text, p.prose()) {
		p.println(line)
	}
}

// indented writes a line of a list or an example. Where it does not fit, the second column goes on
// below itself.
func (p *page) indented(line string) {
	name, text, ok := columns(line)
	if !ok || p.width == 0 || displaywidth.String(line) <= p.width {
		p.println(line)
		return
	}
	p.entry(name, text, len(line)-len(text), p.width)
}

// entry writes name, and text in a column beside it, or below it where the column is too narrow.
func (p *page) entry(name, text string, column, width int) {
	const least = 24
	if width > 0 && width-column < least {
		column = 8
	}
	lines := []string{text}
	if width > 0 {
		lines = fill(text, width-column)
	}
	if displaywidth.String(name)+2 > column {
		p.println(name)
		name = ""
	}
	for _, line := range lines {
		blanks := strings.Repeat(" ", column-displaywidth.String(name))
		p.println(strings.TrimRight(name+blanks+line, " "))
		name = ""
	}
}

// table writes names and what they are.
func (p *page) table(rows [][2]string) {
	column := 0
	for _, r := range rows {
		column = max(column, displaywidth.String(r[0]))
	}
	for _, r := range rows {
		p.entry("  "+r[0], r[1], column+4, min(p.width, proseWidth))
	}
}

// groups writes groups of flags, with all names in one column.
func (p *page) groups(groups []cmdutil.FlagGroup) {
	longest := 0
	for _, g := range groups {
		for _, f := range g.Flags {
			longest = max(longest, displaywidth.String(flagName(f)))
		}
	}
	for _, g := range groups {
		p.println("")
		p.heading(g.Title)
		p.flags(g.Flags, p.limitNames(longest))
	}
}

// limitNames returns the width of the column of flags of which the longest name is given. On a
// terminal, names do not take the place of what they mean.
func (p *page) limitNames(longest int) int {
	if p.width == 0 {
		return longest
	}
	return min(longest, 36, min(p.width, flagWidth)*2/5)
}

// flags writes flags with their names in a column of the given width.
func (p *page) flags(flags []*pflag.Flag, names int) {
	for _, f := range flags {
		_, usage := cmdutil.ValueName(f)
		if d := defaultValue(f); d != "" {
			usage += " (default " + d + ")"
		}
		p.entry(flagName(f), usage, names+3, min(p.width, flagWidth))
	}
}

// flagName returns a flag as it is typed: "  -f, --values string".
func flagName(f *pflag.Flag) string {
	name := "      --" + f.Name
	if f.Shorthand != "" && f.ShorthandDeprecated == "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	switch value, _ := cmdutil.ValueName(f); {
	case value == "":
	case f.NoOptDefVal != "":
		name += "[=" + value + "]"
	default:
		name += " " + value
	}
	return name
}

// defaultValue returns the default of a flag, or "" if there is none to be told.
func defaultValue(f *pflag.Flag) string {
	if slices.Contains([]string{"", "0", "0s", "false", "[]", "<nil>"}, f.DefValue) {
		return ""
	}
	if f.Value.Type() == "string" {
		return strconv.Quote(f.DefValue)
	}
	return f.DefValue
}

// examples writes command lines. One that does not fit goes on in the next line, as a shell has it.
func (p *page) examples(text string) {
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		line = strings.TrimRight(line, " \t\r\n")
		switch comment, is := strings.CutPrefix(line, "  # "); {
		case line == "":
			p.println("")
		case is:
			p.comment(comment)
		default:
			p.code(strings.TrimPrefix(line, "  "))
		}
	}
}

func (p *page) comment(text string) {
	lines := []string{text}
	if p.width > 0 {
		lines = fill(text, p.prose()-len("  # "))
	}
	for _, line := range lines {
		fmt.Fprintln(p.out, "  "+p.style.Dim("# "+term.SafeLine(line)))
	}
}

// code writes a command line.
func (p *page) code(line string) {
	const indent, more = "  ", "      "
	if p.width == 0 {
		p.println(indent + line)
		return
	}
	prefix := indent
	for displaywidth.String(prefix+line) > p.width {
		at := breakCommand(line, p.width-len(prefix)-2)
		if at < 0 {
			break
		}
		p.println(prefix + line[:at] + ` \`)
		line, prefix = line[at+1:], more
	}
	p.println(prefix + line)
}

// breakCommand returns the place of the last blank outside of quotes in the first most bytes of a
// command line, or -1.
func breakCommand(line string, most int) int {
	at, quote := -1, byte(0)
	for i := 0; i < len(line) && i <= most; i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ' ' && i > 0 && line[i-1] != ' ':
			at = i
		}
	}
	return at
}

// fill breaks text into lines of a width. A longer word is a line of its own.
func fill(text string, width int) []string {
	var lines []string
	var line strings.Builder
	used := 0
	for word := range strings.FieldsSeq(text) {
		w := displaywidth.String(word)
		if used > 0 && used+1+w > width {
			lines = append(lines, line.String())
			line.Reset()
			used = 0
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		line.WriteString(word)
		used += w
	}
	return append(lines, line.String())
}
