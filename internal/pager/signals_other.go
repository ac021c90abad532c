// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package pager

import (
	"os"
	"os/signal"
)

// holdSignals keeps this program alive while the pager runs, which has the interrupts.
func holdSignals(*os.Process) (release func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	return func() { signal.Stop(signals) }
}
