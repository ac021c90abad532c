// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"
)

// source is a text in a file or in memory.
type source struct {
	file *os.File // nil if the text is in memory
	data []byte
	size int64
	// rewritten is set if the text was converted; its line numbers mean nothing to the
	// user.
	rewritten bool
}

// ReadAt implements io.ReaderAt.
func (s *source) ReadAt(p []byte, off int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(p, off)
	}
	if off >= int64(len(s.data)) {
		return 0, io.EOF
	}
	return copy(p, s.data[off:]), nil
}

// errChanged is returned if the file has changed since it was opened: Helm overwrites
// indexes in place.
var errChanged = errors.New("the index was changed while it was read; try again")

// piece returns a range of the text. The bytes must not be changed.
func (s *source) piece(p span) ([]byte, error) {
	if s.file == nil {
		return s.data[p.at:p.end], nil
	}
	buf := make([]byte, p.end-p.at)
	switch n, err := s.file.ReadAt(buf, p.at); {
	case n == len(buf):
		return buf, nil
	case err == io.EOF:
		return nil, errChanged
	default:
		return nil, fmt.Errorf("read the index: %w", err)
	}
}

// line returns the number of the line at position at, or 0 if it is unknown.
func (s *source) line(off int64) int {
	if s.rewritten {
		return 0
	}
	before, err := s.piece(span{0, off})
	if err != nil {
		return 0
	}
	return 1 + bytes.Count(before, []byte("\n"))
}

// unchanging returns b as a string without a copy. b must not be changed afterwards.
func unchanging(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}
