// SPDX-License-Identifier: Apache-2.0

//go:build unix

package pager

import (
	"os"
	"os/signal"
	"syscall"
)

// holdSignals keeps this program alive while the pager runs: a shell that continued would share the
// terminal with the pager. An interrupt from the keyboard reaches the pager anyway; the signals that
// end a program are passed on to it.
func holdSignals(pager *os.Process) (release func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGTERM || s == syscall.SIGHUP {
					_ = pager.Signal(s)
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
