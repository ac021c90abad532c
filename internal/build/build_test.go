// SPDX-License-Identifier: Apache-2.0

package build

import (
	"runtime"
	"testing"

	"github.com/Masterminds/semver/v3"
)

func TestShortCommit(t *testing.T) {
	for _, test := range []struct {
		info Info
		want string
	}{
		{Info{Version: "v1.2.3"}, "v1.2.3"},
		{Info{Version: "v1.2.3", GitCommit: "abc"}, "v1.2.3"},
		{Info{Version: "v1.2.3", GitCommit: "0123456789"}, "v1.2.3+g0123456"},
		{Info{Version: "v4.3.1+moonhelm.0.1.0", GitCommit: "0123456789"}, "v4.3.1+moonhelm.0.1.0.g0123456"},
	} {
		t.Run(test.want, func(t *testing.T) {
			got := test.info.Short()
			if got != test.want {
				t.Errorf("got %s, wanted %s", got, test.want)
			}
			if _, err := semver.StrictNewVersion(got[1:]); err != nil {
				t.Errorf("%s: %v", got, err)
			}
		})
	}
}

func TestHelmVersion(t *testing.T) {
	for generation, want := range map[string]uint64{"3": 3, "4": 4} {
		t.Run(generation, func(t *testing.T) {
			got, err := semver.StrictNewVersion(Helm(generation).Version[1:])
			if err != nil {
				t.Fatal(err)
			}
			if got.Major() != want || got.Metadata() != "" {
				t.Errorf("generation %s: got %s", generation, got)
			}
		})
	}
}

// Scripts and plugins compare the version: its format must be Helm's.
func TestVersionFormat(t *testing.T) {
	info := Current()
	v, err := semver.NewVersion(info.Version)
	if err != nil {
		t.Fatal(err)
	}
	if least := semver.MustParse("4.0.0"); v.LessThan(least) {
		t.Errorf("%s is older than %s", v, least)
	}
	if info.GoVersion != runtime.Version() || info.KubeClientVersion == "" {
		t.Errorf("%+v", info)
	}
}
