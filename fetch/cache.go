// SPDX-License-Identifier: Apache-2.0

package fetch

// Cache keeps content by its digest, for everything that is fetched. It is safe
// for concurrent use, by several processes too.
type Cache struct {
	// Dir is the folder; it is made when something is added.
	Dir string
}
