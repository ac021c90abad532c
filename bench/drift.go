// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
)

// driftWorkload compares the objects of n installed releases with their records. Each release has
// three objects.
func driftWorkload(dir, ours string, n int) (workload, error) {
	const namespace = "bench-drift"
	chart := filepath.Join(dir, "drifting")
	err := write(map[string]string{
		filepath.Join(chart, "Chart.yaml"): "apiVersion: v2\nname: drifting\nversion: 0.1.0\n",
		filepath.Join(chart, "templates/all.yaml"): "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n" +
			"data: {a: b}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: {{ .Release.Name }}}\n" +
			"spec: {selector: {a: b}, ports: [{port: 80}]}\n---\napiVersion: apps/v1\nkind: Deployment\n" +
			"metadata: {name: {{ .Release.Name }}}\nspec:\n  replicas: 0\n  selector: {matchLabels: {a: b}}\n" +
			"  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: a, image: a}]}\n",
	})
	install := func(i int) error {
		return quiet(ours, dir, []string{"install", fmt.Sprintf("rel%04d", i), chart, "--create-namespace", "--namespace",
			namespace})
	}
	return workload{
		name: fmt.Sprintf("drift of %d releases", n), group: namespace, alone: true,
		args: []string{"drift", "--namespace", namespace},
		begin: func() error {
			if err := install(0); err != nil {
				return err
			}
			return inParallel(n-1, func(i int) error { return install(i + 1) })
		},
		end: func() error {
			c, err := connect(kubeconfig())
			if err == nil {
				_, err = c.call(http.MethodDelete, "/api/v1/namespaces/"+namespace, nil)
			}
			return err
		},
	}, err
}

// inParallel calls do for the numbers below n, four at a time, and returns the first error.
func inParallel(n int, do func(i int) error) error {
	numbers := make(chan int)
	var once sync.Once
	var failed error
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range numbers {
				if err := do(i); err != nil {
					once.Do(func() { failed = err })
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	wg.Wait()
	return failed
}
