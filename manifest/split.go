// SPDX-License-Identifier: Apache-2.0

package manifest

import "strings"

// span is the range of a document in its stream.
type span struct{ start, end int }

// Split splits a YAML stream into documents as Helm does: a separator is "---" at the start of
// a line, whatever follows on that line, together with the white space after it. Documents of
// only white space are omitted, as is leading white space of the stream. Trailing white space
// of a document is kept.
func Split(text string) []string {
	spans := split(text)
	docs := make([]string, len(spans))
	for i, s := range spans {
		docs[i] = text[s.start:s.end]
	}
	return docs
}

func split(text string) []span {
	end := len(text)
	start := skipWhite(text, 0, end)
	var out []span
	add := func(from, to int) {
		if from < to && strings.Trim(text[from:to], whiteSpace) != "" {
			out = append(out, span{from, to})
		}
	}
	for pos := start; pos < end; {
		if strings.HasPrefix(text[pos:end], "---") {
			add(start, pos)
			start = skipWhite(text, pos+3, end)
			pos = start
			// The white space of a separator may end in the middle of a line
			// ("--- # comment"): the next separator must be on another line.
			if start < end && text[start-1] == '\n' {
				continue
			}
		}
		nl := strings.IndexByte(text[pos:end], '\n')
		if nl < 0 {
			break
		}
		pos += nl + 1
	}
	add(start, end)
	return out
}

const whiteSpace = " \t\r\n\f\v"

func skipWhite(text string, pos, end int) int {
	for pos < end && strings.IndexByte(whiteSpace, text[pos]) >= 0 {
		pos++
	}
	return pos
}
