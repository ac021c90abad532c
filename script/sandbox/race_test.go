// SPDX-License-Identifier: Apache-2.0

//go:build race

package sandbox_test

import "testing"

func boundedOnly(t *testing.T) {
	t.Skip("the race detector takes many times the memory and the time")
}
