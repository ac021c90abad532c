// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"
)

func TestInvalidErrorHint(t *testing.T) {
	for _, test := range []struct{ file, field, want string }{
		{FileMetadata, "moved[0].from", "from: {name: old}"},
		{FileLock, "", "helm dependency update"},
		{FileMetadata, "version", ""},
	} {
		t.Run(test.file+" "+test.field, func(t *testing.T) {
			got := (&InvalidError{File: test.file, Field: test.field}).Hint()
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("%s %s: got %q, want %q in it", test.file, test.field, got, test.want)
			}
		})
	}
}
