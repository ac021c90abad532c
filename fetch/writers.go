// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"io"
)

// archiveOnly passes on what begins like a gzipped archive, and refuses all else
// before any of it is written: what servers answer often is a page for people.
type archiveOnly struct {
	w    io.Writer
	url  string
	head []byte
	sure bool
}

const headLen = 512

func (a *archiveOnly) Write(p []byte) (int, error) {
	if a.sure {
		return a.w.Write(p)
	}
	if a.head = append(a.head, p...); len(a.head) < headLen {
		return len(p), nil
	}
	if err := a.end(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// end decides on content that is over.
func (a *archiveOnly) end() error {
	if a.sure {
		return nil
	}
	if !bytes.HasPrefix(a.head, []byte{0x1f, 0x8b}) {
		return &NotArchiveError{URL: a.url, Empty: len(a.head) == 0, Page: isPage(a.head)}
	}
	a.sure = true
	_, err := a.w.Write(a.head)
	return err
}

// isPage reports whether text begins like HTML.
func isPage(head []byte) bool {
	head = bytes.ToLower(bytes.TrimSpace(head))
	return bytes.HasPrefix(head, []byte("<!doctype")) || bytes.HasPrefix(head, []byte("<html"))
}
