// SPDX-License-Identifier: Apache-2.0

// Package subprocess turns the program that imports it into the worker for charts' scripts if it
// has been started as such: see [worker.Main]. It is imported for its side effect, by the command
// and by tests that run scripts with their own binary.
package subprocess

import "github.com/moonhelm/moonhelm/script/worker"

// This is the only init function with an effect. Go initialises a package as soon as its imports
// are initialised, so the worker starts before most of helm (client-go, the schema compiler, cobra)
// is initialised, in less than half the time. For the same reason package worker imports as little
// as the engine needs.
func init() { worker.Main() }
