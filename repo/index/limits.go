// SPDX-License-Identifier: Apache-2.0

package index

import "fmt"

// What an index may hold. Packed, some hundred kilobytes unpack to hundreds of
// megabytes in which every second byte wants a structure of its own.
const (
	mostKeys    = 1_000     // beside entries
	mostCharts  = 100_000   // below entries
	mostEntries = 100_000   // of a chart
	mostBytes   = 5 << 20   // of an entry, or of the value of a key beside entries; no Chart.yaml has more
	mostNodes   = 4_000_000 // that the full parser reads
)

// counted refuses a chart that has too many entries.
func counted(chart string, n int) error {
	if n <= mostEntries {
		return nil
	}
	return &FormatError{Problem: fmt.Sprintf("chart %q has more than %d entries", chart, mostEntries)}
}

var (
	errKeys   = &FormatError{Problem: fmt.Sprintf("it has more than %d keys", mostKeys)}
	errCharts = &FormatError{Problem: fmt.Sprintf("it has more than %d charts", mostCharts)}
	// JSON has such keys; YAML does not take them for keys, and indexes are cached as YAML.
	errLongKey = &FormatError{Problem: fmt.Sprintf("it has a key of more than %d bytes", longestKey)}
	errNodes   = &FormatError{Problem: fmt.Sprintf("it has more than %d values in an unusual form of YAML; as Helm "+
		"writes it, or as JSON, it may have more", mostNodes)}
)

// bounded refuses an entry, or the value of a key, that is too long. line is
// where it begins, 0 where no one knows.
func bounded(n int64, what string, line func() int) error {
	if n <= mostBytes {
		return nil
	}
	return &FormatError{Line: line(), Problem: fmt.Sprintf("%s has more than %d MiB", what, mostBytes>>20)}
}

func nowhere() int { return 0 }

// tooManyNodes reports whether the full parser would make too many nodes of data:
// each needs one of these characters, or is the first.
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
