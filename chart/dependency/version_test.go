// SPDX-License-Identifier: Apache-2.0

package dependency_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart/dependency"
)

func TestVersion(t *testing.T) {
	list := []string{"1.0.0", "1.10.0", "1.2.0", "2.0.0-rc.1", "v0.9.0", "1.2.0+b", "nonsense", "3.0.0-alpha"}
	for _, c := range []struct {
		want  string
		devel bool
		got   string
	}{
		{"", false, "1.10.0"},
		{"", true, "3.0.0-alpha"},
		{"^1.2", false, "1.10.0"},
		{"~1.2", false, "1.2.0+b"},
		{"1.2.0", false, "1.2.0"},
		{"v1.2.0", false, "1.2.0"},
		{"1.2.0+b", false, "1.2.0+b"},
		{"0.9.0", false, "v0.9.0"},
		{"1.x || 2.x", false, "1.10.0"},
		{"2.0.0-rc.1", false, "2.0.0-rc.1"},
		{">=2.0.0-0", false, "3.0.0-alpha"},
		{">=1.0.0 <1.10.0", false, "1.2.0+b"},
	} {
		t.Run(c.want, func(t *testing.T) {
			got, err := dependency.Version(list, c.want, c.devel)
			if err != nil || got != c.got {
				t.Errorf("%q (devel %v): got %q, %v; want %q", c.want, c.devel, got, err, c.got)
			}
		})
	}
	if want := []string{"3.0.0-alpha", "2.0.0-rc.1", "1.10.0", "1.2.0+b", "1.2.0", "1.0.0", "v0.9.0"}; !slices.Equal(dependency.Versions(list), want) {
		t.Errorf("order %v", dependency.Versions(list))
	}
	for want, text := range map[string]string{"4.x": "there is 3.0.0-alpha", "a b": "is neither a version nor a range", "^": "is neither a version nor a range"} {
		t.Run(want, func(t *testing.T) {
			_, err := dependency.Version(list, want, false)
			var bad *dependency.VersionError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), text) {
				t.Errorf("%q: %v", want, err)
			}
		})
	}
	if _, err := dependency.Version([]string{"1.0.0-a"}, "", false); err == nil || !strings.Contains(err.Error(), "only pre-releases") {
		t.Error(err)
	}
}
