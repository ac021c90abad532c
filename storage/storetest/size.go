// SPDX-License-Identifier: Apache-2.0

//go:build !race

package storetest

// large is the size in bytes of incompressible data that a driver must be able to store.
const large = 5 << 20
