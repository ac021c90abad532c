// SPDX-License-Identifier: Apache-2.0

// Package index reads and writes index.yaml, the list of a repository's charts.
//
// Reading is lazy: [Open] and [Parse] find out where each chart stands, and an
// entry is decoded when somebody asks for it. Indexes as Helm writes them are
// read line by line; whatever else YAML has, and whatever is wrong, is left to
// the full parser, which is the judge in this package's tests. JSON is read too.
//
// A duplicate key refuses an index, as does what is no YAML. An entry that breaks
// a rule of its own (no name, no version that is one, a list where text belongs)
// is left out and reported as an [*EntryError]; it does not hide the others.
//
// Text without quotes is taken as it is written where text belongs: version: 1.10
// is the version 1.10. Fields that nobody knows are passed over.
package index
