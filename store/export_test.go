// SPDX-License-Identifier: Apache-2.0

package store

// SmallParts is c with parts of so many bytes, which keeps tests of many of them
// quick.
func SmallParts(c *Cluster, limit int) *Cluster {
	c.limit = limit
	return c
}
