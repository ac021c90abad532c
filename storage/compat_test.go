// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/storagetest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/storetest"
)

// helms are the binaries of Helm to compare with, by their environment variable.
func helms(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, v := range []string{"MOONHELM_TEST_HELM3", "MOONHELM_TEST_HELM4"} {
		if path := os.Getenv(v); path != "" {
			found[strings.ToLower(strings.TrimPrefix(v, "MOONHELM_TEST_"))] = path
		}
	}
	if len(found) == 0 {
		t.Skip("needs Helm's binaries: set MOONHELM_TEST_HELM3 or MOONHELM_TEST_HELM4 to their paths")
	}
	return found
}

func run(t *testing.T, bin, namespace, driver string, args ...string) string {
	t.Helper()
	cmd := exec.Command(bin, append(args, "-n", namespace)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+os.Getenv(apiserver.Kubeconfig), "HELM_DRIVER="+driver)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(bin), strings.Join(args, " "), err, out)
	}
	return string(out)
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}

// testChart writes a chart with one object and one hook.
func testChart(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	filetest.Write(t, dir, map[string]string{
		"Chart.yaml":          "apiVersion: v2\nname: nginx\nversion: 1.2.3\nappVersion: \"4.5\"\n",
		"values.yaml":         "port: 80\n",
		"templates/NOTES.txt": "Thank you\n",
		"templates/a.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata: {port: \"{{ .Values.port }}\"}\n",
		"templates/h.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-hook\n  annotations: {helm.sh/hook: pre-upgrade}\n",
	})
	return dir
}

func drivers() map[string]func(storage.API, string) *storage.Cluster {
	return map[string]func(storage.API, string) *storage.Cluster{"secret": storage.Secrets, "configmap": storage.ConfigMaps}
}

func TestHelmReadsRecords(t *testing.T) {
	bins := helms(t)
	c := storagetest.Open(t, apiserver.Kubeconfig)
	for helm, bin := range bins {
		for name, driver := range drivers() {
			t.Run(helm+"/"+name, func(t *testing.T) {
				ns := c.Namespace(t)
				st := storage.New(driver(c, ns), ns)
				for i, status := range []release.Status{release.Superseded, release.Deployed} {
					r := storetest.Release(ns, "web", i+1, status)
					r.Labels = map[string]string{"team": "blue"}
					r.Info.Notes, r.Config = "Thank you", map[string]any{"port": 8080.0}
					r.Hooks = []*release.Hook{{Name: "h", Kind: "ConfigMap", Path: "nginx/templates/h.yaml", Events: []release.HookEvent{release.PostDelete},
						Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: h\n"}}
					if err := st.Create(t.Context(), r); err != nil {
						t.Fatal(err)
					}
				}
				contains(t, run(t, bin, ns, name, "list"), "web", "nginx-1.2.3", "4.5", "deployed", "2023-11-14 22:13:22")
				contains(t, run(t, bin, ns, name, "list", "-l", "team=blue", "-q"), "web")
				contains(t, run(t, bin, ns, name, "status", "web"), "STATUS: deployed", "REVISION: 2", "Thank you")
				contains(t, run(t, bin, ns, name, "get", "all", "web"), "port: 8080", "name: web", "HOOKS:")
				contains(t, run(t, bin, ns, name, "history", "web"), "superseded", "revision 1 of <web>", "deployed")
				// The recorded object does not exist; an upgrade creates it.
				run(t, bin, ns, name, "upgrade", "web", testChart(t))
				revisions, err := st.Revisions(t.Context(), "web")
				if err != nil || len(revisions) != 3 {
					t.Errorf("after Helm's upgrade: %v, %v", revisions, err)
				}
				run(t, bin, ns, name, "rollback", "web", "2")
				run(t, bin, ns, name, "uninstall", "web", "--keep-history")
				if last, err := st.Get(t.Context(), "web", 0); err != nil || last.Info.Status != release.Uninstalled || last.Info.Deleted.IsZero() {
					t.Errorf("after Helm's uninstall: %+v, %v", last, err)
				}
			})
		}
	}
}

func TestReadsHelmRecords(t *testing.T) {
	bins := helms(t)
	c := storagetest.Open(t, apiserver.Kubeconfig)
	for helm, bin := range bins {
		for name, driver := range drivers() {
			t.Run(helm+"/"+name, func(t *testing.T) {
				ns := c.Namespace(t)
				ctx, st := t.Context(), storage.New(driver(c, ns), ns)
				dir := testChart(t)
				run(t, bin, ns, name, "install", "web", dir, "-l", "team=blue")
				run(t, bin, ns, name, "upgrade", "web", dir, "--set", "port=8080")
				list, err := st.List(ctx, storage.Filter{})
				if err != nil || len(list) != 1 || list[0].Revision != 2 || list[0].ChartName() != "nginx-1.2.3" || list[0].Status != release.Deployed || list[0].Updated.IsZero() {
					t.Errorf("list: %+v, %v", list, err)
				}
				history, err := st.History(ctx, "web", 0)
				if err != nil || len(history) != 2 || history[0].Status != release.Superseded || history[1].Description != "Upgrade complete" {
					t.Errorf("history: %+v, %v", history, err)
				}
				r, err := st.Get(ctx, "web", 0)
				if err != nil {
					t.Fatal(err)
				}
				if r.Config["port"] != 8080.0 || !strings.Contains(r.Manifest, `port: "8080"`) || r.Info.Notes != "Thank you\n" && r.Info.Notes != "Thank you" ||
					r.Labels["team"] != "blue" || len(r.Hooks) != 1 || r.Hooks[0].LastRun.Phase != release.PhaseSucceeded {
					t.Errorf("read %+v, hook %+v", r, r.Hooks[0])
				}
				// We change it, and Helm reads it again.
				r.Info.Status = release.Failed
				if err := st.Update(ctx, r); err != nil {
					t.Fatal(err)
				}
				contains(t, run(t, bin, ns, name, "list", "--failed"), "web")
				run(t, bin, ns, name, "upgrade", "web", dir)
				run(t, bin, ns, name, "uninstall", "web")
				if list, err := st.List(ctx, storage.Filter{AllRevisions: true}); err != nil || len(list) != 0 {
					t.Errorf("after uninstall: %+v, %v", list, err)
				}
			})
		}
	}
}
