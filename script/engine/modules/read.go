// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bufio"
	"errors"
	"io"
	"strings"

	rt "github.com/arnodel/golua/runtime"
)

// maxNumber is the maximum length of a number that "n" reads.
const maxNumber = 200

// dropRead seeks back over what was read ahead, so that writing and seeking begin where the
// script has read to.
func (f *file) dropRead() error {
	if f.reader == nil || f.file == nil || f.reader.Buffered() == 0 {
		return nil
	}
	_, err := f.file.Seek(-int64(f.reader.Buffered()), io.SeekCurrent)
	f.reader.Reset(f.file)
	return err
}

// read reads by formats, as Lua has them: results up to the first that finds
// nothing, which is nil.
func (c *call) read(f *file, formats []rt.Value) error {
	if f.closed {
		return c.fail("%w", errClosed)
	}
	if f.reader == nil {
		return c.giveError(errors.New(f.name + ": the file is not open for reading"))
	}
	c.spend(50)
	if len(formats) == 0 {
		formats = []rt.Value{rt.StringValue("l")}
	}
	for i, format := range formats {
		v, err := c.readOne(f.reader, format)
		switch {
		case errors.Is(err, io.EOF):
			return c.give(rt.NilValue)
		case errors.Is(err, errFormat):
			return c.wrong(i+1-c.receiver(), "invalid format")
		case err != nil:
			c.results = nil
			return c.giveError(err)
		}
		c.results = append(c.results, v)
	}
	return nil
}

var errFormat = errors.New("invalid format")

// readOne reads by one format; nothing left is io.EOF.
func (c *call) readOne(r *bufio.Reader, format rt.Value) (rt.Value, error) {
	if n, ok := rt.ToIntNoString(format); ok {
		return c.readCount(r, n)
	}
	name, ok := format.TryString()
	if !ok {
		return rt.NilValue, errFormat
	}
	switch strings.TrimPrefix(name, "*") {
	case "l":
		return c.readLine(r, false)
	case "L":
		return c.readLine(r, true)
	case "a":
		text, err := c.readUpTo(r, 1<<62)
		return rt.StringValue(text), err
	case "n":
		return c.readNumber(r)
	}
	return rt.NilValue, errFormat
}

func (c *call) readCount(r *bufio.Reader, n int64) (rt.Value, error) {
	if n <= 0 {
		_, err := r.Peek(1)
		return rt.StringValue(""), err
	}
	text, err := c.readUpTo(r, n)
	if err == nil && text == "" {
		err = io.EOF
	}
	return rt.StringValue(text), err
}

// room charges n bytes that are read, and the copies of the growing text.
func (c *call) room(n int) {
	c.spend(uint64(n)/8 + 1)
	c.keep(uint64(n))
	c.borrow(2 * uint64(n))
}

// readUpTo reads n bytes or what is left, and takes memory only as they arrive.
func (c *call) readUpTo(r *bufio.Reader, n int64) (string, error) {
	var out []byte
	for n > 0 {
		chunk, err := r.Peek(int(min(n, readBuffer)))
		if len(chunk) == 0 {
			if errors.Is(err, io.EOF) {
				break
			}
			return "", err
		}
		c.room(len(chunk))
		out = append(out, chunk...)
		n -= int64(len(chunk))
		if _, err := r.Discard(len(chunk)); err != nil {
			return "", err
		}
	}
	return string(out), nil
}

func (c *call) readLine(r *bufio.Reader, keepEnd bool) (rt.Value, error) {
	var out []byte
	for {
		chunk, err := r.ReadSlice('\n')
		c.room(len(chunk))
		out = append(out, chunk...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(out) > 0, err == nil:
			if !keepEnd && out[len(out)-1] == '\n' {
				out = out[:len(out)-1]
			}
			return rt.StringValue(string(out)), nil
		}
		return rt.NilValue, err
	}
}

// readNumber reads the longest text that may begin a number, and gives nil for
// one that is none.
func (c *call) readNumber(r *bufio.Reader) (rt.Value, error) {
	n := numeral{r: r}
	for n.peek() == ' ' || n.peek() >= '\t' && n.peek() <= '\r' {
		c.spend(1)
		n.skip()
	}
	n.take("+-")
	digits, exponent := "0123456789", "eE"
	if n.take("0") && n.take("xX") {
		digits, exponent = "0123456789abcdefABCDEF", "pP"
	}
	n.takeAll(digits)
	if n.take(".") {
		n.takeAll(digits)
	}
	if n.take(exponent) {
		n.take("+-")
		n.takeAll("0123456789")
	}
	c.spend(uint64(len(n.text)))
	v, kind := rt.ToNumberValue(rt.StringValue(string(n.text)))
	if kind == rt.NaN || len(n.text) >= maxNumber {
		return rt.NilValue, io.EOF
	}
	return v, nil
}

// numeral collects the characters of a number.
type numeral struct {
	r    *bufio.Reader
	text []byte
}

// peek is the next character, 0 at the end.
func (n *numeral) peek() byte {
	b, err := n.r.Peek(1)
	if err != nil {
		return 0
	}
	return b[0]
}

func (n *numeral) skip() { _, _ = n.r.Discard(1) }

func (n *numeral) take(set string) bool {
	b := n.peek()
	if b == 0 || len(n.text) >= maxNumber || strings.IndexByte(set, b) < 0 {
		return false
	}
	n.text = append(n.text, b)
	n.skip()
	return true
}

func (n *numeral) takeAll(set string) {
	for n.take(set) {
	}
}
