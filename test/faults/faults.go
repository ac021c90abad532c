// SPDX-License-Identifier: Apache-2.0

// Package faults tests the binary under faults on a real API server: it kills helm at every
// write, runs eight upgrades of one release concurrently, and interrupts or delays connections.
// Afterwards the next command must succeed without manual repair, and no object may be lost or
// duplicated. The package does not import the code under test.
//
// Each operation first runs undisturbed behind a proxy, the gate, which notes its writes. By default
// an operation is then disturbed at the first write of each kind (see kindOf): the creation of the lock,
// its renewal, the pending record, an object of each kind, a hook and its deletion, each status of a
// record, and so on. A variant of an operation is disturbed only at the kinds that the plain one does
// not have. What is left out by default:
//
//   - further writes of a kind. Heartbeats do not count: further renewals of a lock, patches of a record.
//   - a kill before a write if helm was killed after the preceding one, as both leave the same cluster.
//   - every second point of a transfer between releases (adopt, disown, mv, rename), which another
//     transfer with the same writes has.
//   - every second operation on a bad connection.
//
// MOONHELM_TRANSFERS=1 leaves nothing out of the transfers, and MOONHELM_KILLS=all nothing at all. Set
// them after a change of the order of writes, of locks or of records.
package faults
