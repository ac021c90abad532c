// SPDX-License-Identifier: Apache-2.0

//go:build !race

package storetest

// large is how many bytes of a chart that cannot be compressed a driver must
// keep.
const large = 5 << 20
