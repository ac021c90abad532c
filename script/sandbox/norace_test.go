// SPDX-License-Identifier: Apache-2.0

//go:build !race

package sandbox_test

import "testing"

func boundedOnly(*testing.T) {}
