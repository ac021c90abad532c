// SPDX-License-Identifier: Apache-2.0

package engine

import "testing"

func TestKubeVersions(t *testing.T) {
	for text, want := range map[string]string{
		"1.29":              "v1.29 v1.29 1 29",
		"v1.29.3-gke.100":   "v1.29.3 v1.29.3-gke.100 1 29",
		"1.29.3+k3s1":       "v1.29.3 v1.29.3+k3s1 1 29",
		"v1.29.3-eks-abc+x": "v1.29.3 v1.29.3-eks-abc+x 1 29",
		"1.028.1":           "v1.28.1 v1.028.1 1 28",
		"1":                 "",
		"x":                 "",
		"1.x":               "",
		"":                  "",
	} {
		t.Run(text, func(t *testing.T) {
			v, err := ParseKubeVersion(text)
			if want == "" {
				if err == nil {
					t.Errorf("%q is taken for %v", text, v)
				}
				return
			}
			if got := v.String() + " " + v.GitVersion() + " " + v.Major + " " + v.Minor; err != nil || got != want {
				t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
			}
		})
	}
	if v := (&KubeVersion{Version: "v1.30.2-eks-1"}); v.String() != "v1.30.2" {
		t.Errorf("from a cluster: got %s", v)
	}
}
