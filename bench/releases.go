// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
)

// sizes are the numbers of objects, releases and revisions in the cluster.
type sizes struct{ objects, releases, revisions int }

// clusterWorkloads returns the workloads that need an API server. NS is replaced with a namespace
// for each binary, RUN with a number for each run.
func clusterWorkloads(dir, ours, helm string, n sizes) ([]workload, error) {
	chart := filepath.Join(dir, "objects")
	if err := manyObjects(chart, n.objects); err != nil {
		return nil, err
	}
	cmd := func(text string) []string {
		return strings.Fields(strings.ReplaceAll(text, "CHART", chart) + " --namespace NS")
	}
	install := cmd("install bench CHART --create-namespace --timeout 5m")
	upgrade := cmd("upgrade bench CHART --timeout 5m --set v=RUN")
	uninstall := cmd("uninstall bench --timeout 5m")
	list := []workload{
		{name: fmt.Sprintf("install %d objects", n.objects), args: install, after: uninstall},
		{name: fmt.Sprintf("upgrade %d objects, nothing changed", n.objects), setup: install,
			args: cmd("upgrade bench CHART --timeout 5m"), teardown: uninstall, unchanged: true},
		{name: fmt.Sprintf("upgrade %d of %d objects", n.objects*5/8, n.objects), setup: install, args: upgrade,
			teardown: uninstall},
		{name: fmt.Sprintf("rollback %d of %d objects", n.objects*5/8, n.objects), setup: install, before: upgrade,
			args: cmd("rollback bench --timeout 5m"), teardown: uninstall},
		{name: fmt.Sprintf("uninstall %d objects", n.objects), before: install, args: uninstall},
	}
	list = append(list, planWorkloads(dir, chart, n.objects)...)
	record := filepath.Join(dir, "record")
	if err := largeRecord(record); err != nil {
		return nil, err
	}
	for _, maker := range []struct{ name, bin, namespace string }{{"Helm", helm, "bench-records-helm"}, {"ours",
		ours, "bench-records-ours"}} {
		begin := func() error {
			if err := quiet(maker.bin, dir, []string{"install", "first", record, "--create-namespace", "--namespace",
				maker.namespace}); err != nil {
				return err
			}
			c, err := connect(kubeconfig())
			if err != nil {
				return err
			}
			return c.multiply(maker.namespace, "first", n.releases, n.revisions)
		}
		end := func() error {
			c, err := connect(kubeconfig())
			if err == nil {
				_, err = c.call(http.MethodDelete, "/api/v1/namespaces/"+maker.namespace, nil)
			}
			return err
		}
		of := fmt.Sprintf("of %d x %d by %s", n.releases, n.revisions, maker.name)
		flags := []string{"--namespace", maker.namespace}
		list = append(list,
			workload{name: "list " + of, group: maker.namespace, begin: begin, end: end, args: append([]string{"list",
				"--max", "0"}, flags...)},
			workload{name: "history " + of, group: maker.namespace, begin: begin, end: end,
				args: append([]string{"history", "rel0000"}, flags...)},
			workload{name: "status " + of, group: maker.namespace, begin: begin, end: end,
				args: append([]string{"status", "rel0000"}, flags...)},
		)
	}
	drifting, err := driftWorkload(dir, ours, n.releases)
	if err != nil {
		return nil, err
	}
	moved, err := moveWorkloads(dir, ours, 50)
	if err != nil {
		return nil, err
	}
	list = append(list, drifting)
	list = append(list, moved...)
	for i := range list {
		list[i].needsCluster = true
	}
	return list, nil
}

// largeRecord creates a chart with one object and a release record of 250 KB.
func largeRecord(dir string) error {
	random := rand.New(rand.NewPCG(1, 2))
	var noise strings.Builder
	for i := range 7000 {
		fmt.Fprintf(&noise, "# A line of a file that a chart brings with it, as dashboards do, number %d.\n"+
			"key%d: %016x%016x\n", i, i, random.Uint64(), random.Uint64())
	}
	return write(map[string]string{
		filepath.Join(dir, "Chart.yaml"):          "apiVersion: v2\nname: record\nversion: 1.0.0\nappVersion: \"2\"\n",
		filepath.Join(dir, "noise.yaml"):          noise.String(),
		filepath.Join(dir, "templates", "a.yaml"): "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: record}\n",
	})
}

// versions returns the resourceVersions of a release's objects.
func versions(bin, dir, namespace string) (map[string]string, error) {
	out, err := command(bin, dir, []string{"status", "bench", "--namespace", namespace, "-o", "json"}).Output()
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	var status struct {
		Info struct {
			Resources map[string][]struct {
				Metadata struct{ Name, ResourceVersion string }
			}
		}
	}
	if err := json.Unmarshal(out, &status); err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	all := map[string]string{}
	for kind, objects := range status.Info.Resources {
		for _, o := range objects {
			all[kind+"/"+o.Metadata.Name] = o.Metadata.ResourceVersion
		}
	}
	return all, nil
}
