// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

func TestDeclared(t *testing.T) {
	const serverMeta = `"uid":"u","resourceVersion":"7","generation":2,"creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{}]`
	for _, test := range []struct{ name, live, want, removed string }{
		{"a config map", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n",` + serverMeta + `,
			"labels":{"app":"x","app.kubernetes.io/managed-by":"kustomize"},"annotations":{"meta.helm.sh/release-name":"old"}},"data":{"k":"v"}}`,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n","labels":{"app":"x"}},"data":{"k":"v"}}`,
			"metadata.annotations[meta.helm.sh/release-name] metadata.creationTimestamp metadata.generation " +
				"metadata.labels[app.kubernetes.io/managed-by] metadata.managedFields metadata.resourceVersion metadata.uid"},
		{"a service", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],
			"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","internalTrafficPolicy":"Cluster","sessionAffinity":"None","type":"ClusterIP",
			"ports":[{"port":80,"protocol":"TCP","targetPort":80},{"port":81,"protocol":"UDP","targetPort":8081}],"selector":{"app":"x"}},"status":{"loadBalancer":{}}}`,
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"ports":[{"port":80},{"port":81,"protocol":"UDP","targetPort":8081}],"selector":{"app":"x"}}}`,
			"spec.clusterIP spec.clusterIPs spec.internalTrafficPolicy spec.ipFamilies spec.ipFamilyPolicy spec.ports[].protocol spec.ports[].targetPort " +
				"spec.sessionAffinity spec.type status"},
		{"a headless service", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"clusterIP":"None"}}`,
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"clusterIP":"None"}}`, ""},
		{"a volume", `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a","finalizers":["kubernetes.io/pvc-protection","x.example/y"],
			"annotations":{"pv.kubernetes.io/bind-completed":"yes","mine":"1"}},"spec":{"volumeName":"pv-1","storageClassName":"fast","volumeMode":"Filesystem","resources":{"requests":{"storage":"1Gi"}}}}`,
			`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a","finalizers":["x.example/y"],"annotations":{"mine":"1"}},"spec":{"resources":{"requests":{"storage":"1Gi"}}}}`,
			"metadata.annotations[pv.kubernetes.io/bind-completed] spec.storageClassName spec.volumeMode spec.volumeName"},
		{"a volume of kubectl apply keeps what was applied", `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a",
			"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"storageClassName\":\"fast\"}}"}},"spec":{"volumeName":"pv-1","storageClassName":"fast"}}`,
			`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a"},"spec":{"storageClassName":"fast"}}`,
			"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration] spec.volumeName"},
		{"a deployment", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":3,"revisionHistoryLimit":10,"progressDeadlineSeconds":600,
			"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"}},"selector":{"matchLabels":{"app":"x"}},
			"template":{"metadata":{"creationTimestamp":null,"labels":{"app":"x"}},"spec":{"restartPolicy":"Always","dnsPolicy":"ClusterFirst","terminationGracePeriodSeconds":5,
			"containers":[{"name":"c","image":"host:5000/i:1","imagePullPolicy":"IfNotPresent","resources":{},"terminationMessagePath":"/dev/termination-log",
			"livenessProbe":{"httpGet":{"path":"/","port":80,"scheme":"HTTP"},"periodSeconds":10,"timeoutSeconds":4}},
			{"name":"d","image":"i","imagePullPolicy":"IfNotPresent"}],"volumes":[{"name":"v","configMap":{"name":"m","defaultMode":420}}]}}}}`,
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"x"}},
			"template":{"metadata":{"labels":{"app":"x"}},"spec":{"terminationGracePeriodSeconds":5,"containers":[{"name":"c","image":"host:5000/i:1",
			"livenessProbe":{"httpGet":{"path":"/","port":80},"timeoutSeconds":4}},{"name":"d","image":"i","imagePullPolicy":"IfNotPresent"}],"volumes":[{"name":"v","configMap":{"name":"m"}}]}}}}`,
			"spec.progressDeadlineSeconds spec.revisionHistoryLimit spec.strategy spec.template.metadata.creationTimestamp spec.template.spec.containers[].imagePullPolicy " +
				"spec.template.spec.containers[].livenessProbe.httpGet.scheme spec.template.spec.containers[].livenessProbe.periodSeconds spec.template.spec.containers[].resources " +
				"spec.template.spec.containers[].terminationMessagePath spec.template.spec.dnsPolicy spec.template.spec.restartPolicy spec.template.spec.volumes[].configMap.defaultMode"},
		{"a custom resource keeps its spec", `{"apiVersion":"example.com/v1","kind":"Service","metadata":{"name":"a"},"spec":{"type":"ClusterIP","clusterIP":"x"},"status":{}}`,
			`{"apiVersion":"example.com/v1","kind":"Service","metadata":{"name":"a"},"spec":{"type":"ClusterIP","clusterIP":"x"}}`, "status"},
		{"hostile shapes", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","labels":[],"finalizers":"x"},"spec":[{"ports":3}]}`,
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","labels":[],"finalizers":"x"},"spec":[{"ports":3}]}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			live, want := decodeJSON(t, test.live), decodeJSON(t, test.want)
			before, _ := json.Marshal(live)
			got, removed := Declared(live)
			if !reflect.DeepEqual(got, want) {
				text, _ := json.Marshal(got)
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
			if list := strings.Join(removed, " "); list != test.removed {
				t.Errorf("removed\n%s\nwant\n%s", list, test.removed)
			}
			if after, _ := json.Marshal(live); string(after) != string(before) {
				t.Errorf("the live object was changed to %s", after)
			}
		})
	}
}

func decodeJSON(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := k8sjson.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func FuzzDeclared(f *testing.F) {
	f.Add(`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":{"containers":[{"image":"a"}]}}}}`)
	f.Fuzz(func(_ *testing.T, text string) {
		var o map[string]any
		if k8sjson.Unmarshal([]byte(text), &o) == nil && o != nil {
			once, _ := Declared(o)
			Declared(once)
		}
	})
}
