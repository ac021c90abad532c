// SPDX-License-Identifier: Apache-2.0

// Package faults does to our binary what the world does: it kills it at every
// write, lets eight of it loose on one release, and cuts, slows and spoils its
// connection to a real API server. Afterwards the next command must succeed,
// with no manual step, and nothing may be lost or doubled. It knows nothing of
// the code inside; it runs the program.
package faults
