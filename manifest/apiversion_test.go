// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"testing"
)

func TestGroupVersion(t *testing.T) {
	for _, test := range []struct{ apiVersion, group, version string }{
		{"", "", ""}, {"v1", "", "v1"}, {"apps/v1", "apps", "v1"}, {"a.example.com/v1/x", "a.example.com", "v1/x"},
		{"/v1", "", "v1"}, {"apps/", "apps", ""},
	} {
		t.Run(cmp.Or(test.apiVersion, "empty"), func(t *testing.T) {
			if group, version := GroupVersion(test.apiVersion); group != test.group || version != test.version {
				t.Errorf("got %q and %q, want %q and %q", group, version, test.group, test.version)
			}
			if got := Group(test.apiVersion); got != test.group {
				t.Errorf("group is %q, want %q", got, test.group)
			}
		})
	}
}
