// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"testing"
)

// installedItems returns n objects after an installation, with the server's defaults and metadata.
func installedItems(b testing.TB, n int, image string) []Item {
	manifest := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","labels":{"app":"web","app.kubernetes.io/managed-by":"Helm"},"annotations":{"meta.helm.sh/release-name":"web"}},
		"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{
		"containers":[{"name":"web","image":%q,"ports":[{"name":"http","containerPort":80}],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],
		"resources":{"limits":{"cpu":"100m","memory":"64Mi"}},"livenessProbe":{"httpGet":{"path":"/","port":"http"}},"volumeMounts":[{"name":"config","mountPath":"/etc/web"}]}],
		"volumes":[{"name":"config","configMap":{"name":"web"}}]}}}}`
	live := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"u%d","resourceVersion":"12","generation":2,"labels":{"app":"web","app.kubernetes.io/managed-by":"Helm"},"annotations":{"meta.helm.sh/release-name":"web","deployment.kubernetes.io/revision":"1"}},
		"spec":{"replicas":3,"revisionHistoryLimit":10,"progressDeadlineSeconds":600,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%%"}},"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"creationTimestamp":null,"labels":{"app":"web"}},"spec":{
		"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30,
		"containers":[{"name":"web","image":"web:1","imagePullPolicy":"IfNotPresent","terminationMessagePath":"/dev/termination-log","ports":[{"name":"http","protocol":"TCP","containerPort":80}],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],
		"resources":{"limits":{"cpu":"100m","memory":"64Mi"},"requests":{"cpu":"100m","memory":"64Mi"}},"livenessProbe":{"failureThreshold":3,"httpGet":{"path":"/","port":"http","scheme":"HTTP"}},"volumeMounts":[{"name":"config","mountPath":"/etc/web"}]}],
		"volumes":[{"name":"config","configMap":{"name":"web","defaultMode":420}}]}}},"status":{"replicas":3}}`
	read := func(text string) (m map[string]any) {
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			b.Fatal(err)
		}
		return m
	}
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{
			Ref:  Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
			Old:  []map[string]any{read(fmt.Sprintf(manifest, "web:1"))},
			Live: read(fmt.Sprintf(live, i)),
			New:  read(fmt.Sprintf(manifest, image)),
		}
	}
	return items
}

func BenchmarkCompute(b *testing.B) {
	for _, tc := range []struct {
		name, image string
		action      Action
	}{{"unchanged", "web:1", Unchanged}, {"changed", "web:2", Update}} {
		b.Run(tc.name, func(b *testing.B) {
			items := installedItems(b, 800, tc.image)
			b.ReportAllocs()
			for b.Loop() {
				p, err := Compute(items, Options{})
				if err != nil || p.Steps[799].Action != tc.action || p.Steps[799].Drifted {
					b.Fatalf("%s by %s (%v)", p.Steps[799].Action, p.Steps[799].Patch, err)
				}
			}
		})
	}
}

// The cost of detecting that server-side apply would change nothing.
func BenchmarkComputeServerSide(b *testing.B) {
	items := installedItems(b, 800, "web:1")
	for i := range items {
		items[i].Live = withManagedFields(b, items[i].Live, "helm", "Apply", without(items[i].New, "status"))
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := Compute(items, Options{ServerSide: true})
		if err != nil || p.Steps[799].Action != Unchanged {
			b.Fatalf("%s (%v)", p.Steps[799].Action, err)
		}
	}
}

// The cost of the table for the first plan of a process.
func BenchmarkTable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		readTable(kindsText)
	}
}
