// SPDX-License-Identifier: Apache-2.0

// Package index reads and writes index.yaml, the list of a repository's charts.
//
// [Open] and [Parse] find the position of each chart; an entry is decoded when it is
// requested. They read the format that Helm writes, line by line. Every other index, in JSON
// or other YAML, is first converted to that format ([Index.Canonical]) with a full YAML
// parser. Packages that cache indexes should store the converted text. The full parser is
// also the reference in this package's tests.
//
// An index with a duplicate key or a syntax error is invalid. An invalid entry (without a
// name, without a valid version, with a list instead of a string) is skipped and reported as
// an [*EntryError]; the other entries can be used.
//
// An unquoted scalar in a string field is a string: version: 1.10 is the version 1.10.
// Unknown fields are ignored.
package index
