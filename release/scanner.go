// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxValue is the largest size of a value that lists show.
const maxValue = 256 << 10

// errLargeValue is returned for a value that is larger than maxValue. No real release has
// such a value.
var errLargeValue = fmt.Errorf("a value is larger than %d KiB", maxValue>>10)

// scanner reads JSON from a stream. It holds at most one requested value in memory.
type scanner struct{ r *bufio.Reader }

func newScanner(r io.Reader) *scanner { return &scanner{bufio.NewReaderSize(r, 16<<10)} }

// next returns the next byte that is not white space, without consuming it.
func (s *scanner) next() (byte, error) {
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return 0, cutShort(err)
		}
		switch c {
		case ' ', '\n', '\t', '\r':
			continue
		}
		return c, s.r.UnreadByte()
	}
}

func (s *scanner) expect(want byte) error {
	c, err := s.next()
	if err == nil && c != want {
		err = errSyntax
	}
	if err == nil {
		_, err = s.r.Discard(1)
	}
	return err
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// object reads an object and calls fn for each key until fn returns done. fn must read
// the value. A null counts as an empty object.
func (s *scanner) object(fn func(key string) (done bool, err error)) error {
	c, err := s.next()
	if err != nil {
		return err
	}
	if c == 'n' {
		return s.value(new(struct{}))
	}
	if err := s.expect('{'); err != nil {
		return err
	}
	if c, err = s.next(); err != nil {
		return err
	}
	if c == '}' {
		return s.expect('}')
	}
	for {
		var key string
		if c, err = s.next(); err != nil {
			return err
		} else if c != '"' {
			return errSyntax
		}
		if err := s.value(&key); err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		if done, err := fn(key); done || err != nil {
			return err
		}
		if c, err = s.next(); err != nil {
			return err
		}
		if c == '}' {
			return s.expect('}')
		}
		if err := s.expect(','); err != nil {
			return err
		}
	}
}

// value decodes the next value.
func (s *scanner) value(into any) error {
	var text bytes.Buffer
	err := s.writeTo(func(part []byte) error {
		if text.Len()+len(part) > maxValue {
			return errLargeValue
		}
		text.Write(part)
		return nil
	})
	if err != nil {
		return err
	}
	return json.Unmarshal(text.Bytes(), into)
}

// skip skips the next value. Its size and depth do not matter.
func (s *scanner) skip() error {
	return s.writeTo(func([]byte) error { return nil })
}

// writeTo passes the text of the next value to the function to, in chunks. It finds the end
// of the value without validating it.
func (s *scanner) writeTo(to func([]byte) error) error {
	c, err := s.next()
	switch {
	case err != nil:
		return err
	case c == '{', c == '[':
		return s.copyNested(to)
	case c != '"':
		return s.copyScalar(to)
	}
	if err := s.pass(1, to); err != nil {
		return err
	}
	return s.copyString(to)
}

// chunk returns the buffered bytes that have not been consumed, at least one.
func (s *scanner) chunk() ([]byte, error) {
	if _, err := s.r.Peek(1); err != nil {
		return nil, cutShort(err)
	}
	return s.r.Peek(s.r.Buffered())
}

// pass passes the next n bytes of a chunk to the function to and consumes them.
func (s *scanner) pass(n int, to func([]byte) error) error {
	text, err := s.r.Peek(n)
	if err == nil {
		err = to(text)
	}
	if err == nil {
		_, err = s.r.Discard(n)
	}
	return err
}

func (s *scanner) copyNested(to func([]byte) error) error {
	for depth := 0; ; {
		text, err := s.chunk()
		if err != nil {
			return err
		}
		end, quoted := len(text), false
	scan:
		for i, c := range text {
			switch c {
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return s.pass(i+1, to)
				}
			case '"':
				end, quoted = i+1, true
				break scan
			}
		}
		if err := s.pass(end, to); err != nil {
			return err
		}
		if quoted {
			if err := s.copyString(to); err != nil {
				return err
			}
		}
	}
}

func (s *scanner) copyScalar(to func([]byte) error) error {
	for some := false; ; some = true {
		text, err := s.chunk()
		if err != nil {
			return err
		}
		end := bytes.IndexAny(text, ",]}: \n\t\r\"{[")
		if end == 0 && !some {
			return errSyntax
		}
		if end >= 0 {
			return s.pass(end, to)
		}
		if err := s.pass(len(text), to); err != nil {
			return err
		}
	}
}

// copyString copies a string after its opening quote.
func (s *scanner) copyString(to func([]byte) error) error {
	escaped := false
	for {
		part, err := s.r.ReadSlice('"')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return cutShort(err)
		}
		if err := to(part); err != nil {
			return err
		}
		body := part
		if err == nil {
			body = part[:len(part)-1]
		}
		slashes := 0
		for slashes < len(body) && body[len(body)-1-slashes] == '\\' {
			slashes++
		}
		if slashes < len(body) {
			escaped = slashes%2 == 1
		} else {
			escaped = escaped != (slashes%2 == 1)
		}
		if err == nil {
			if !escaped {
				return nil
			}
			escaped = false // the quote
		}
	}
}
