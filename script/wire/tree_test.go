// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/script/wire"
)

func TestNodeDiff(t *testing.T) {
	type (
		m = map[string]any
		l = []any
	)
	for name, tc := range map[string]struct {
		content, now, want any
	}{
		"nothing":            {m{"a": int64(1), "b": l{"x"}}, m{"a": int64(1), "b": l{"x"}}, nil},
		"a key set":          {m{"a": int64(1)}, m{"a": int64(2)}, m{"id": int64(7), "set": m{"a": int64(2)}, "drop": l{}}},
		"an int is no float": {m{"a": int64(1)}, m{"a": 1.0}, m{"id": int64(7), "set": m{"a": 1.0}, "drop": l{}}},
		"a key dropped":      {m{"a": nil, "b": nil}, m{}, m{"id": int64(7), "set": m{}, "drop": l{"a", "b"}}},
		"a Ref moved":        {m{"a": wire.Ref{ID: 1}}, m{"b": wire.Ref{ID: 1}}, m{"id": int64(7), "set": m{"b": wire.Ref{ID: 1}}, "drop": l{"a"}}},
		"a list":             {l{"a"}, l{"b", "a"}, m{"id": int64(7), "list": l{"b", "a"}}},
		"the same list":      {l{wire.Ref{ID: 1}}, l{wire.Ref{ID: 1}}, nil},
		"an empty table":     {l{"a"}, m{}, m{"id": int64(7), "list": l{}}},
		"a list of a map":    {m{}, l{"a"}, "is a map, and cannot become a list"},
		"a map of a list":    {l{}, m{"a": nil}, "is a list, and cannot become a map"},
	} {
		t.Run(name, func(t *testing.T) {
			_, isList := tc.content.([]any)
			n := wire.Node{Ref: wire.Ref{ID: 7, List: isList}, Content: tc.content}
			got, err := n.Diff(tc.now)
			if want, bad := tc.want.(string); bad {
				if err == nil || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
				return
			}
			if err != nil || got == nil && tc.want != nil || got != nil && !reflect.DeepEqual(any(got), tc.want) {
				t.Errorf("got %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

// What one end says about its changes is what the other end has then.
func TestApplyReversesDiff(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	value := func() any {
		return []any{nil, int64(1), 1.0, "x", []any{"y"}, map[string]any{"z": wire.Ref{ID: 3}}, wire.Ref{ID: 2}}[r.IntN(7)]
	}
	table := func() map[string]any {
		m := map[string]any{}
		for range r.IntN(4) {
			m[fmt.Sprint(r.IntN(5))] = value()
		}
		return m
	}
	for range 2000 {
		n := wire.Node{Ref: wire.Ref{ID: 1}, Content: table()}
		now := any(table())
		if r.IntN(2) == 0 {
			n = wire.Node{Ref: wire.Ref{ID: 1, List: true}, Content: []any{value(), value()}}
			now = []any{value()}
		}
		change, err := n.Diff(now)
		if err != nil {
			t.Fatal(err)
		}
		got := n.Content
		if change != nil {
			if got, err = n.Apply(change); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(got, now) {
			t.Fatalf("%v became %v, which is sent as %v and understood as %v", n.Content, now, change, got)
		}
	}
}

func TestSizeStops(t *testing.T) {
	long := make([]any, 1<<20)
	if n := wire.Size(long, 1000, 10); n <= 1000 || n > 2000 {
		t.Errorf("got %d, want little more than 1000", n)
	}
	var deep any = "x"
	for range 20 {
		deep = []any{deep}
	}
	if n := wire.Size(deep, 1<<20, 19); n <= 1<<20 {
		t.Errorf("got %d for what nests too deep", n)
	}
	if n := wire.Size(deep, 1<<20, 20); n > 1000 {
		t.Errorf("got %d, want a small size", n)
	}
	if n := wire.Size(map[string]any{"k": strings.Repeat("x", 5000)}, 1<<20, 2); n < 5000 || n > 6000 {
		t.Errorf("got %d for 5000 bytes", n)
	}
}
