// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"bytes"
	"hash/maphash"
	"io"
	"slices"
	"sync"
)

// maxShared is the size up to which files are compared with those read before.
// Larger files, of which a chart has few, would only hold a large buffer.
const maxShared = 256 << 10

// contents reads files so that equal ones are held once: an umbrella chart
// over 200 services with a library chart in each holds that library once, not
// 200 times. The zero value is ready; it is safe for concurrent use.
type contents struct {
	mu      sync.Mutex
	seed    maphash.Seed
	byHash  map[uint64][]byte
	scratch sync.Pool
}

// read reads at most size bytes from r. What it returns may be shared with
// other files and must not be changed; its capacity ends where it ends. With
// fewer than size bytes the error is [io.ErrUnexpectedEOF] or, with none,
// [io.EOF], together with what was there.
func (c *contents) read(r io.Reader, size int64) ([]byte, error) {
	if size > maxShared {
		data := make([]byte, size)
		n, err := io.ReadFull(r, data)
		return data[:n:n], err
	}
	buf, _ := c.scratch.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer c.scratch.Put(buf)
	*buf = slices.Grow((*buf)[:0], int(size))
	n, err := io.ReadFull(r, (*buf)[:size])
	return c.shared((*buf)[:n]), err
}

// shared returns a copy of data, the same one for equal data. Of two different
// files with one hash only the first is shared.
func (c *contents) shared(data []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byHash == nil {
		c.seed, c.byHash = maphash.MakeSeed(), map[uint64][]byte{}
	}
	sum := maphash.Bytes(c.seed, data)
	known, ok := c.byHash[sum]
	if ok && bytes.Equal(known, data) {
		return known
	}
	data = append(make([]byte, 0, len(data)), data...)
	if !ok {
		c.byHash[sum] = data
	}
	return data
}
