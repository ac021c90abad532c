// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"cmp"
	"time"
)

// Grace configures how long problems may last before they count as a failure. Zero values mean
// the defaults, and negative ones that the problem never counts as a failure.
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
	return g.or(Grace{Start: 20 * time.Second, Crash: 30 * time.Second, Condition: 2 * time.Second, Silence: time.Second})
}

// or returns g with the values of other where g has none.
func (g Grace) or(other Grace) Grace {
	return Grace{
		Start:     cmp.Or(g.Start, other.Start),
		Crash:     cmp.Or(g.Crash, other.Crash),
		Condition: cmp.Or(g.Condition, other.Condition),
		Silence:   cmp.Or(g.Silence, other.Silence),
	}
}
