// SPDX-License-Identifier: Apache-2.0

package index

import "fmt"

// The limits of an index. A compressed index of a few hundred kilobytes can unpack to
// hundreds of megabytes with a value in every second byte.
const (
	mostKeys    = 1_000     // except entries
	mostCharts  = 100_000   // in entries
	mostEntries = 100_000   // of a chart
	mostBytes   = 5 << 20   // of an entry, or of the value of another key; the limit of a Chart.yaml
	mostNodes   = 4_000_000 // for the full parser
)

// counted returns an error if a chart has too many entries.
func counted(chart string, n int) error {
	if n <= mostEntries {
		return nil
	}
	return &FormatError{Problem: fmt.Sprintf("chart %q has more than %d entries", chart, mostEntries)}
}

var (
	errKeys   = &FormatError{Problem: fmt.Sprintf("it has more than %d keys", mostKeys)}
	errCharts = &FormatError{Problem: fmt.Sprintf("it has more than %d charts", mostCharts)}
	// YAML does not allow such keys, and indexes are cached as YAML.
	errLongKey = &FormatError{Problem: fmt.Sprintf("it has a key of more than %d bytes", longestKey)}
	errNodes   = &FormatError{Problem: fmt.Sprintf("it has more than %d values in an unusual form of YAML; as Helm "+
		"writes it, or as JSON, it may have more", mostNodes)}
)

// bounded returns an error if an entry, or the value of a key, is too large. line returns
// its first line, or 0 if it is unknown.
func bounded(n int64, what string, line func() int) error {
	if n <= mostBytes {
		return nil
	}
	return &FormatError{Line: line(), Problem: fmt.Sprintf("%s has more than %d MiB", what, mostBytes>>20)}
}

func nowhere() int { return 0 }

// tooManyNodes reports whether data exceeds the limit for the full parser: each node except
// the first needs one of these characters.
func tooManyNodes(data []byte) bool {
	n := 0
	for i, c := range data {
		switch c {
		case ',', ':', '[', '{':
			n++
		case '-', '?':
			if i+1 == len(data) || data[i+1] <= ' ' {
				n++
			}
		}
	}
	return n > mostNodes
}
