// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"testing"
)

// golua's parser panics at an empty one.
func TestEmptyLongStrings(t *testing.T) {
	for _, expression := range []string{"[[]]", "[==[]==]", "[[\n]]", "[[\r\n]]", "([[]]):upper()", "string.upper[[]]"} {
		t.Run(expression, func(t *testing.T) {
			started(t, alone(fmt.Sprintf(`
local got = %s
assert(got == "", "got " .. got)`, expression)))
		})
	}
	started(t, alone(`assert([[]=]] == "]=" and [=[[]]=] == "[]")`))
}
