// SPDX-License-Identifier: Apache-2.0

package storage

import "time"

// Clock has s tell the time by now.
func Clock(s *SQL, now func() time.Time) { s.now = now }

// ClusterClock has c tell the time by now.
func ClusterClock(c *Cluster, now func() time.Time) { c.now = now }

// SmallParts is c with parts of so many bytes, which keeps tests of many of them
// quick.
func SmallParts(c *Cluster, limit int) *Cluster {
	c.limit = limit
	return c
}
