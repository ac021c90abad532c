// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	_ "embed"
	"strings"
	"sync"
)

// requiredText lists fields of the server's own kinds, one to a line after the
// name of the schema.
//
//go:embed required.txt
var requiredText string

// demanded are the fields of the server's own kinds without which it refuses an
// object, as "schema field". Its documents call every field required that its
// types write even where it is empty, and it takes objects without many of
// these. Those here were dropped from objects of 39 kinds on an API server,
// which refused each: see TestValidationAgreesWithTheServer in package kube.
var demanded = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(requiredText) {
		if line = strings.TrimSpace(line); line != "" {
			out[line] = true
		}
	}
	return out
})
