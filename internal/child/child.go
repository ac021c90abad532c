// SPDX-License-Identifier: Apache-2.0

// Package child makes the program that imports it the process for charts'
// scripts when it is started as that: see [worker.Main]. It is imported for its
// effect, by the command and by tests that need such a process of their own binary.
package child

import "github.com/moonhelm/moonhelm/script/worker"

// The one init function with an effect. Go initialises a package as soon as all
// that it imports is, so this runs before the greater part of helm (client-go,
// the schema compiler, cobra) has been set up, which the scripts' process has no
// use for: it is up in less than half the time. Hence also the rule for what
// package worker imports: as little as the engine needs.
func init() { worker.Main() }
