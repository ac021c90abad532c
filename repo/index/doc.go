// SPDX-License-Identifier: Apache-2.0

// Package index reads and writes index.yaml, the list of a repository's charts.
//
// There is one reader. It is lazy: [Open] and [Parse] find out where each chart
// stands, and an entry is decoded when it is asked for. It reads the form in which
// Helm writes indexes, line by line. Every other index, JSON or any other YAML, is
// first put into that form ([Index.Canonical]), by the full parser; packages that
// cache indexes keep that text, so that it is done once. The full parser is also the
// reference in this package's tests.
//
// A duplicate key refuses an index, as does what is no YAML. An entry that breaks
// a rule of its own (no name, no version that is one, a list where text belongs)
// is left out and reported as an [*EntryError]; it does not hide the others.
//
// Text without quotes is taken as it is written where text belongs: version: 1.10
// is the version 1.10. Fields that no one knows are passed over.
package index
