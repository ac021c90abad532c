// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// TestMovedByOurs has Helm list, upgrade, roll back and uninstall releases whose objects have moved, and
// load charts that say so.
func TestMovedByOurs(t *testing.T) {
	if os.Getenv("MOONHELM_TEST_KUBECONFIG") == "" {
		t.Skip("no cluster: make compat brings one up (MOONHELM_TEST_KUBECONFIG)")
	}
	c := connect(t)
	for _, name := range []string{"helm4", "helm3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.namespace(t)
			all := tools(t, s)
			ours, helm := all["ours"], all[name]
			before, after := filepath.Join(t.TempDir(), "web"), filepath.Join(t.TempDir(), "web")
			objects := func(suffix string) string {
				return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: keep-" + suffix + "}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: new-" + suffix + "}\n"
			}
			filetest.Write(t, before, map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "templates/a.yaml": objects("old")})
			filetest.Write(t, after, map[string]string{"Chart.yaml": `apiVersion: v2
name: web
version: 2.0.0
moved:
- {kind: ConfigMap, from: {name: keep-old}, to: {name: keep-new}, recreate: false}
- {kind: ConfigMap, from: {name: new-old}, to: {name: new-new}, recreate: true}
- {from: {directory: templates}, to: {directory: crds}}
`, "templates/a.yaml": objects("new")})
			helm.must(t, "install", "web", before)
			uid := at(s.object(t, "ConfigMap", "keep-old"), "metadata", "uid")
			ours.must(t, "upgrade", "web", after)
			if got := at(s.object(t, "ConfigMap", "keep-old"), "metadata", "uid"); got != uid || uid == nil {
				t.Errorf("the object that keeps its name was %v, is %v", uid, got)
			}
			wantIn(t, "list", helm.must(t, "list"), "web-2.0.0", "deployed")
			wantIn(t, "manifest", helm.must(t, "get", "manifest", "web"), "keep-old", "new-new")
			// Helm rolls back, and ours moves again from there.
			helm.must(t, "rollback", "web", "1")
			wantIn(t, "manifest", ours.must(t, "get", "manifest", "web"), "keep-old", "new-old")
			ours.must(t, "upgrade", "web", after)
			wantIn(t, "manifest", helm.must(t, "get", "manifest", "web"), "keep-old", "new-new")
			// Helm ignores the entries: it renames by deleting and creating.
			helm.must(t, "upgrade", "web", after)
			wantIn(t, "manifest", ours.must(t, "get", "manifest", "web"), "keep-new", "new-new")
			ours.must(t, "upgrade", "web", after)
			helm.must(t, "uninstall", "web")
			for _, secret := range secrets(t, s) {
				if strings.HasPrefix(secret, "sh.helm.release") {
					t.Errorf("%s is left", secret)
				}
			}
		})
	}
}
