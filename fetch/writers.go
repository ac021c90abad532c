// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"io"
)

// archiveOnly passes on content that starts like a gzip file, and rejects other content
// before writing any of it. Servers often respond with a web page instead.
type archiveOnly struct {
	w       io.Writer
	url     string
	head    []byte
	checked bool
}

const headLen = 512

func (a *archiveOnly) Write(p []byte) (int, error) {
	if a.checked {
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

// end checks content shorter than headLen. It must be called at the end.
func (a *archiveOnly) end() error {
	if a.checked {
		return nil
	}
	if !bytes.HasPrefix(a.head, []byte{0x1f, 0x8b}) {
		return &NotArchiveError{URL: a.url, Empty: len(a.head) == 0, Page: isPage(a.head)}
	}
	a.checked = true
	_, err := a.w.Write(a.head)
	return err
}

// isPage reports whether content starts like HTML.
func isPage(head []byte) bool {
	head = bytes.ToLower(bytes.TrimSpace(head))
	return bytes.HasPrefix(head, []byte("<!doctype")) || bytes.HasPrefix(head, []byte("<html"))
}
