// SPDX-License-Identifier: Apache-2.0

// Package fetch brings content from elsewhere: charts, from wherever their name
// leads ([Finder]), and anything at a URL ([Client]). Sizes and times are
// bounded, credentials stay with the host that they were given for, and what is
// kept ([Cache]) is verified each time it is used. What repositories, registries,
// plugins and signatures are is declared here as small interfaces, and known to
// others.
package fetch

import "strings"

// MaxText is the largest text that [Client.Text] reads, in bytes.
const MaxText = 20 << 20

// MaxArchive is the largest archive of a chart that is fetched, in bytes.
const MaxArchive = 200 << 20

// IsURL tells whether location is an http or https URL rather than a path.
func IsURL(location string) bool {
	return strings.HasPrefix(location, "http://") || strings.HasPrefix(location, "https://")
}
