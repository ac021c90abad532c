// SPDX-License-Identifier: Apache-2.0

//go:build race

package storetest

// large is less where the race detector makes everything slow.
const large = 3 << 19
