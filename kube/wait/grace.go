// SPDX-License-Identifier: Apache-2.0

package wait

import "time"

// Grace is how long trouble may last before it counts as failure. Zero is the
// default.
type Grace struct {
	// Start is for what keeps a pod from being made, or a container from being
	// started: an image that cannot be pulled, a Secret that is missing, a quota
	// (20s). The name of an image that is not a name has none.
	Start time.Duration
	// Crash is for a container that ends again and again; it must have been
	// restarted three times as well (30s).
	Crash time.Duration
	// Condition is for a condition that calls an object failed, which may be
	// about what the object was before (2s).
	Condition time.Duration
	// Silence is how long a new custom resource without any status counts as not
	// seen by its controller yet; then it has none (1s).
	Silence time.Duration
}

func (g Grace) orDefault() Grace {
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{{&g.Start, 20 * time.Second}, {&g.Crash, 30 * time.Second}, {&g.Condition, 2 * time.Second}, {&g.Silence,
		time.Second}} {
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	return g
}
