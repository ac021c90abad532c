// SPDX-License-Identifier: Apache-2.0

// Package termtest provides pseudo-terminals for tests of what a program does at a terminal:
//
//	tty, screen := termtest.Open(t, 80, 24)
//	cmd.Stdout = tty
//
// It is for Linux; elsewhere it has no functions.
package termtest
