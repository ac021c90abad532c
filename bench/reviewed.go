// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
)

// planWorkloads plan an upgrade and apply the plan. chart is one of manyObjects, of which each run
// changes some.
func planWorkloads(dir, chart string, objects int) []workload {
	plan := filepath.Join(dir, "plan-{RUN}.json")
	cmd := func(text string) []string { return strings.Fields(text + " --namespace NS") }
	install := cmd("install bench " + chart + " --create-namespace --timeout 5m")
	upgrade := cmd("upgrade bench " + chart + " --timeout 5m --set v=RUN")
	save := cmd("plan upgrade bench " + chart + " --timeout 5m --set v=RUN --plain --save " + plan)
	uninstall := cmd("uninstall bench --timeout 5m")
	of := fmt.Sprintf("%d of %d objects", objects*5/8, objects)
	return []workload{
		{name: "plan an upgrade of " + of + ", Helm upgrade --dry-run=server", setup: install, args: save,
			theirs: append(upgrade[:len(upgrade):len(upgrade)], "--dry-run=server"), teardown: uninstall},
		{name: "apply the plan of an upgrade of " + of + ", Helm upgrade", setup: install, ownBefore: save,
			args: cmd("apply " + plan), theirs: upgrade, teardown: uninstall},
	}
}

// moveWorkloads move n objects between releases, and rename a release of n objects.
func moveWorkloads(dir, ours string, n int) ([]workload, error) {
	const namespace = "bench-move"
	full, empty := filepath.Join(dir, "moving"), filepath.Join(dir, "receiving")
	configMaps := func(n int) string {
		return fmt.Sprintf("{{- range $i := until %d }}\n---\napiVersion: v1\nkind: ConfigMap\n"+
			"metadata: {name: \"{{ $.Chart.Name }}-{{ $i }}\"}\ndata: {a: b}\n{{- end }}\n", n)
	}
	err := write(map[string]string{
		filepath.Join(full, "Chart.yaml"):          "apiVersion: v2\nname: moving\nversion: 0.1.0\n",
		filepath.Join(full, "templates/all.yaml"):  configMaps(n + 1),
		filepath.Join(empty, "Chart.yaml"):         "apiVersion: v2\nname: receiving\nversion: 0.1.0\n",
		filepath.Join(empty, "templates/all.yaml"): configMaps(1),
	})
	if err != nil {
		return nil, err
	}
	in := func(args ...string) []string { return append(args, "--namespace", namespace, "--yes") }
	move := func(from, to string) []string {
		args := []string{"mv", from}
		for i := range n {
			args = append(args, fmt.Sprintf("configmap/moving-%d", i))
		}
		return in(append(args, to)...)
	}
	begin := func() error {
		for release, chart := range map[string]string{"from": full, "to": empty} {
			if err := quiet(ours, dir, []string{"install", release, chart, "--create-namespace", "--namespace",
				namespace}); err != nil {
				return err
			}
		}
		return nil
	}
	end := func() error {
		c, err := connect(kubeconfig())
		if err == nil {
			_, err = c.call(http.MethodDelete, "/api/v1/namespaces/"+namespace, nil)
		}
		return err
	}
	return []workload{
		{name: fmt.Sprintf("mv %d objects to another release", n), alone: true, group: namespace, begin: begin, end: end,
			args: move("from", "to"), after: move("to", "from")},
		{name: fmt.Sprintf("rename a release of %d objects", n+1), alone: true, group: namespace, begin: begin, end: end,
			args: in("rename", "from", "other"), after: in("rename", "other", "from")},
	}, nil
}
