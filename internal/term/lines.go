// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bufio"
	"io"
	"os"

	"golang.org/x/term"
)

// LineReader reads lines that a user types, with a history and completion, or the lines of a
// pipe.
type LineReader struct {
	streams Streams
	editor  *term.Terminal
	lines   *bufio.Reader
}

// NewLineReader returns a reader of s.In. complete returns the texts that the last word before
// the cursor may become; it may be nil.
func NewLineReader(s Streams, complete func(line string) (word string, candidates []string)) *LineReader {
	r := &LineReader{streams: s}
	if !IsTerminal(s.In) || !IsTerminal(s.Out) {
		r.lines = bufio.NewReader(s.In)
		return r
	}
	r.editor = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{s.In, s.Out}, "")
	if complete != nil {
		r.editor.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
			if key != '\t' {
				return "", 0, false
			}
			word, candidates := complete(line[:pos])
			end := commonStart(candidates)
			if len(end) <= len(word) {
				return line, pos, true
			}
			whole := line[:pos-len(word)] + end
			return whole + line[pos:], len(whole), true
		}
	}
	return r
}

// commonStart returns what all texts begin with.
func commonStart(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	start := texts[0]
	for _, t := range texts[1:] {
		n := 0
		for n < len(start) && n < len(t) && start[n] == t[n] {
			n++
		}
		start = start[:n]
	}
	return start
}

// Interactive reports whether a user types the lines.
func (r *LineReader) Interactive() bool { return r.editor != nil }

// maxTyped is the longest line of a pipe.
const maxTyped = 1 << 20

// ReadLine returns the next line without its end. At a terminal it shows the prompt. The error
// is [io.EOF] at the end of the input, and when the user interrupts.
func (r *LineReader) ReadLine(prompt string) (string, error) {
	if r.editor == nil {
		var line []byte
		for {
			part, more, err := r.lines.ReadLine()
			if err != nil {
				return "", err
			}
			if line = append(line, part...); len(line) > maxTyped {
				return "", bufio.ErrTooLong
			}
			if !more {
				return string(line), nil
			}
		}
	}
	in := int(r.streams.In.(*os.File).Fd())
	state, err := term.MakeRaw(in)
	if err != nil {
		return "", err
	}
	defer term.Restore(in, state) //nolint:errcheck // there is nothing that could be done about it
	if width, height, err := term.GetSize(in); err == nil && width > 0 {
		_ = r.editor.SetSize(width, height)
	}
	r.editor.SetPrompt(prompt)
	return r.editor.ReadLine()
}
