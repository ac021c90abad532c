// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

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

// mostEntries is how many entries a chart may have.
const mostEntries = 100_000

// counted refuses a chart that has too many entries.
func counted(chart string, n int) error {
	if n <= mostEntries {
		return nil
	}
	return &FormatError{Problem: fmt.Sprintf("chart %q has more than %d entries", chart, mostEntries)}
}

// notList is the error about a chart whose value is no list.
func notList(chart string, k kind) error {
	return &EntryError{Chart: chart, Problem: "is " + k.String() + ", must be a list of entries"}
}
