// SPDX-License-Identifier: Apache-2.0

package storage

import "time"

// Clock sets the clock of s.
func Clock(s *SQL, now func() time.Time) { s.now = now }

// ClusterClock sets the clock of c.
func ClusterClock(c *Cluster, now func() time.Time) { c.now = now }

// SmallParts returns c with small parts, which makes tests with many of them fast.
func SmallParts(c *Cluster, limit int) *Cluster {
	c.limit = limit
	return c
}
