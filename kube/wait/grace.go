// SPDX-License-Identifier: Apache-2.0

package wait

import "time"

// Grace configures how long problems may last before they count as a failure. Zero values mean
// the defaults.
type Grace struct {
	// Start is for problems that prevent a pod's creation or a container's start: an image that
	// cannot be pulled, a missing Secret, a quota (20s). An invalid image name fails at once.
	Start time.Duration
	// Crash is for a container that keeps crashing and has been restarted at least three times
	// (30s).
	Crash time.Duration
	// Condition is for a condition that reports a failure, which may be about an earlier state
	// of the object (2s).
	Condition time.Duration
	// Silence is how long a new custom resource without a status counts as not yet observed by
	// its controller. After that it counts as one without a controller (1s).
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
