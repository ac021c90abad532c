// SPDX-License-Identifier: Apache-2.0

package values

import (
	"strings"
	"testing"
)

func TestParseManyDocuments(t *testing.T) {
	if _, err := Parse("v.yaml", []byte(strings.Repeat("---\n", maxDocuments-1))); err != nil {
		t.Errorf("%d documents: %v", maxDocuments-1, err)
	}
	_, err := Parse("v.yaml", []byte(strings.Repeat("---\n", 1_000_000)))
	if err == nil || !strings.Contains(err.Error(), "more than 10000 documents") {
		t.Errorf("a million documents: %v", err)
	}
}
