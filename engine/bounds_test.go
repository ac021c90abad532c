// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
)

// What the tables name are functions: a name that is misspelt would bound nothing.
func TestBoundsAreOfFunctions(t *testing.T) {
	m := functions(&Input{})
	for _, b := range bounds {
		for name := range strings.FieldsSeq(b.names) {
			if m[name] == nil {
				t.Errorf("bounds has %q, which is not a function", name)
			}
		}
	}
	for _, r := range rates {
		for name := range strings.FieldsSeq(r.names) {
			if m[name] == nil {
				t.Errorf("rates has %q, which is not a function", name)
			}
		}
	}
}
