// SPDX-License-Identifier: Apache-2.0

// Package compat compares our binary with Helm's: the output for real charts, and releases that
// one of them creates and the other reads, lists, changes and uninstalls. The package runs the
// programs and does not import the code under test.
package compat
