// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// hooksChart writes a chart whose hooks are in the release's namespace, in another one and
// cluster-scoped, with every delete policy, and in a list.
func hooksChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "hooked")
	const at = `helm.sh/hook: "pre-install,pre-upgrade,pre-rollback,pre-delete"`
	filetest.Write(t, dir, map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: hooked\nversion: 1.2.3\n",
		"templates/hooks.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
data: {v: {{ .Values.v | quote }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inside, annotations: {` + at + `}}
data: {v: {{ .Values.v | quote }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone, annotations: {` + at + `, helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Namespace }}-outside, namespace: default, annotations: {` + at + `}}
data: {v: {{ .Values.v | quote }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: {{ .Release.Namespace }}-role, annotations: {` + at + `}, labels: {v: {{ .Values.v | quote }}}}
---
apiVersion: v1
kind: List
metadata: {annotations: {` + at + `}}
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {v: {{ .Values.v | quote }}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {v: {{ .Values.v | quote }}}}
`,
	})
	return dir
}

// TestHooksGoRound runs each step of the life of a release with hooks with another binary: its
// hooks replace those that the previous one has left, also outside the release's namespace.
func TestHooksGoRound(t *testing.T) {
	c := connect(t)
	chart := hooksChart(t)
	for _, order := range []string{"helm4 ours helm4 ours", "helm3 ours helm3 ours", "ours helm4 ours helm3", "ours helm3 ours helm4"} {
		t.Run(order, func(t *testing.T) {
			s := c.namespace(t)
			all := tools(t, s)
			role, outside := "/apis/rbac.authorization.k8s.io/v1/clusterroles/"+s.name+"-role", "/api/v1/namespaces/default/configmaps/"+s.name+"-outside"
			t.Cleanup(func() {
				for _, path := range []string{role, outside} {
					_, _, _ = s.call(context.Background(), http.MethodDelete, path, "application/json", "")
				}
			})
			for i, name := range strings.Fields(order) {
				v := fmt.Sprint("v", i)
				args := []string{"upgrade", "web", chart, "--set", "v=" + v}
				switch {
				case i == 0:
					args[0] = "install"
				case i == 3:
					args, v = []string{"uninstall", "web"}, "v2"
					if name == "ours" {
						args = append(args, "--yes")
					}
				}
				all[name].must(t, args...)
				for _, path := range []string{role, outside, s.path("ConfigMap", "inside"), s.path("ConfigMap", "one"), s.path("ConfigMap", "two")} {
					text, code, err := s.call(t.Context(), http.MethodGet, path, "", "")
					if err != nil || code != http.StatusOK || !strings.Contains(string(text), `"v":"`+v+`"`) {
						t.Errorf("after %s %s, %s is not %s: %d %s, %v", name, args[0], path, v, code, text, err)
					}
				}
				if s.object(t, "ConfigMap", "gone") != nil {
					t.Errorf("after %s %s, the hook that is to go when it has succeeded is there", name, args[0])
				}
			}
		})
	}
}

// TestLogsOfHooks compares where the logs of hooks and tests are written: logs that a policy
// requests to standard error, those of `test --logs` to standard output.
func TestLogsOfHooks(t *testing.T) {
	c := connect(t)
	dir := filepath.Join(t.TempDir(), "logs")
	filetest.Write(t, dir, map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: logs\nversion: 1.0.0\n",
		"templates/all.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: job, annotations: {helm.sh/hook: pre-install, helm.sh/hook-output-log-policy: hook-succeeded}}
spec:
  template:
    metadata: {annotations: {moonhelm.test/logs: log of the job}}
    spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, annotations: {helm.sh/hook: test, moonhelm.test/logs: log of b, moonhelm.test/logs.side: log of its side}}
spec: {restartPolicy: Never, containers: [{name: main, image: busybox}, {name: side, image: busybox}]}
---
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {helm.sh/hook: test, helm.sh/hook-weight: "1", moonhelm.test/logs: "one\ntwo\n", helm.sh/hook-output-log-policy: hook-succeeded}}
spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}
`,
	})
	a, b := c.namespace(t), c.namespace(t)
	helm, we := tools(t, a)["helm4"], tools(t, b)["ours"]
	for _, command := range []string{"install web CHART", "test web", "test web --logs", "test web --logs --filter name=a"} {
		args := strings.Fields(strings.ReplaceAll(command, "CHART", dir))
		want, got := helm.run(t, args...), we.run(t, args...)
		if g, w := plain(got.stdout, b.name), plain(want.stdout, a.name); g != w || (got.err == nil) != (want.err == nil) {
			t.Errorf("helm %s (%v) prints\n%s\nand helm4 (%v)\n%s", command, got.err, indent(g), want.err, indent(w))
		}
		for _, line := range []string{"log of the job", "log of b", "one", "two"} {
			if g, w := strings.Contains(got.stderr, line), strings.Contains(want.stderr, line); g != w {
				t.Errorf("helm %s has %q on standard error: %t, and helm4: %t\n%s\n%s",
					command, line, g, w, indent(got.stderr), indent(want.stderr))
			}
		}
	}
}
