// SPDX-License-Identifier: Apache-2.0

package values

import (
	"slices"
	"testing"
)

func TestListOfItemsOrigins(t *testing.T) {
	at := func(file string, line int) *traced {
		return &traced{value: "x", origins: []Origin{{File: file, Line: line, Path: "tags"}, {File: "beaten", Line: 1}}}
	}
	o := &Origins{root: map[string]any{
		"tags":  []any{at("a.yaml", 1), at("a.yaml", 1), map[string]any{"k": at("b.yaml", 2)}},
		"plain": at("c.yaml", 3),
	}}
	for path, want := range map[string][]Origin{
		"tags": {{File: "b.yaml", Line: 2}, {File: "a.yaml", Line: 1}}, "plain": nil, "none": nil,
	} {
		if got := o.OfItems(path); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	if got := (*Origins)(nil).OfItems("tags"); got != nil {
		t.Errorf("nil: got %v", got)
	}
}
