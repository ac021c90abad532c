// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// TestMoved moves objects between releases that Helm has made, and has Helm list, upgrade, roll back and
// uninstall the results. The objects stay the same.
func TestMoved(t *testing.T) {
	c := connect(t)
	for _, name := range []string{"helm4", "helm3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.namespace(t)
			both := tools(t, s)
			helm, ours := both[name], both["ours"]
			web := filepath.Join(t.TempDir(), "web")
			configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Chart.Name }}}\ndata: {colour: {{ .Values.colour }}}\n"
			moved := "{{ if .Values.moved }}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: w}\nspec: {selector: {app: w}, ports: [{port: 80}]}\n" +
				"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec:\n  replicas: 0\n  selector: {matchLabels: {app: w}}\n" +
				"  template:\n    metadata: {labels: {app: w}}\n    spec: {containers: [{name: w, image: \"nowhere/image:1\"}]}\n{{ end }}\n"
			db := filepath.Join(filepath.Dir(web), "db")
			for _, dir := range []string{web, db} {
				filetest.Write(t, dir, map[string]string{
					"Chart.yaml":  "apiVersion: v2\nname: " + filepath.Base(dir) + "\nversion: 1.0.0\n",
					"values.yaml": "moved: true\ncolour: red\n", "templates/all.yaml": configMap + moved,
				})
			}
			helm.must(t, "install", "web", web)
			helm.must(t, "install", "db", db, "--set", "moved=false")
			uid := func(kind string) any { return at(s.object(t, kind, "w"), "metadata", "uid") }
			service, deployment := uid("Service"), uid("Deployment")
			same := func(when string) {
				t.Helper()
				if uid("Service") != service || uid("Deployment") != deployment {
					t.Fatalf("%s: the objects were created again", when)
				}
			}

			ours.must(t, "mv", "web", "service/w", "deployment/w", "db", "--yes")
			var releases []map[string]string
			decode(t, helm.must(t, "list", "-o", "json"), &releases)
			if len(releases) != 2 || releases[0]["revision"] != "2" || releases[0]["status"] != "deployed" || releases[1]["revision"] != "2" {
				t.Errorf("list shows %v", releases)
			}
			wantIn(t, "history", helm.must(t, "history", "db"), "Moved Service/w, Deployment/w from release web")
			wantIn(t, "manifest", helm.must(t, "get", "manifest", "db"), "kind: Service", "kind: Deployment")
			wantIn(t, "status", helm.must(t, "status", "db"), "STATUS: deployed", "REVISION: 2")
			wantIn(t, "values", helm.must(t, "get", "values", "db"), "moved: false")
			wantIn(t, "upgrade", helm.fails(t, "upgrade", "web", web), "cannot be imported into the current release")
			helm.must(t, "upgrade", "web", web, "--set", "moved=false,colour=blue")
			same("upgraded the release that they have left")
			helm.must(t, "upgrade", "db", db, "--set", "moved=true,colour=blue")
			helm.must(t, "rollback", "db", "2")
			same("upgraded and rolled back the release that has them")

			ours.must(t, "disown", "db", "service/w", "deployment/w", "--yes")
			helm.must(t, "upgrade", "db", db, "--set", "moved=false,colour=green")
			same("disowned")
			ours.must(t, "adopt", "web", "service/w", "deployment/w", "--yes")
			helm.must(t, "upgrade", "web", web, "--set", "moved=true,colour=green")
			same("adopted and upgraded")

			ours.must(t, "rename", "web", "shop", "--yes")
			wantIn(t, "history", helm.must(t, "history", "shop"), "Install complete", "Renamed from release web")
			wantIn(t, "everything", helm.must(t, "get", "all", "shop"), "NAME: shop", "kind: Service", "COMPUTED VALUES")
			helm.must(t, "rollback", "shop", "1")
			same("renamed and rolled back to a revision that was copied")
			helm.must(t, "upgrade", "shop", web, "--set", "colour=last")
			same("renamed and upgraded")
			helm.must(t, "uninstall", "shop")
			helm.must(t, "uninstall", "db")
			for kind, name := range map[string]string{"Service": "w", "ConfigMap": "web"} {
				if o := s.object(t, kind, name); o != nil {
					t.Errorf("after the uninstall there is still %v", o)
				}
			}
			if left := secrets(t, s); len(left) > 0 {
				t.Errorf("records are left: %v", left)
			}
		})
	}
}

// TestTakenOver is what docs/moving.md says of objects that are taken over from a release whose record
// still has them: what the next operation on that release does.
func TestTakenOver(t *testing.T) {
	c := connect(t)
	for _, test := range []struct {
		tool string
		args []string
		// owner is the release that the object belongs to afterwards, "" if it is deleted.
		owner string
	}{
		{"ours", []string{"upgrade", "db", "DB"}, "web"}, {"ours", []string{"uninstall", "db"}, "web"},
		{"helm4", []string{"upgrade", "db", "DB"}, ""}, {"helm4", []string{"uninstall", "db"}, "web"},
		{"helm3", []string{"upgrade", "db", "DB"}, ""}, {"helm3", []string{"uninstall", "db"}, ""},
		{"ours", []string{"rollback", "db", "1"}, "web"}, {"helm4", []string{"rollback", "db", "1"}, "db"},
		{"helm3", []string{"rollback", "db", "1"}, "db"},
	} {
		t.Run(test.tool+" "+test.args[0], func(t *testing.T) {
			t.Parallel()
			s := c.namespace(t)
			all := tools(t, s)
			charts := t.TempDir()
			chart := func(name string, objects ...string) string {
				text := ""
				for _, o := range objects {
					text += "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + o + "}\n---\n"
				}
				dir := filepath.Join(charts, name)
				filetest.Write(t, dir, map[string]string{"Chart.yaml": "apiVersion: v2\nname: " + filepath.Base(dir) + "\nversion: 1.0.0\n",
					"templates/all.yaml": text})
				return dir
			}
			all["ours"].must(t, "install", "db", chart("db/db", "own", "shared"))
			all["ours"].must(t, "install", "web", chart("web", "shared"), "--take-ownership")
			args := slices.Clone(test.args)
			switch args[0] {
			case "upgrade":
				args[2] = chart("later/db", "own")
			case "rollback": // the revision before has it, the one now has not
				all["ours"].must(t, "upgrade", "db", chart("later/db", "own"))
			}
			r := all[test.tool].run(t, args...)
			if refused := test.tool == "ours" && args[0] == "rollback"; (r.err != nil) != refused {
				t.Errorf("%v: %v", args, r)
			}
			owner := at(s.object(t, "ConfigMap", "shared"), "metadata", "annotations", "meta.helm.sh/release-name")
			if owner == nil {
				owner = ""
			}
			if owner != test.owner {
				t.Errorf("the object belongs to %q, want %q", owner, test.owner)
			}
		})
	}
}
