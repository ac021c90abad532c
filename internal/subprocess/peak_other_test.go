// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package subprocess_test

// watchPeak is not supported.
func watchPeak(*conversation) func() int64 { return func() int64 { return 0 } }
