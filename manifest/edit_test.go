// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"maps"
	"reflect"
	"testing"
)

func TestEditWithoutFinalNewline(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"a key after a scalar", "a: 1\nb: 2", "a: 1"},
		{"a key after an empty line", "a: 1\n\nb: 2", "a: 1\n"},
		{"lines that end as Windows has them", "a: 1\r\nb: 2", "a: 1"},
		{"a block that keeps an empty line", "a: |+\n\nb: 2", "a: |+\n\n"},
		{"a block that keeps the line after its text", "a: |+\n  x\n\nb: 2", "a: |+\n  x\n\n"},
		{"a folded block", "a: >+\n  x\n\n\nb: 2", "a: >+\n  x\n\n\n"},
		{"a block that keeps lines as Windows has them", "a: |+\r\n\r\nb: 2", "a: |+\r\n\r\n"},
		{"a block that keeps one line end", "a: |\n  x\n\nb: 2", "a: |\n  x\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, err := (&Object{Raw: c.raw}).Map()
			if err != nil {
				t.Fatal(err)
			}
			now := maps.Clone(old)
			delete(now, "b")
			got, err := Edit(c.raw, now)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
			if back, err := (&Object{Raw: got}).Map(); err != nil || !reflect.DeepEqual(back, now) {
				t.Errorf("%q reads back as %q, %v, want %q", got, back, err, now)
			}
		})
	}
}
