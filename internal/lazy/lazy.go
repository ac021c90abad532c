// SPDX-License-Identifier: Apache-2.0

// Package lazy makes values when they are first needed. Compiled at package level, the regular expressions
// of all packages would take a part of the start of every command.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the regular expression expr, which it compiles when it is first
// called. The function may be called concurrently, and panics if expr is not valid.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
