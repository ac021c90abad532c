// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	long := strings.Repeat("0123456789\n", 100_000)
	for _, test := range []struct {
		text string
		most int
		want string
		cut  bool
	}{
		{"", 10, "", false},
		{"abc\n", 10, "abc\n", false},
		{"one\ntwo\nthree\n", 10, "three\n", true},
		{"no line ends here", 8, "nds here", true},
		{"caf\xe9\n", 10, "caf\uFFFD\n", false},
		{long, 30, "0123456789\n0123456789\n", true},
	} {
		t.Run(test.text, func(t *testing.T) {
			got, cut, err := tail(strings.NewReader(test.text), test.most)
			if err != nil || got != test.want || cut != test.cut {
				t.Errorf("%.20q: %q, %v, %v", test.text, got, cut, err)
			}
		})
	}
}
