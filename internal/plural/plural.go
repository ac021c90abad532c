// SPDX-License-Identifier: Apache-2.0

// Package plural counts in messages:
//
//	plural.Count(2, "object") // 2 objects
package plural

import "strconv"

// Count returns n and noun, in the plural if n is not 1. The plural of noun must be noun with an s.
func Count[N ~int | ~int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(int64(n), 10) + " " + noun
}
