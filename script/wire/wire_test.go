// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"reflect"
	"runtime"
	"testing"

	"github.com/moonhelm/moonhelm/script/wire"
)

func TestValuesComeBackAsTheyWere(t *testing.T) {
	for _, v := range []any{
		nil, true, false, int64(0), int64(-1), int64(9007199254740993), int64(math.MinInt64), int64(math.MaxInt64),
		0.5, math.Inf(1), "", "text", "a\x00b", []any{}, map[string]any{},
		wire.Ref{ID: 7}, wire.Ref{ID: 1 << 60, List: true},
		map[string]any{"a": []any{int64(1), 2.0, nil, map[string]any{"": "x"}}},
	} {
		b, err := wire.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.Parse(b)
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%#v came back as %#v, %v", v, got, err)
		}
	}
}

func TestWhatIsNoValueIsNotSent(t *testing.T) {
	if _, err := wire.Append(nil, struct{}{}); err == nil {
		t.Error("sent a struct")
	}
	var deep any
	for range wire.MaxDepth + 2 {
		deep = []any{deep}
	}
	if _, err := wire.Append(nil, deep); !errors.Is(err, wire.ErrDepth) {
		t.Error(err)
	}
}

func TestMessagesTravel(t *testing.T) {
	var stream bytes.Buffer
	c := wire.NewConn(&stream, &stream)
	sent := []wire.Message{
		{Kind: wire.Load, Body: map[string]any{"id": int64(3)}},
		{Kind: wire.Print, Body: map[string]any{"text": string(bytes.Repeat([]byte("x"), 3<<20))}},
		{Kind: wire.Done, Body: map[string]any{}},
	}
	for _, m := range sent {
		if err := c.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range sent {
		if got, err := c.Receive(); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %v", want.Kind, err)
		}
	}
	if _, err := c.Receive(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// A few bytes that claim to be much must not take memory.
func TestClaimsTakeNoMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, text := range []string{
		"\xff\xff\xff\x03\x20\x06",                     // a frame of 64 MiB that is not there
		"\xff\xff\xff\xff\x20",                         // one of 4 GiB
		"\x08\x00\x00\x00\x20\x06\xff\xff\xff\xff\x0f", // a list of 4 G elements
		"\x01\x00\x00\x00\x20",                         // no body
		"\x02\x00\x00\x00\x20\x00",                     // a body that is not a map
		"\x02\x00\x00\x00\xee\x07",                     // no such kind
		"\x05",
	} {
		if _, err := wire.NewConn(bytes.NewReader([]byte(text)), io.Discard).Receive(); err == nil {
			t.Errorf("%q was understood", text)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
		t.Errorf("took %d bytes", took)
	}
}

func FuzzReceive(f *testing.F) {
	for _, m := range []wire.Message{
		{Kind: wire.Load, Body: map[string]any{"id": int64(3)}},
		{Kind: wire.Done, Body: map[string]any{"changes": []any{map[string]any{"id": int64(1), "set": map[string]any{"x": 1.5, "y": wire.Ref{ID: 4}}}}}},
	} {
		var b bytes.Buffer
		if err := wire.NewConn(&b, &b).Send(m); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := wire.NewConn(bytes.NewReader(data), io.Discard).Receive()
		if err != nil {
			return
		}
		var again bytes.Buffer
		c := wire.NewConn(&again, &again)
		if err := c.Send(m); err != nil {
			t.Fatal(err)
		}
		// NaN is not equal to itself: compare what is sent.
		first := bytes.Clone(again.Bytes())
		back, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Send(back); err != nil || !bytes.Equal(first, again.Bytes()) {
			t.Fatalf("%v: %q became %q", err, first, again.Bytes())
		}
	})
}

// A frame of nothing but nulls would take sixteen times its size.
func TestValuesAreCounted(t *testing.T) {
	const n = wire.MaxValues + 1
	b := append([]byte{6}, binary.AppendUvarint(nil, n)...)
	b = append(b, make([]byte, n)...)
	if _, err := wire.Parse(b); !errors.Is(err, wire.ErrTooMany) {
		t.Error(err)
	}
}
