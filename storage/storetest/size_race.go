// SPDX-License-Identifier: Apache-2.0

//go:build race

package storetest

// large is smaller because the race detector is slow.
const large = 3 << 19
