// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
)

func TestFunctionLimitsNameFunctionsOnce(t *testing.T) {
	m, seen := functions(&Input{}), map[string]bool{}
	for _, row := range functionLimits {
		for name := range strings.FieldsSeq(row.names) {
			if m[name] == nil {
				t.Errorf("%q is not a function", name)
			}
			if seen[name] {
				t.Errorf("%s has two rows, and the second replaces the first", name)
			}
			seen[name] = true
		}
	}
}
