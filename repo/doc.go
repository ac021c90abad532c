// SPDX-License-Identifier: Apache-2.0

// Package repo keeps the chart repositories that a user has added: the file
// that lists them, and the indexes that were fetched from them. Both are Helm's
// own files, in Helm's own places, and Helm may be at work on them at the same
// time. What stands in an index is package index's concern; how an index is
// fetched is the caller's, see [Getter].
package repo
