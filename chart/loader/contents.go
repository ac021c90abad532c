// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"bytes"
	"hash/maphash"
	"io"
	"slices"
	"sync"
)

// maxShared is the size up to which files are deduplicated. Charts have few larger files,
// and reading one through the buffer would keep a buffer of its size.
const maxShared = 256 << 10

// contents reads files and keeps equal ones in memory once: if an umbrella chart has 200
// subcharts with the same library chart in each, the library is in memory once. The zero
// value is ready to use. It is safe for concurrent use.
type contents struct {
	mu      sync.Mutex
	seed    maphash.Seed
	byHash  map[uint64][]byte
	scratch sync.Pool
}

// read reads size bytes from r. The result may be shared with other files, so the caller
// must not modify it; its capacity is its length. If r has fewer bytes, read returns them
// with [io.ErrUnexpectedEOF], or with [io.EOF] if there are none.
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
	return c.intern((*buf)[:n]), err
}

// intern returns a copy of data, and the same copy for equal data. If different data have
// the same hash, only the first is shared.
func (c *contents) intern(data []byte) []byte {
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
