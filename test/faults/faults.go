// SPDX-License-Identifier: Apache-2.0

// Package faults tests the binary under faults on a real API server: it kills helm at every
// write, runs eight upgrades of one release concurrently, and interrupts or delays connections.
// Afterwards the next command must succeed without manual repair, and no object may be lost or
// duplicated. The package does not import the code under test.
package faults
