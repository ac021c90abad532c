// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"

	"github.com/moonhelm/moonhelm/storage"
)

func TestRecordOf(t *testing.T) {
	for name, test := range map[string]struct {
		name   string
		labels map[string]string
		want   bool
	}{
		"a record":                 {"sh.helm.release.v1.web.v3", map[string]string{"owner": "helm", "name": "web"}, true},
		"a part of a record":       {"sh.helm.release.v1.web.v3.1", map[string]string{"owner": "moonhelm", "name": "web"}, true},
		"a record of a later Helm": {"sh.helm.release.v2.web.v3", map[string]string{"owner": "helm", "name": "web"}, true},
		"another owner":            {"sh.helm.release.v1.web.v3", map[string]string{"owner": "x", "name": "web"}, false},
		"no labels":                {"sh.helm.release.v1.web.v3", nil, false},
		"another name":             {"web", map[string]string{"owner": "helm", "name": "web"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			release, ok := storage.RecordOf(test.name, test.labels)
			if ok != test.want {
				t.Errorf("got %v, want %v", ok, test.want)
			}
			if ok && release != "web" {
				t.Errorf("release is %q, want web", release)
			}
		})
	}
}
