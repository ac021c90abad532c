// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	_ "embed"
	"strings"
	"sync"
)

// requiredText lists required fields of built-in kinds, one per line: the name of the
// schema and the field.
//
//go:embed required.txt
var requiredText string

// requiredFields returns the fields of built-in kinds that the API server requires, as "schema
// field". Its OpenAPI documents mark more fields as required than it enforces: every field
// that is written even if it is empty. Those here were found by removing fields from objects of
// 39 kinds on an API server: see TestValidationAgreesWithTheServer in package kube/apply.
var requiredFields = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(requiredText) {
		if line = strings.TrimSpace(line); line != "" {
			out[line] = true
		}
	}
	return out
})
