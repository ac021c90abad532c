// SPDX-License-Identifier: Apache-2.0

package index

import "go.yaml.in/yaml/v3"

// body is where an index's entries come from: YAML in block style, other YAML,
// or JSON. It may be used concurrently.
type body interface {
	// names are the charts' names, in the order that the other methods count in.
	names() []string
	// items are the entries of a chart, not decoded. The error is an *EntryError
	// where the chart has no list of entries; any other refuses the index.
	items(chart int) ([]item, error)
	// read appends an entry to t.
	read(t *tape, it item) error
	// field appends the value of a key of the index to t, "entries" left alone.
	// Without such a key t stays as it is.
	field(t *tape, key string) error
	// check reads what items and field have not seen.
	check() error
}

// item is an entry that is not decoded.
type item struct {
	version string // "" where there is none
	text    string
	at      int64
	node    *yaml.Node
}

// notList is the error about a chart whose value is no list.
func notList(chart string, k kind) error {
	return &EntryError{Chart: chart, Problem: "is " + k.String() + ", must be a list of entries"}
}
