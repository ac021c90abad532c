// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"testing"
)

func TestCheckLabels(t *testing.T) {
	for _, tc := range []struct {
		name   string
		labels map[string]string
		good   bool
	}{
		{"none", nil, true},
		{"good", map[string]string{"team": "a", "example.com/x": ""}, true},
		{"of records", map[string]string{"owner": "me"}, false},
		{"not a name", map[string]string{"a b": "c"}, false},
		{"not a value", map[string]string{"a": "b c"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := CheckLabels(tc.labels)
			if good := err == nil; good != tc.good {
				t.Errorf("CheckLabels(%v): got %v, want good %v", tc.labels, err, tc.good)
			}
			if err != nil && !errors.As(err, new(*LabelError)) {
				t.Errorf("CheckLabels(%v): got a %T, want a *LabelError", tc.labels, err)
			}
		})
	}
}
