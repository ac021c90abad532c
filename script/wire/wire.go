// SPDX-License-Identifier: Apache-2.0

// Package wire is what helm and the process that runs a chart's scripts say to
// each other: values, messages, and the frames they travel in.
//
// It knows neither charts nor Lua. Both ends treat what arrives as hostile:
// sizes and depths are bounded before memory is taken, and what cannot be
// understood is an error.
//
// # Values
//
// A value is nil (null), bool, int64, float64, string, []any, map[string]any
// or a [Ref], which stands for a map or list that the host keeps and hands out
// when it is asked for it.
//
// # Conversation
//
// One side speaks at a time. The host (helm) sends a request (start, call,
// template, check) and the engine (the scripts' process) answers it with done
// or fail. In between the engine may ask the host any number of questions
// (load, lookup, http, host), each answered with answer or refuse before it
// goes on, and tell it things that need no answer (print, finding).
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"
)

// Ref stands for a map or list that the host keeps. The engine asks for its
// content with a load message. It holds only during the request in which it was
// handed out.
type Ref struct {
	ID   uint64
	List bool
}

// Process runs scripts, and speaks the protocol on its Read and Write. Kill ends it at
// once; it may be called at any time, by several goroutines, and again. Wait returns how
// it ended; an error with a method Exceeded() string names the limit that it ran into.
type Process interface {
	io.Reader
	io.Writer
	Kill() error
	Wait() error
}

// Limits are what one operation's scripts may use in all.
type Limits struct {
	CPU    time.Duration
	Memory int64 // bytes
	Output int64 // bytes that print writes
}

// LineCost is counted against Output for a line that scripts print or report, in addition to its
// text.
const LineCost = 16

// DefaultLimits are those of an operation for which nothing else was said.
func DefaultLimits() Limits {
	return Limits{CPU: 10 * time.Second, Memory: 256 << 20, Output: 1 << 20}
}

// Bounds of what either end accepts.
const (
	// MaxFrame bounds one message.
	MaxFrame = 64 << 20
	// MaxDepth bounds how deep values nest.
	MaxDepth = 200
	// MaxValues bounds how many values one message holds: small ones take much
	// more memory than they take space.
	MaxValues = 2 << 20
)

const (
	tagNull = iota
	tagFalse
	tagTrue
	tagInt
	tagFloat
	tagString
	tagList
	tagMap
	tagRefList
	tagRefMap
)

// Errors of values that do not fit.
var (
	ErrDepth    = fmt.Errorf("values nest deeper than %d levels", MaxDepth)
	ErrTooLarge = fmt.Errorf("a message is larger than %d MiB", MaxFrame>>20)
	ErrTooMany  = fmt.Errorf("a message holds more than %d values", MaxValues)
	ErrGarbled  = errors.New("a message is garbled")
)

// Append adds the encoding of v to b. Maps are written in the order of their
// keys. A type that is not a value is an error.
func Append(b []byte, v any) ([]byte, error) { return appendValue(b, v, 0) }

func appendValue(b []byte, v any, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return b, ErrDepth
	}
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, tagNull), nil
	case bool:
		if v {
			return append(b, tagTrue), nil
		}
		return append(b, tagFalse), nil
	case int64:
		return binary.AppendVarint(append(b, tagInt), v), nil
	case int:
		return binary.AppendVarint(append(b, tagInt), int64(v)), nil
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, tagFloat), math.Float64bits(v)), nil
	case string:
		return appendString(append(b, tagString), v), nil
	case []any:
		b = binary.AppendUvarint(append(b, tagList), uint64(len(v)))
		for _, e := range v {
			if b, err = appendValue(b, e, depth+1); err != nil {
				return b, err
			}
		}
		return b, nil
	case map[string]any:
		b = binary.AppendUvarint(append(b, tagMap), uint64(len(v)))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if b, err = appendValue(appendString(b, k), v[k], depth+1); err != nil {
				return b, err
			}
		}
		return b, nil
	case Ref:
		tag := byte(tagRefMap)
		if v.List {
			tag = tagRefList
		}
		return binary.AppendUvarint(append(b, tag), v.ID), nil
	}
	return b, fmt.Errorf("a %T cannot be sent", v)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Parse reads one value and nothing after it.
func Parse(b []byte) (any, error) {
	d := decoder{b: b, left: MaxValues}
	v := d.value(0)
	if len(d.b) > 0 {
		d.fail(ErrGarbled)
	}
	if d.err != nil {
		return nil, d.err
	}
	return v, nil
}

// decoder reads values. After the first error, which it keeps, there is nothing left to read.
type decoder struct {
	b    []byte
	left int // values that may follow
	err  error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.b = nil
}

// skip goes on after n bytes. Anything but the size of what could be read is an error.
func (d *decoder) skip(n int) {
	if n <= 0 {
		d.fail(ErrGarbled)
		return
	}
	d.b = d.b[n:]
}

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.b)
	d.skip(size)
	return n
}

// count reads how many things follow, each of which takes a byte at least.
func (d *decoder) count() int {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.fail(ErrGarbled)
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.count()
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) value(depth int) any {
	d.left--
	switch {
	case depth > MaxDepth:
		d.fail(ErrDepth)
	case d.left < 0:
		d.fail(ErrTooMany)
	}
	if len(d.b) == 0 {
		d.fail(ErrGarbled)
		return nil
	}
	tag := d.b[0]
	d.b = d.b[1:]
	switch tag {
	case tagNull:
		return nil
	case tagFalse, tagTrue:
		return tag == tagTrue
	case tagInt:
		n, size := binary.Varint(d.b)
		d.skip(size)
		return n
	case tagFloat:
		if len(d.b) >= 8 {
			f := math.Float64frombits(binary.LittleEndian.Uint64(d.b))
			d.skip(8)
			return f
		}
	case tagString:
		return d.text()
	case tagList:
		return d.list(depth)
	case tagMap:
		return d.table(depth)
	case tagRefList, tagRefMap:
		return Ref{ID: d.uvarint(), List: tag == tagRefList}
	}
	d.fail(ErrGarbled)
	return nil
}

func (d *decoder) list(depth int) []any {
	n := d.count()
	out := make([]any, 0, min(n, 4096)) // n is a claim; what is there shows as it is read
	for len(out) < n && d.err == nil {
		out = append(out, d.value(depth+1))
	}
	return out
}

func (d *decoder) table(depth int) map[string]any {
	n := d.count()
	out := make(map[string]any, min(n, 4096))
	for i := 0; i < n && d.err == nil; i++ {
		k := d.text()
		out[k] = d.value(depth + 1)
	}
	if len(out) != n {
		d.fail(ErrGarbled) // a key twice
	}
	return out
}

// Message is one thing said. What Body holds is told by the kind.
type Message struct {
	Kind Kind
	Body map[string]any
}

// Conn carries messages over a stream. One goroutine reads, one writes.
type Conn struct {
	r   io.Reader
	w   io.Writer
	buf []byte
}

// NewConn makes a Conn over two streams. r should be buffered.
func NewConn(r io.Reader, w io.Writer) *Conn { return &Conn{r: r, w: w} }

// Send writes m.
func (c *Conn) Send(m Message) error {
	b, err := Append(append(c.buf[:0], 0, 0, 0, 0, byte(m.Kind)), m.Body)
	if err != nil {
		return fmt.Errorf("%s message: %w", m.Kind, err)
	}
	if len(b)-4 > MaxFrame {
		return fmt.Errorf("%s message: %w", m.Kind, ErrTooLarge)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	if cap(b) <= 1<<20 {
		c.buf = b
	}
	_, err = c.w.Write(b)
	return err
}

// Receive reads the next message. The end of the stream between two messages
// is [io.EOF].
func (c *Conn) Receive() (Message, error) {
	var head [5]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = ErrGarbled
		}
		return Message{}, err
	}
	size := binary.LittleEndian.Uint32(head[:4])
	if size < 1 || size > MaxFrame {
		return Message{}, ErrGarbled
	}
	body, err := readBody(c.r, int(size)-1)
	if err != nil {
		return Message{}, err
	}
	m := Message{Kind: Kind(head[4])}
	if m.Kind == 0 || m.Kind > last {
		return Message{}, ErrGarbled
	}
	v, err := Parse(body)
	if err != nil {
		return Message{}, err
	}
	table, ok := v.(map[string]any)
	if !ok {
		return Message{}, ErrGarbled
	}
	m.Body = table
	return m, nil
}

// readBody reads n bytes, taking memory only as they arrive.
func readBody(r io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	body := make([]byte, min(n, step))
	for at := 0; ; {
		if _, err := io.ReadFull(r, body[at:]); err != nil {
			return nil, ErrGarbled
		}
		if at = len(body); at == n {
			return body, nil
		}
		body = append(body, make([]byte, min(n-at, max(step, at)))...)
	}
}
