// SPDX-License-Identifier: Apache-2.0

package merges

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Kind generates objects of a kind. fresh returns objects with few different names and values,
// so that the charts and the other client often change the same fields.
type Kind struct {
	apiVersion, kind, path string
	fresh                  func(r *rand.Rand) map[string]any // without apiVersion, kind and name
	fixed                  []string                          // paths that must not change, such as spec.selector
}

// pick returns one of the values.
func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// some keeps each key of m with a probability of one half.
func some(r *rand.Rand, m map[string]any, always ...string) map[string]any {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if r.IntN(2) == 0 && !slices.Contains(always, k) {
			delete(m, k)
		}
	}
	return m
}

// few returns some of the items in random order.
func few(r *rand.Rand, items ...any) []any {
	r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	return items[:r.IntN(len(items)+1)]
}

func labels(r *rand.Rand) map[string]any {
	return some(r, map[string]any{"team": pick(r, "a", "b"), "tier": pick(r, "front", ""),
		"example.com/x": pick(r, "1", "2"), "gone": "soon"})
}

func quantities(r *rand.Rand) map[string]any {
	return some(r, map[string]any{"cpu": pick(r, "100m", "0.1", "1"), "memory": pick(r, "64Mi", "1Gi"),
		"ephemeral-storage": "1Gi"})
}

func env(r *rand.Rand) []any {
	var out []any
	for _, name := range few(r, "A", "B", "C", "D") {
		e := map[string]any{"name": name}
		switch r.IntN(5) {
		case 0:
			e["valueFrom"] = map[string]any{"secretKeyRef": map[string]any{"name": pick(r, "s1", "s2"), "key": "k"}}
		case 1:
			e["valueFrom"] = map[string]any{"fieldRef": map[string]any{"fieldPath": pick(r, "metadata.name",
				"metadata.namespace")}}
		case 2:
		default:
			e["value"] = pick(r, "1", "2", "")
		}
		out = append(out, e)
	}
	return out
}

func containerPorts(r *rand.Rand) []any {
	var out []any
	for _, n := range few(r, 53, 53, 80, 443) {
		p := some(r, map[string]any{"containerPort": n, "protocol": pick(r, "TCP", "UDP")}, "containerPort")
		if r.IntN(3) == 0 {
			p["name"] = fmt.Sprintf("p%d%s", n, strings.ToLower(fmt.Sprint(p["protocol"]))[:2])
		}
		out = append(out, p)
	}
	return out
}

func probe(r *rand.Rand) map[string]any {
	p := some(r, map[string]any{"periodSeconds": pick(r, 5, 10), "failureThreshold": pick(r, 3, 4),
		"initialDelaySeconds": pick(r, 0, 7)})
	switch r.IntN(4) {
	case 0:
		p["httpGet"] = some(r, map[string]any{"port": pick[any](r, 80, "http"), "path": pick(r, "/", "/ok"),
			"scheme": "HTTP"}, "port")
	case 1:
		p["tcpSocket"] = map[string]any{"port": pick(r, 80, 443)}
	case 2:
		p["exec"] = map[string]any{"command": []any{"true", pick(r, "x", "y")}}
	default:
		p["grpc"] = map[string]any{"port": 90}
	}
	return p
}

func container(r *rand.Rand, name string) map[string]any {
	return some(r, map[string]any{
		"name": name, "image": "nowhere/" + pick(r, "a", "b"), "env": env(r), "ports": containerPorts(r),
		"args": few(r, "-v", "-x", "-v"), "command": []any{"run"},
		"resources": some(r, map[string]any{"limits": map[string]any{"cpu": "4", "memory": "4Gi"},
			"requests": quantities(r)}),
		"readinessProbe": probe(r), "imagePullPolicy": pick(r, "Always", "IfNotPresent"),
		"volumeMounts": mounts(r), "securityContext": pick(r, map[string]any{}, map[string]any{"runAsUser": 5},
			map[string]any{"capabilities": map[string]any{"drop": []any{"ALL"}}}),
		"envFrom": few(r, map[string]any{"configMapRef": map[string]any{"name": "c1"}},
			map[string]any{"secretRef": map[string]any{"name": "s1"}}),
		"lifecycle": pick(r, map[string]any{},
			map[string]any{"preStop": map[string]any{"exec": map[string]any{"command": []any{"x"}}}}),
		"livenessProbe": probe(r),
	}, "name", "image")
}

func mounts(r *rand.Rand) []any {
	var out []any
	for _, path := range few(r, "/a", "/b", "/c") {
		out = append(out, some(r, map[string]any{"mountPath": path, "name": pick(r, "v1", "v2"),
			"readOnly": r.IntN(2) > 0, "subPath": "s"}, "mountPath", "name"))
	}
	return out
}

func volumes(r *rand.Rand) []any {
	out := []any{}
	for _, name := range []string{"v1", "v2", "v3"}[:2+r.IntN(2)] { // mounts refer to the first two
		v := map[string]any{"name": name}
		switch r.IntN(5) {
		case 0:
			v["emptyDir"] = pick(r, map[string]any{}, map[string]any{"medium": "Memory"})
		case 1:
			v["configMap"] = some(r, map[string]any{"name": "c1", "items": few(r, map[string]any{"key": "k",
				"path": "p"}, map[string]any{"key": "l", "path": "q"})}, "name")
		case 2:
			v["secret"] = some(r, map[string]any{"secretName": pick(r, "s1", "s2"), "defaultMode": 256}, "secretName")
		case 3:
			v["projected"] = map[string]any{"sources": few(r,
				map[string]any{"secret": map[string]any{"name": "s1"}},
				map[string]any{"configMap": map[string]any{"name": "c1"}})}
		default:
			v["hostPath"] = map[string]any{"path": pick(r, "/x", "/y")}
		}
		out = append(out, v)
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func selector(key string) map[string]any {
	return map[string]any{"matchLabels": map[string]any{"app": key}}
}

func spread(r *rand.Rand) []any {
	var out []any
	for _, zone := range few(r, "zone", "host", "zone") {
		out = append(out, some(r, map[string]any{
			"topologyKey": zone, "whenUnsatisfiable": pick(r, "DoNotSchedule", "ScheduleAnyway"), "maxSkew": pick(r, 1, 2),
			"labelSelector": selector(pick(r, "x", "y")),
		}, "topologyKey", "whenUnsatisfiable", "maxSkew"))
	}
	return out
}

func podSpec(r *rand.Rand) map[string]any {
	containers := []any{container(r, "main")}
	for _, name := range few(r, "side", "proxy") {
		containers = append(containers, container(r, name.(string)))
	}
	r.Shuffle(len(containers), func(i, j int) { containers[i], containers[j] = containers[j], containers[i] })
	return some(r, map[string]any{
		"containers": containers, "volumes": volumes(r), "topologySpreadConstraints": spread(r),
		"nodeSelector": some(r, map[string]any{"disk": pick(r, "ssd", "hdd"), "zone": "a"}),
		"tolerations": few(r, map[string]any{"key": "a", "operator": "Exists"}, map[string]any{"key": "b",
			"value": "1", "effect": "NoSchedule"},
			map[string]any{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": pick(r, 5, 6)}),
		"imagePullSecrets": few(r, map[string]any{"name": "r1"}, map[string]any{"name": "r2"}),
		"hostAliases": few(r, map[string]any{"ip": "1.1.1.1", "hostnames": few(r, "a", "b")},
			map[string]any{"ip": "2.2.2.2"}),
		"securityContext": pick(r, map[string]any{}, map[string]any{"runAsUser": 7},
			map[string]any{"fsGroup": 5, "sysctls": []any{map[string]any{"name": "net.x", "value": "1"}}},
			map[string]any{"supplementalGroups": few(r, 1, 2, 3)}),
		"initContainers": few(r, container(r, "init1"), container(r, "init2")), "serviceAccountName": pick(r, "one", "two"),
		"dnsConfig": some(r, map[string]any{"nameservers": few(r, "1.1.1.1", "2.2.2.2"),
			"options": few(r, map[string]any{"name": "ndots", "value": pick(r, "1", "2")}, map[string]any{"name": "edns0"})}),
		"terminationGracePeriodSeconds": pick(r, 0, 5),
		"affinity": pick(r, map[string]any{},
			map[string]any{"podAntiAffinity": map[string]any{"preferredDuringSchedulingIgnoredDuringExecution": []any{
				map[string]any{"weight": pick(r, 1, 2), "podAffinityTerm": map[string]any{"topologyKey": "host",
					"labelSelector": selector("x")}},
			}}}),
	}, "containers", "volumes")
}

func podTemplate(r *rand.Rand) map[string]any {
	meta := map[string]any{"labels": labels(r), "annotations": labels(r)}
	meta["labels"].(map[string]any)["app"] = "x"
	return map[string]any{"metadata": some(r, meta, "labels"), "spec": podSpec(r)}
}

// object returns an object with metadata.
func object(r *rand.Rand, content map[string]any) map[string]any {
	content["metadata"] = some(r, map[string]any{"labels": labels(r), "annotations": labels(r)})
	return content
}

func spec(r *rand.Rand, s map[string]any) map[string]any { return object(r, map[string]any{"spec": s}) }

func servicePorts(r *rand.Rand) []any {
	var out []any
	for i, n := range few(r, 53, 53, 80, 443) {
		p := some(r, map[string]any{
			"name": fmt.Sprintf("%s%d", pick(r, "a", "b", "c"), i), "port": n, "protocol": pick(r, "TCP",
				"UDP"), "targetPort": pick[any](r, 53, 8080, "web"),
			"appProtocol": pick(r, "http", "x.io/y"),
		}, "name", "port")
		out = append(out, p)
	}
	return append(out, map[string]any{"name": "z", "port": 9000})
}

func job(r *rand.Rand) map[string]any {
	t := podTemplate(r)
	t["spec"].(map[string]any)["restartPolicy"] = "Never"
	return some(r, map[string]any{"template": t, "suspend": true, "backoffLimit": pick(r, 1, 2),
		"ttlSecondsAfterFinished": pick(r, 1000, 2000)}, "template", "suspend")
}

func rules(r *rand.Rand) []any {
	var out []any
	for range r.IntN(3) {
		out = append(out, some(r, map[string]any{"apiGroups": []any{""}, "resources": few(r, "pods", "secrets"),
			"verbs": []any{"get", pick(r, "list", "watch")}, "resourceNames": few(r, "x", "y")},
			"apiGroups", "resources", "verbs"))
	}
	return out
}

func backend(r *rand.Rand) map[string]any {
	port := pick(r, map[string]any{"number": 80}, map[string]any{"number": 81}, map[string]any{"name": "web"})
	return map[string]any{"service": map[string]any{"name": pick(r, "a", "b"), "port": port}}
}

func ingress(r *rand.Rand) map[string]any {
	var hosts []any
	for _, h := range few(r, "a.example", "b.example") {
		var paths []any
		for _, p := range few(r, "/", "/x") {
			paths = append(paths, map[string]any{"path": p, "pathType": pick(r, "Prefix", "Exact"), "backend": backend(r)})
		}
		hosts = append(hosts, map[string]any{"host": h, "http": map[string]any{"paths": append(paths,
			map[string]any{"pathType": "Prefix", "path": "/z", "backend": backend(r)})}})
	}
	return some(r, map[string]any{
		"rules": hosts, "defaultBackend": backend(r), "ingressClassName": pick(r, "nginx", "other"),
		"tls": few(r, map[string]any{"hosts": few(r, "a.example", "b.example"), "secretName": "t"}),
	}, "defaultBackend")
}

func widget(r *rand.Rand) map[string]any {
	item := func(name any) any {
		return some(r, map[string]any{"name": name, "size": pick(r, 1, 2), "note": pick(r, "", "x")}, "name")
	}
	var named, paired []any
	for _, n := range few(r, "a", "b", "c") {
		named = append(named, item(n))
	}
	seen := map[string]bool{}
	for _, n := range few(r, 53, 80, 53) {
		p := some(r, map[string]any{"port": n, "protocol": pick(r, "TCP", "UDP"), "note": pick(r, "x", "y")}, "port")
		if key := fmt.Sprint(n, cmpOr(p["protocol"], "TCP")); !seen[key] {
			paired, seen[key] = append(paired, p), true
		}
	}
	return some(r, map[string]any{
		"atomicMap": labels(r), "granular": labels(r), "named": named, "paired": paired, "set": few(r, "a", "b",
			"c"), "list": few(r, "a", "b", "a"),
		"items": few(r, item("a"), item("b"), item("b")), "open": some(r, map[string]any{"a": pick[any](r, 1,
			"1", nil, []any{1}), "b": map[string]any{"c": pick(r, 1, 2)}, "labels": labels(r)}),
		"labels": labels(r), "annotations": labels(r), "nullable": pick[any](r, nil, "x"), "port": pick[any](r,
			1, "1"), "defaulted": pick(r, "d", "e"),
		"deep": map[string]any{"labels": labels(r), "atomic": few(r, 1, 2)},
	})
}

func cmpOr(v, or any) any {
	if v == nil {
		return or
	}
	return v
}

// Kinds are kinds of objects that are common in charts.
func Kinds() []*Kind {
	workload := []string{"spec.selector", "spec.template.metadata.labels.app"}
	return []*Kind{
		{"apps/v1", "Deployment", "apis/apps/v1/namespaces/%s/deployments", func(r *rand.Rand) map[string]any {
			return spec(r, some(r, map[string]any{
				"replicas": pick(r, 0, 0, 1), "selector": selector("x"), "template": podTemplate(r),
				"paused": true, "minReadySeconds": pick(r, 0, 5), "revisionHistoryLimit": 3,
				"strategy": pick(r, map[string]any{"type": "Recreate"}, map[string]any{"type": "RollingUpdate"}, map[string]any{},
					map[string]any{"rollingUpdate": map[string]any{"maxSurge": pick[any](r, 1, "30%")}}),
			}, "selector", "template", "replicas", "paused"))
		}, workload},
		{"apps/v1", "StatefulSet", "apis/apps/v1/namespaces/%s/statefulsets", func(r *rand.Rand) map[string]any {
			return spec(r, some(r, map[string]any{
				"replicas": 0, "selector": selector("x"), "template": podTemplate(r), "serviceName": "s",
				"minReadySeconds": pick(r, 0, 5),
				"updateStrategy": pick(r, map[string]any{"type": "OnDelete"},
					map[string]any{"rollingUpdate": map[string]any{"partition": pick(r, 1, 2)}}),
			}, "selector", "template", "replicas", "serviceName"))
		}, workload},
		{"apps/v1", "DaemonSet", "apis/apps/v1/namespaces/%s/daemonsets", func(r *rand.Rand) map[string]any {
			t := podTemplate(r)
			t["spec"].(map[string]any)["nodeSelector"] = map[string]any{"no": "where"}
			return spec(r, map[string]any{"selector": selector("x"), "template": t})
		}, append(workload, "spec.template.spec.nodeSelector")},
		{"v1", "Service", "api/v1/namespaces/%s/services", func(r *rand.Rand) map[string]any {
			return spec(r, some(r, map[string]any{
				"selector": some(r, map[string]any{"app": pick(r, "x", "y"), "tier": "a", "role": "r"}), "ports": servicePorts(r),
				"type": pick(r, "ClusterIP", "NodePort"), "sessionAffinity": pick(r, "ClientIP", "None"),
				"externalIPs":              few(r, "1.2.3.4", "5.6.7.8"),
				"publishNotReadyAddresses": r.IntN(2) > 0, "internalTrafficPolicy": pick(r, "Local", "Cluster"),
			}, "ports"))
		}, nil},
		{"v1", "ConfigMap", "api/v1/namespaces/%s/configmaps", func(r *rand.Rand) map[string]any {
			return object(r, some(r, map[string]any{"data": labels(r), "binaryData": some(r,
				map[string]any{"bin": pick(r, "AAE=", "AAI=")})}))
		}, nil},
		{"v1", "Secret", "api/v1/namespaces/%s/secrets", func(r *rand.Rand) map[string]any {
			return object(r, some(r, map[string]any{
				"data":       some(r, map[string]any{"a": pick(r, "eA==", "eQ=="), "b": "eg=="}),
				"stringData": some(r, map[string]any{"b": pick(r, "p", "q"), "c": pick(r, "", "r")}),
			}))
		}, nil},
		{"networking.k8s.io/v1", "Ingress", "apis/networking.k8s.io/v1/namespaces/%s/ingresses",
			func(r *rand.Rand) map[string]any { return spec(r, ingress(r)) }, nil},
		{"policy/v1", "PodDisruptionBudget", "apis/policy/v1/namespaces/%s/poddisruptionbudgets",
			func(r *rand.Rand) map[string]any {
				s := map[string]any{"selector": selector(pick(r, "x", "y"))}
				s[pick(r, "minAvailable", "maxUnavailable")] = pick[any](r, 1, "30%")
				return spec(r, s)
			}, nil},
		{"autoscaling/v2", "HorizontalPodAutoscaler",
			"apis/autoscaling/v2/namespaces/%s/horizontalpodautoscalers", func(r *rand.Rand) map[string]any {
				metric := func(name string) any {
					return map[string]any{"type": "Resource", "resource": map[string]any{"name": name,
						"target": map[string]any{"type": "Utilization", "averageUtilization": pick(r, 50, 60)}}}
				}
				return spec(r, some(r, map[string]any{
					"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": pick(r,
						"a", "b")}, "maxReplicas": pick(r, 5, 6), "minReplicas": pick(r, 1, 2),
					"metrics":  few(r, metric("cpu"), metric("memory")),
					"behavior": map[string]any{"scaleDown": map[string]any{"stabilizationWindowSeconds": pick(r, 5, 6)}},
				}, "scaleTargetRef", "maxReplicas"))
			}, nil},
		{"networking.k8s.io/v1", "NetworkPolicy", "apis/networking.k8s.io/v1/namespaces/%s/networkpolicies",
			func(r *rand.Rand) map[string]any {
				return spec(r, some(r, map[string]any{
					"podSelector": pick(r, map[string]any{}, selector("x"), selector("y")), "policyTypes": few(r,
						"Ingress", "Egress"),
					"ingress": few(r, map[string]any{"ports": few(r, map[string]any{"port": 80},
						map[string]any{"port": 53, "protocol": "UDP"})},
						map[string]any{"from": []any{map[string]any{"podSelector": selector("x")}}}),
				}, "podSelector"))
			}, nil},
		{"rbac.authorization.k8s.io/v1", "Role", "apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles",
			func(r *rand.Rand) map[string]any {
				return object(r, map[string]any{"rules": rules(r)})
			}, nil},
		{"rbac.authorization.k8s.io/v1", "RoleBinding",
			"apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings", func(r *rand.Rand) map[string]any {
				return object(r, map[string]any{
					"roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"},
					"subjects": few(r, map[string]any{"kind": "ServiceAccount", "name": "a", "namespace": "x"},
						map[string]any{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}),
				})
			}, nil},
		{"batch/v1", "CronJob", "apis/batch/v1/namespaces/%s/cronjobs", func(r *rand.Rand) map[string]any {
			return spec(r, some(r, map[string]any{
				"schedule": pick(r, "0 0 1 1 *", "1 0 1 1 *"), "suspend": true,
				"jobTemplate": map[string]any{"spec": job(r)}, "concurrencyPolicy": pick(r, "Allow",
					"Forbid"), "timeZone": "Etc/UTC",
			}, "schedule", "suspend", "jobTemplate"))
		}, nil},
		{"batch/v1", "Job", "apis/batch/v1/namespaces/%s/jobs",
			func(r *rand.Rand) map[string]any { return spec(r, job(r)) }, []string{"spec.template"}},
		{"v1", "ServiceAccount", "api/v1/namespaces/%s/serviceaccounts", func(r *rand.Rand) map[string]any {
			return object(r, some(r, map[string]any{
				"imagePullSecrets":             few(r, map[string]any{"name": "r1"}, map[string]any{"name": "r2"}),
				"automountServiceAccountToken": r.IntN(2) > 0,
				"secrets":                      few(r, map[string]any{"name": "s1"}, map[string]any{"name": "s2"}),
			}))
		}, nil},
		{"v1", "PersistentVolumeClaim", "api/v1/namespaces/%s/persistentvolumeclaims", func(r *rand.Rand) map[string]any {
			return spec(r, map[string]any{"accessModes": []any{"ReadWriteOnce"}, "storageClassName": "none",
				"resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}}})
		}, []string{"spec"}},
		{"moonhelm.test/v1", "Widget", "apis/moonhelm.test/v1/namespaces/%s/widgets",
			func(r *rand.Rand) map[string]any { return spec(r, widget(r)) }, nil},
	}
}
