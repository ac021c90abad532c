// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// parseObject parses YAML. It returns nil for "".
func parseObject(t testing.TB, text string) map[string]any {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var m map[string]any
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", "  ")), &m); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return m
}

// newItem returns an item with apiVersion, kind and a name added to each state.
func newItem(t testing.TB, gvk, live, want string, olds ...string) Item {
	t.Helper()
	apiVersion, kind, _ := strings.Cut(gvk, " ")
	named := func(text string) map[string]any {
		m := parseObject(t, text)
		if m == nil {
			return nil
		}
		m["apiVersion"], m["kind"] = apiVersion, kind
		if m["metadata"] == nil {
			m["metadata"] = map[string]any{}
		}
		m["metadata"].(map[string]any)["name"] = "web"
		return m
	}
	item := Item{Ref: Ref{APIVersion: apiVersion, Kind: kind, Namespace: "shop", Name: "web"}, Live: named(live), New: named(want)}
	for _, old := range olds {
		item.Old = append(item.Old, named(old))
	}
	return item
}

// computeOne returns the step of a plan with one item, or nil.
func computeOne(t testing.TB, item Item, o Options) *Step {
	t.Helper()
	p, err := Compute([]Item{item}, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Steps) == 0 {
		return nil
	}
	return &p.Steps[0]
}

func TestMerge(t *testing.T) {
	for _, tc := range []struct {
		name            string
		kind            string
		old, live, want string
		after           string // "" if nothing changes
		patch           string // checked if not ""
	}{{
		name:  "scaled to 0 by hand, rolled back to 3",
		kind:  "apps/v1 Deployment",
		old:   `{spec: {replicas: 3}}`,
		live:  `{spec: {replicas: 0, revisionHistoryLimit: 10}}`,
		want:  `{spec: {replicas: 3}}`,
		after: `{spec: {replicas: 3, revisionHistoryLimit: 10}}`,
		patch: `{spec: {replicas: 3}}`,
	}, {
		name:  "injected sidecar is kept",
		kind:  "apps/v1 Deployment",
		old:   `{spec: {template: {spec: {containers: [{name: server, image: nginx:2.0.0}]}}}}`,
		live:  `{spec: {template: {spec: {containers: [{name: server, image: nginx:2.0.0}, {name: my-injected-sidecar, image: my-cool-mesh:1.0.0}]}}}}`,
		want:  `{spec: {template: {spec: {containers: [{name: server, image: nginx:2.1.0}]}}}}`,
		after: `{spec: {template: {spec: {containers: [{name: server, image: nginx:2.1.0}, {name: my-injected-sidecar, image: my-cool-mesh:1.0.0}]}}}}`,
		patch: `{spec: {template: {spec: {$setElementOrder/containers: [{name: server}], containers: [{name: server, image: nginx:2.1.0}]}}}}`,
	}, {
		name: "unchanged, with the server's defaults",
		kind: "apps/v1 Deployment",
		old:  `{spec: {replicas: 3, template: {spec: {containers: [{name: a, ports: [{containerPort: 80}]}]}}}}`,
		live: `{metadata: {uid: x, generation: 4, resourceVersion: "7", managedFields: []}, status: {replicas: 3},
			spec: {replicas: 3, strategy: {type: RollingUpdate}, template: {metadata: {creationTimestamp: null}, spec: {
			dnsPolicy: ClusterFirst, containers: [{name: a, imagePullPolicy: Always, ports: [{containerPort: 80, protocol: TCP}]}]}}}}`,
		want: `{spec: {replicas: 3, template: {spec: {containers: [{name: a, ports: [{containerPort: 80}]}]}}}}`,
	}, {
		name: "omitted false, 0 and empty values are equal",
		kind: "apps/v1 Deployment",
		old:  `{spec: {minReadySeconds: 0, template: {spec: {hostNetwork: false, serviceAccountName: "", containers: [{name: a, stdin: false, env: [{name: A, value: ""}], volumeMounts: [{mountPath: /v, name: v, readOnly: false}]}], volumes: [{name: v, emptyDir: {medium: ""}}]}}}}`,
		live: `{spec: {template: {spec: {containers: [{name: a, env: [{name: A}], volumeMounts: [{mountPath: /v, name: v}]}], volumes: [{name: v, emptyDir: {}}]}}}}`,
		want: `{spec: {minReadySeconds: 0, template: {spec: {hostNetwork: false, serviceAccountName: "", containers: [{name: a, stdin: false, env: [{name: A, value: ""}], volumeMounts: [{mountPath: /v, name: v, readOnly: false}]}], volumes: [{name: v, emptyDir: {medium: ""}}]}}}}`,
	}, {
		name:  "values are reset to false, 0 or empty",
		kind:  "apps/v1 Deployment",
		old:   `{spec: {minReadySeconds: 0, template: {spec: {hostNetwork: false}}}}`,
		live:  `{spec: {minReadySeconds: 5, template: {spec: {hostNetwork: true}}}}`,
		want:  `{spec: {minReadySeconds: 0, template: {spec: {hostNetwork: false}}}}`,
		after: `{spec: {minReadySeconds: 0, template: {spec: {hostNetwork: false}}}}`,
	}, {
		name:  "empty value in a map with arbitrary keys",
		kind:  "v1 ConfigMap",
		live:  `{data: {a: b}}`,
		want:  `{data: {a: b, value: "", host: ""}}`,
		after: `{data: {a: b, value: "", host: ""}}`,
	}, {
		name:  "false is written if it differs from a missing value",
		kind:  "v1 ServiceAccount",
		live:  `{metadata: {labels: {a: b}}}`,
		want:  `{metadata: {labels: {a: b}}, automountServiceAccountToken: false}`,
		after: `{metadata: {labels: {a: b}}, automountServiceAccountToken: false}`,
	}, {
		name:  "custom resource: empty values",
		kind:  "example.com/v1 Widget",
		live:  `{spec: {size: 3}}`,
		want:  `{spec: {size: 3, host: "", paused: false}}`,
		after: `{spec: {size: 3, host: "", paused: false}}`,
	}, {
		name:  "labels of other clients are kept, dropped ones removed",
		kind:  "v1 ConfigMap",
		old:   `{metadata: {labels: {app: web, tier: front}}}`,
		live:  `{metadata: {labels: {app: web, tier: front, team: blue}}}`,
		want:  `{metadata: {labels: {app: web}}}`,
		after: `{metadata: {labels: {app: web, team: blue}}}`,
		patch: `{metadata: {labels: {tier: null}}}`,
	}, {
		name:  "annotations of other clients are kept when the chart has none",
		kind:  "apps/v1 Deployment",
		old:   `{spec: {template: {metadata: {annotations: {checksum: abc}}}}}`,
		live:  `{spec: {template: {metadata: {annotations: {checksum: abc, restartedAt: noon}}}}}`,
		want:  `{spec: {template: {metadata: {}}}}`,
		after: `{spec: {template: {metadata: {annotations: {restartedAt: noon}}}}}`,
		patch: `{spec: {template: {metadata: {annotations: {checksum: null}}}}}`,
	}, {
		name: "empty annotations in the template",
		kind: "apps/v1 Deployment",
		old:  `{spec: {template: {metadata: {annotations: null}}}}`,
		live: `{spec: {template: {metadata: {annotations: {restartedAt: noon}}}}}`,
		want: `{spec: {template: {metadata: {annotations: null}}}}`,
	}, {
		name:  "last annotation is removed with the map",
		kind:  "v1 ConfigMap",
		old:   `{metadata: {annotations: {a: b}}}`,
		live:  `{metadata: {annotations: {a: b}}}`,
		want:  `{metadata: {}}`,
		after: `{metadata: {}}`,
		patch: `{metadata: {annotations: null}}`,
	}, {
		name:  "dropped field is removed with its defaults",
		kind:  "v1 Pod",
		old:   `{spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 80}}}]}}`,
		live:  `{spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 80, scheme: HTTP}, periodSeconds: 10}, stdin: true}]}}`,
		want:  `{spec: {containers: [{name: a}]}}`,
		after: `{spec: {containers: [{name: a, stdin: true}]}}`,
	}, {
		name: "dropped field that does not exist",
		kind: "v1 Pod",
		old:  `{spec: {hostNetwork: true, containers: [{name: a}]}}`,
		live: `{spec: {containers: [{name: a}]}}`,
		want: `{spec: {containers: [{name: a}]}}`,
	}, {
		name:  "dropped container and variable, others' are kept",
		kind:  "v1 Pod",
		old:   `{spec: {containers: [{name: a, env: [{name: X, value: "1"}, {name: Y, value: "2"}]}, {name: b}]}}`,
		live:  `{spec: {containers: [{name: mesh}, {name: a, env: [{name: M, value: m}, {name: X, value: "1"}, {name: Y, value: "2"}]}, {name: b}]}}`,
		want:  `{spec: {containers: [{name: a, env: [{name: Y, value: "2"}]}]}}`,
		after: `{spec: {containers: [{name: mesh}, {name: a, env: [{name: M, value: m}, {name: Y, value: "2"}]}]}}`,
	}, {
		name:  "finalizers and volumes of other clients are kept when the chart has none",
		kind:  "v1 Pod",
		old:   `{metadata: {finalizers: [x/ours]}, spec: {volumes: [{name: ours, emptyDir: {}}]}}`,
		live:  `{metadata: {finalizers: [x/ours, x/theirs]}, spec: {volumes: [{name: ours, emptyDir: {}}, {name: mesh, emptyDir: {}}]}}`,
		want:  `{spec: {volumes: null}}`,
		after: `{metadata: {finalizers: [x/theirs]}, spec: {volumes: [{name: mesh, emptyDir: {}}]}}`,
	}, {
		name: "dropped limits",
		kind: "v1 Pod",
		old:  `{spec: {containers: [{name: a, resources: {limits: {cpu: 1}}}]}}`,
		live: `{spec: {containers: [{name: a, resources: {}}]}}`,
		want: `{spec: {containers: [{name: a}]}}`,
	}, {
		name:  "order of variables",
		kind:  "v1 Pod",
		old:   `{spec: {containers: [{name: a, env: [{name: X, value: "1"}, {name: Y, value: $(X)}]}]}}`,
		live:  `{spec: {containers: [{name: a, env: [{name: Y, value: $(X)}, {name: X, value: "1"}]}]}}`,
		want:  `{spec: {containers: [{name: a, env: [{name: X, value: "1"}, {name: Y, value: $(X)}]}]}}`,
		after: `{spec: {containers: [{name: a, env: [{name: X, value: "1"}, {name: Y, value: $(X)}]}]}}`,
		patch: `{spec: {$setElementOrder/containers: [{name: a}], containers: [{name: a, $setElementOrder/env: [{name: X}, {name: Y}]}]}}`,
	}, {
		name:  "lists without a key are replaced",
		kind:  "v1 Pod",
		old:   `{spec: {tolerations: [{key: a}]}}`,
		live:  `{spec: {tolerations: [{key: a}, {key: b}]}}`,
		want:  `{spec: {tolerations: [{key: a}]}}`,
		after: `{spec: {tolerations: [{key: a}]}}`,
	}, {
		name:  "other kind of volume",
		kind:  "v1 Pod",
		old:   `{spec: {volumes: [{name: v, configMap: {name: c}}]}}`,
		live:  `{spec: {volumes: [{name: v, configMap: {name: c, defaultMode: 420}}]}}`,
		want:  `{spec: {volumes: [{name: v, emptyDir: {}}]}}`,
		after: `{spec: {volumes: [{name: v, emptyDir: {}}]}}`,
		patch: `{spec: {$setElementOrder/volumes: [{name: v}], volumes: [{name: v, emptyDir: {}, $retainKeys: [emptyDir, name]}]}}`,
	}, {
		name:  "Recreate removes the defaults of RollingUpdate",
		kind:  "apps/v1 Deployment",
		old:   `{spec: {replicas: 1}}`,
		live:  `{spec: {replicas: 1, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%}}}}`,
		want:  `{spec: {replicas: 1, strategy: {type: Recreate}}}`,
		after: `{spec: {replicas: 1, strategy: {type: Recreate}}}`,
		patch: `{spec: {strategy: {type: Recreate, $retainKeys: [type]}}}`,
	}, {
		name:  "strategy becomes empty",
		kind:  "apps/v1 Deployment",
		old:   `{spec: {strategy: {rollingUpdate: {maxSurge: 30%}}}}`,
		live:  `{spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 30%, maxUnavailable: 25%}}}}`,
		want:  `{spec: {strategy: {}}}`,
		after: `{spec: {strategy: {}}}`,
		patch: `{spec: {strategy: {$retainKeys: []}}}`,
	}, {
		name:  "ports of two protocols with one number",
		kind:  "v1 Service",
		old:   `{spec: {ports: [{name: d, port: 53, protocol: UDP}, {name: t, port: 53, protocol: TCP}]}}`,
		live:  `{spec: {ports: [{name: d, port: 53, protocol: UDP, nodePort: 30001}, {name: t, port: 53, protocol: TCP, nodePort: 30002}]}}`,
		want:  `{spec: {ports: [{name: d, port: 53, protocol: UDP}, {name: t, port: 53, protocol: TCP, targetPort: 5353}]}}`,
		after: `{spec: {ports: [{name: d, port: 53, protocol: UDP, nodePort: 30001}, {name: t, port: 53, protocol: TCP, nodePort: 30002, targetPort: 5353}]}}`,
	}, {
		name: "port that another client has inserted first",
		kind: "v1 Service",
		old:  `{spec: {ports: [{name: dns, port: 53}]}}`,
		live: `{spec: {ports: [{name: udp, port: 53, protocol: UDP, nodePort: 30001}, {name: dns, port: 53, protocol: TCP, nodePort: 30002}]}}`,
		want: `{spec: {ports: [{name: dns, port: 53}]}}`,
	}, {
		name:  "changed port of one of two protocols",
		kind:  "v1 Service",
		old:   `{spec: {ports: [{name: dns, port: 53}]}}`,
		live:  `{spec: {ports: [{name: udp, port: 53, protocol: UDP, nodePort: 30001}, {name: dns, port: 53, protocol: TCP, nodePort: 30002}]}}`,
		want:  `{spec: {ports: [{name: dns, port: 53, targetPort: 5353}]}}`,
		after: `{spec: {ports: [{name: udp, port: 53, protocol: UDP, nodePort: 30001}, {name: dns, port: 53, protocol: TCP, nodePort: 30002, targetPort: 5353}]}}`,
		patch: `{spec: {ports: [{name: udp, port: 53, protocol: UDP, nodePort: 30001}, {name: dns, port: 53, protocol: TCP, nodePort: 30002, targetPort: 5353}]}}`,
	}, {
		name:  "removed protocol is restored, the other keeps its node port",
		kind:  "v1 Service",
		old:   `{spec: {ports: [{name: t, port: 53, protocol: TCP}, {name: u, port: 53, protocol: UDP}]}}`,
		live:  `{spec: {ports: [{name: u, port: 53, protocol: UDP, nodePort: 30002}]}}`,
		want:  `{spec: {ports: [{name: t, port: 53, protocol: TCP}, {name: u, port: 53, protocol: UDP}]}}`,
		after: `{spec: {ports: [{name: t, port: 53, protocol: TCP}, {name: u, port: 53, protocol: UDP, nodePort: 30002}]}}`,
	}, {
		name:  "order of ports is restored",
		kind:  "v1 Service",
		old:   `{spec: {ports: [{name: t, port: 53, protocol: TCP}, {name: u, port: 53, protocol: UDP}]}}`,
		live:  `{spec: {ports: [{name: u, port: 53, protocol: UDP, nodePort: 30002}, {name: t, port: 53, protocol: TCP, nodePort: 30001}]}}`,
		want:  `{spec: {ports: [{name: t, port: 53, protocol: TCP}, {name: u, port: 53, protocol: UDP}]}}`,
		after: `{spec: {ports: [{name: t, port: 53, protocol: TCP, nodePort: 30001}, {name: u, port: 53, protocol: UDP, nodePort: 30002}]}}`,
	}, {
		name: "chart omits the default protocol",
		kind: "v1 Service",
		old:  `{spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}}`,
		live: `{spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}}`,
		want: `{spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}}`,
	}, {
		name:  "chart changes a port's protocol",
		kind:  "v1 Pod",
		old:   `{spec: {containers: [{name: a, ports: [{containerPort: 53, protocol: UDP}]}]}}`,
		live:  `{spec: {containers: [{name: a, ports: [{containerPort: 53, protocol: UDP}]}]}}`,
		want:  `{spec: {containers: [{name: a, ports: [{containerPort: 53}]}]}}`,
		after: `{spec: {containers: [{name: a, ports: [{containerPort: 53}]}]}}`,
		patch: `{spec: {containers: [{name: a, ports: [{containerPort: 53}]}]}}`,
	}, {
		name:  "topology constraint of another client is kept",
		kind:  "v1 Pod",
		old:   `{spec: {topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}]}}`,
		live:  `{spec: {topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, maxSkew: 1}, {topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}]}}`,
		want:  `{spec: {topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 2}]}}`,
		after: `{spec: {topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, maxSkew: 1}, {topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 2}]}}`,
	}, {
		name:  "duplicate variable",
		kind:  "v1 Pod",
		old:   `{spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: B, value: $(A)}, {name: A, value: "2"}]}]}}`,
		live:  `{spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: B, value: $(A)}, {name: A, value: "2"}]}]}}`,
		want:  `{spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: B, value: $(A)}, {name: A, value: "3"}]}]}}`,
		after: `{spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: B, value: $(A)}, {name: A, value: "3"}]}]}}`,
		patch: `{spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: B, value: $(A)}, {name: A, value: "3"}]}]}}`,
	}, {
		name:  "finalizers of other clients are kept",
		kind:  "v1 ConfigMap",
		old:   `{metadata: {finalizers: [x/ours, x/gone]}}`,
		live:  `{metadata: {finalizers: [x/theirs, x/ours, x/gone]}}`,
		want:  `{metadata: {finalizers: [x/ours, x/new]}}`,
		after: `{metadata: {finalizers: [x/theirs, x/ours, x/new]}}`,
	}, {
		name:  "custom resource: lists are replaced",
		kind:  "example.com/v1 Shop",
		old:   `{spec: {size: 1, colour: red, items: [{name: a}]}}`,
		live:  `{spec: {size: 1, colour: red, items: [{name: a}, {name: b}], theirs: 1}}`,
		want:  `{spec: {size: 2, items: [{name: a}]}}`,
		after: `{spec: {size: 2, items: [{name: a}], theirs: 1}}`,
		patch: `{spec: {size: 2, colour: null, items: [{name: a}]}}`,
	}, {
		name:  "custom resource: dropped null",
		kind:  "example.com/v1 Thing",
		old:   `{spec: {nullable: null, kept: null, size: 1}}`,
		live:  `{spec: {nullable: null, kept: null, other: null, size: 1}}`,
		want:  `{spec: {kept: null, size: 1}}`,
		after: `{spec: {kept: null, other: null, size: 1}}`,
		patch: `{spec: {nullable: null}}`,
	}, {
		name: "equal numbers",
		kind: "example.com/v1 Shop",
		old:  `{spec: {a: 1}}`,
		live: `{spec: {a: 1.0, b: 2}}`,
		want: `{spec: {a: 1, b: 2.0}}`,
	}, {
		name:  "null removes values of other clients",
		kind:  "v1 Service",
		live:  `{spec: {clusterIP: 10.0.0.1, type: ClusterIP}}`,
		want:  `{spec: {type: ClusterIP, clusterIP: null, externalName: null}}`,
		after: `{spec: {type: ClusterIP}}`,
		patch: `{spec: {clusterIP: null}}`,
	}, {
		name: "values that are equal for the API",
		kind: "v1 Pod",
		old:  `{spec: {nodeSelector: {}, tolerations: []}}`,
		live: `{spec: {containers: [{name: a, resources: {limits: {cpu: "1", memory: 1Gi}}}], volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}]}}`,
		want: `{spec: {nodeSelector: {}, tolerations: [], containers: [{name: a, args: [], resources: {limits: {cpu: 1000m, memory: 1024Mi}}}], volumes: [{name: v, emptyDir: {sizeLimit: 1024Mi}}]}}`,
	}, {
		name: "claims of a stateful set, with defaults",
		kind: "apps/v1 StatefulSet",
		live: `{spec: {volumeClaimTemplates: [{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d, creationTimestamp: null}, spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}, status: {phase: Pending}}]}}`,
		want: `{spec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`,
	}, {
		name:  "selector of a budget is replaced",
		kind:  "policy/v1 PodDisruptionBudget",
		old:   `{spec: {selector: {matchLabels: {a: b}}}}`,
		live:  `{spec: {selector: {matchLabels: {a: b, c: d}}}}`,
		want:  `{spec: {selector: {matchLabels: {a: b}}}}`,
		after: `{spec: {selector: {matchLabels: {a: b}}}}`,
	}, {
		name:  "Secret: stringData",
		kind:  "v1 Secret",
		old:   `{stringData: {user: admin, pass: old, gone: x}}`,
		live:  `{data: {user: YWRtaW4=, pass: b2xk, gone: eA==, other: eA==}}`,
		want:  `{stringData: {user: admin, pass: new}}`,
		after: `{data: {user: YWRtaW4=, pass: bmV3, other: eA==}}`,
		patch: `{data: {pass: bmV3, gone: null}}`,
	}, {
		name: "Secret: unchanged stringData",
		kind: "v1 Secret",
		old:  `{stringData: {user: admin}}`,
		live: `{data: {user: YWRtaW4=}}`,
		want: `{stringData: {user: admin}}`,
	}, {
		name: "null in data and labels is an empty string",
		kind: "v1 ConfigMap",
		old:  `{metadata: {labels: {l: null}, annotations: {a: null}}, data: {d: null}}`,
		live: `{metadata: {labels: {l: ""}, annotations: {a: ""}}, data: {d: ""}}`,
		want: `{metadata: {labels: {l: null}, annotations: {a: null}}, data: {d: null}}`,
	}, {
		name:  "value in data and labels becomes null",
		kind:  "v1 ConfigMap",
		old:   `{metadata: {labels: {l: x}}, data: {d: x}}`,
		live:  `{metadata: {labels: {l: x}}, data: {d: x}}`,
		want:  `{metadata: {labels: {l: null}}, data: {d: null}}`,
		after: `{metadata: {labels: {l: ""}}, data: {d: ""}}`,
		patch: `{metadata: {labels: {l: ""}}, data: {d: ""}}`,
	}, {
		name:  "dropped null in data and labels",
		kind:  "v1 ConfigMap",
		old:   `{metadata: {labels: {l: null, k: x}}, data: {d: null, e: x}}`,
		live:  `{metadata: {labels: {l: "", k: x}}, data: {d: "", e: x}}`,
		want:  `{metadata: {labels: {k: x}}, data: {e: x}}`,
		after: `{metadata: {labels: {k: x}}, data: {e: x}}`,
	}, {
		name: "null in a pod template, quantities and an atomic list",
		kind: "apps/v1 Deployment",
		old:  `{spec: {selector: {matchLabels: {x: null}}, template: {metadata: {labels: {x: null}}, spec: {nodeSelector: {z: null}, containers: [{name: a, resources: {limits: {cpu: null}}}]}}}}`,
		live: `{spec: {selector: {matchLabels: {x: ""}}, template: {metadata: {labels: {x: ""}}, spec: {nodeSelector: {z: ""}, containers: [{name: a, resources: {limits: {cpu: "0"}}}]}}}}`,
		want: `{spec: {selector: {matchLabels: {x: null}}, template: {metadata: {labels: {x: null}}, spec: {nodeSelector: {z: null}, containers: [{name: a, resources: {limits: {cpu: null}}}]}}}}`,
	}, {
		name: "null in a selector in an atomic list",
		kind: "networking.k8s.io/v1 NetworkPolicy",
		old:  `{spec: {ingress: [{from: [{podSelector: {matchLabels: {a: null}}}]}]}}`,
		live: `{spec: {ingress: [{from: [{podSelector: {matchLabels: {a: ""}}}]}]}}`,
		want: `{spec: {ingress: [{from: [{podSelector: {matchLabels: {a: null}}}]}]}}`,
	}, {
		name: "a null in a Service's selector",
		kind: "v1 Service",
		old:  `{spec: {selector: {a: null}}}`,
		live: `{spec: {selector: {a: ""}}}`,
		want: `{spec: {selector: {a: null}}}`,
	}, {
		name:  "Secret: null in stringData",
		kind:  "v1 Secret",
		old:   `{stringData: {a: x, b: null}, data: {c: null}}`,
		live:  `{data: {a: eA==, b: "", c: ""}}`,
		want:  `{stringData: {a: null, b: null}, data: {c: null}}`,
		after: `{data: {a: "", b: "", c: ""}}`,
	}, {
		name:  "custom resource: empty maps named labels and annotations",
		kind:  "example.com/v1 Shop",
		old:   `{spec: {labels: {a: b}}}`,
		live:  `{spec: {labels: {a: b}}}`,
		want:  `{spec: {labels: {}, annotations: {}, template: {metadata: {labels: {}}}}}`,
		after: `{spec: {labels: {}, annotations: {}, template: {metadata: {labels: {}}}}}`,
	}, {
		name:  "custom resource: map named labels is removed, nulls are kept",
		kind:  "example.com/v1 Shop",
		old:   `{spec: {labels: {a: b}, annotations: {a: b}}}`,
		live:  `{spec: {labels: {a: b, c: d}, annotations: {a: b}}}`,
		want:  `{spec: {annotations: {a: null}}}`,
		after: `{spec: {annotations: {}}}`,
		patch: `{spec: {labels: null, annotations: {a: null}}}`,
	}, {
		name: "custom resource: empty labels",
		kind: "example.com/v1 Shop",
		live: `{metadata: {annotations: {a: ""}}}`,
		want: `{metadata: {labels: {}, annotations: {a: null}}}`,
	}, {
		name:  "dropped empty security contexts of a container and a pod",
		kind:  "v1 Pod",
		old:   `{spec: {securityContext: {}, containers: [{name: a, securityContext: {}, resources: {}}]}}`,
		live:  `{spec: {securityContext: {}, containers: [{name: a, securityContext: {}, resources: {}}]}}`,
		want:  `{spec: {containers: [{name: a}]}}`,
		after: `{spec: {securityContext: {}, containers: [{name: a, resources: {}}]}}`,
	}, {
		name:  "valueFrom set by another client is replaced by value",
		kind:  "v1 Pod",
		old:   `{spec: {containers: [{name: a, env: [{name: A, value: x}]}]}}`,
		live:  `{spec: {containers: [{name: a, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}}`,
		want:  `{spec: {containers: [{name: a, env: [{name: A, value: x}]}]}}`,
		after: `{spec: {containers: [{name: a, env: [{name: A, value: x}]}]}}`,
		patch: `{spec: {$setElementOrder/containers: [{name: a}], containers: [{name: a, $setElementOrder/env: [{name: A}], env: [{name: A, value: x, valueFrom: null}]}]}}`,
	}, {
		name:  "value set by another client is replaced by valueFrom",
		kind:  "v1 Pod",
		old:   `{spec: {containers: [{name: a, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}}`,
		live:  `{spec: {containers: [{name: a, env: [{name: A, value: x}]}]}}`,
		want:  `{spec: {containers: [{name: a, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}}`,
		after: `{spec: {containers: [{name: a, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}}`,
	}, {
		name:  "other valueFrom",
		kind:  "v1 Pod",
		old:   `{spec: {containers: [{name: a, env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}]}]}}`,
		live:  `{spec: {containers: [{name: a, env: [{name: A, valueFrom: {configMapKeyRef: {name: s, key: k}}}]}]}}`,
		want:  `{spec: {containers: [{name: a, env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}]}]}}`,
		after: `{spec: {containers: [{name: a, env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}]}]}}`,
	}, {
		name: "variable without value in the chart",
		kind: "v1 Pod",
		old:  `{spec: {containers: [{name: a, env: [{name: A}]}]}}`,
		live: `{spec: {containers: [{name: a, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}}`,
		want: `{spec: {containers: [{name: a, env: [{name: A}]}]}}`,
	}, {
		name:  "probes and hooks of another kind",
		kind:  "v1 Pod",
		old:   `{spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 80}}, lifecycle: {preStop: {exec: {command: [x]}}}}]}}`,
		live:  `{spec: {containers: [{name: a, livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 10}, lifecycle: {preStop: {sleep: {seconds: 1}}}}]}}`,
		want:  `{spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 80}}, lifecycle: {preStop: {exec: {command: [x]}}}}]}}`,
		after: `{spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 80}, periodSeconds: 10}, lifecycle: {preStop: {exec: {command: [x]}}}}]}}`,
	}, {
		name:  "minAvailable replaced by maxUnavailable",
		kind:  "policy/v1 PodDisruptionBudget",
		old:   `{spec: {minAvailable: 1}}`,
		live:  `{spec: {maxUnavailable: 1}}`,
		want:  `{spec: {minAvailable: 1}}`,
		after: `{spec: {minAvailable: 1}}`,
	}, {
		name:  "Ingress with another kind of backend",
		kind:  "networking.k8s.io/v1 Ingress",
		old:   `{spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}}`,
		live:  `{spec: {defaultBackend: {service: {name: a, port: {name: http}}, resource: {kind: X, name: x}}}}`,
		want:  `{spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}}`,
		after: `{spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}}`,
	}, {
		name:  "strategy by discriminator, with other fields",
		kind:  "apps/v1 StatefulSet",
		old:   `{spec: {replicas: 1}}`,
		live:  `{spec: {replicas: 1, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}}`,
		want:  `{spec: {replicas: 1, updateStrategy: {type: OnDelete}}}`,
		after: `{spec: {replicas: 1, updateStrategy: {type: OnDelete}}}`,
	}, {
		name:  "strategy without discriminator",
		kind:  "apps/v1 StatefulSet",
		old:   `{spec: {updateStrategy: {rollingUpdate: {partition: 1}}}}`,
		live:  `{spec: {updateStrategy: {type: OnDelete}}}`,
		want:  `{spec: {updateStrategy: {rollingUpdate: {partition: 1}}}}`,
		after: `{spec: {updateStrategy: {rollingUpdate: {partition: 1}}}}`,
	}, {
		name: "strategy by discriminator, with defaults",
		kind: "apps/v1 DaemonSet",
		old:  `{spec: {updateStrategy: {type: RollingUpdate}}}`,
		live: `{spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}}`,
		want: `{spec: {updateStrategy: {type: RollingUpdate}}}`,
	}, {
		name:  "profile of another kind",
		kind:  "v1 Pod",
		old:   `{spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}}}`,
		live:  `{spec: {securityContext: {seccompProfile: {type: Localhost, localhostProfile: x}}}}`,
		want:  `{spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}}}`,
		after: `{spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}}}`,
	}, {
		name:  "webhook with another target",
		kind:  "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
		old:   `{webhooks: [{name: a, clientConfig: {service: {name: s, namespace: n}}}]}`,
		live:  `{webhooks: [{name: a, clientConfig: {url: "https://x", caBundle: eA==}}]}`,
		want:  `{webhooks: [{name: a, clientConfig: {service: {name: s, namespace: n}}}]}`,
		after: `{webhooks: [{name: a, clientConfig: {service: {name: s, namespace: n}, caBundle: eA==}}]}`,
	}, {
		name: "status is ignored",
		kind: "example.com/v1 Shop",
		old:  `{spec: {a: 1}, status: {x: 1}}`,
		live: `{spec: {a: 1}, status: {ready: true}}`,
		want: `{spec: {a: 1}, status: {}}`,
	}} {
		t.Run(tc.name, func(t *testing.T) {
			item := newItem(t, tc.kind, tc.live, tc.want)
			if tc.old != "" {
				item = newItem(t, tc.kind, tc.live, tc.want, tc.old)
			}
			before, _ := json.Marshal(item)
			s := computeOne(t, item, Options{})
			if after, _ := json.Marshal(item); string(after) != string(before) {
				t.Error("Compute changed its input")
			}
			if tc.after == "" {
				if s.Action != Unchanged || s.Patch != nil {
					t.Fatalf("%s by %s", s.Action, s.Patch)
				}
				return
			}
			if s.Action != Update {
				t.Fatalf("action is %s", s.Action)
			}
			want := newItem(t, tc.kind, tc.after, "").Live
			if !equalJSON(s.After, want) {
				t.Errorf("after is\n%s\nwant\n%s\nby %s", FormatObject(s.After), FormatObject(want), s.Patch)
			}
			if tc.patch != "" && !equalJSON(parseObject(t, string(s.Patch)), parseObject(t, tc.patch)) {
				t.Errorf("patch is %s\nwant %s", s.Patch, tc.patch)
			}
			item.Live = s.After
			if again := computeOne(t, item, Options{}); again.Action != Unchanged {
				t.Errorf("the second time it changes again: %s", again.Patch)
			}
		})
	}
}

// equalJSON compares two objects as JSON.
func equalJSON(a, b map[string]any) bool {
	round := func(m map[string]any) (out any) {
		raw, _ := json.Marshal(m)
		_ = json.Unmarshal(raw, &out)
		return out
	}
	return reflect.DeepEqual(round(a), round(b))
}

func TestMergeFailedRevisions(t *testing.T) {
	// Revision 2 failed after it had added a variable and a label.
	item := newItem(t, "v1 Pod",
		`{metadata: {labels: {app: web, beta: "yes"}}, spec: {containers: [{name: a, env: [{name: X, value: "1"}, {name: BETA, value: "1"}]}]}}`,
		`{metadata: {labels: {app: web}}, spec: {containers: [{name: a, env: [{name: X, value: "1"}]}]}}`,
		`{metadata: {labels: {app: web}}, spec: {containers: [{name: a, env: [{name: X, value: "1"}]}]}}`,
		`{metadata: {labels: {app: web, beta: "yes"}}, spec: {containers: [{name: a, env: [{name: X, value: "1"}, {name: BETA, value: "1"}]}]}}`,
	)
	s := computeOne(t, item, Options{})
	want := newItem(t, "v1 Pod", `{metadata: {labels: {app: web}}, spec: {containers: [{name: a, env: [{name: X, value: "1"}]}]}}`, "").Live
	if !equalJSON(s.After, want) {
		t.Errorf("after is\n%s", FormatObject(s.After))
	}
}

func TestActions(t *testing.T) {
	const cm = "v1 ConfigMap"
	keep := `{metadata: {annotations: {helm.sh/resource-policy: " Keep"}}}`
	for _, tc := range []struct {
		name    string
		item    Item
		options Options
		action  Action // "" if there is no step
		reason  string
	}{
		{name: "new object", item: newItem(t, cm, "", "{data: {a: b}}"), action: Create},
		{name: "deleted from the cluster", item: newItem(t, cm, "", "{data: {a: b}}", "{data: {a: b}}"), action: Create},
		{name: "removed from the chart", item: newItem(t, cm, "{data: {a: b}}", "", "{data: {a: b}}"), action: Delete},
		{name: "removed from the chart and deleted", item: newItem(t, cm, "", "", "{data: {a: b}}")},
		{name: "keep policy in the manifest", item: newItem(t, cm, "{}", "", keep), action: Keep, reason: "helm.sh/resource-policy: keep"},
		{name: "keep policy of the live object", item: newItem(t, cm, keep, "", "{}"), action: Keep, reason: "helm.sh/resource-policy: keep"},
		{name: "keep policy in an older manifest", item: newItem(t, cm, "{}", "", keep, "{}"), action: Delete},
		{
			name: "other owner", item: newItem(t, cm, "{}", "", "{}"), action: Keep, reason: "belongs to shop",
			options: Options{ForeignReason: func(Item) string { return "belongs to shop" }},
		},
		{
			name: "same owner", item: newItem(t, cm, "{}", "", "{}"), action: Delete,
			options: Options{ForeignReason: func(Item) string { return "" }},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := computeOne(t, tc.item, tc.options)
			if s == nil {
				if tc.action != "" {
					t.Fatalf("no step, want %s", tc.action)
				}
				return
			}
			if s.Action != tc.action || s.Reason != tc.reason {
				t.Errorf("got %q because of %q, want %q because of %q", s.Action, s.Reason, tc.action, tc.reason)
			}
		})
	}
}

func TestObjectInTwoGroups(t *testing.T) {
	was := newItem(t, "extensions/v1beta1 Ingress", `{metadata: {uid: "1"}}`, "", "{}")
	is := newItem(t, "networking.k8s.io/v1 Ingress", `{metadata: {uid: "1"}}`, "{}")
	other := newItem(t, "v1 ConfigMap", `{metadata: {uid: "2"}}`, "", "{}")
	p, err := Compute([]Item{is, was, other}, Options{})
	if err != nil || len(p.Steps) != 2 || p.Steps[0].Action != Unchanged || p.Steps[1].Action != Delete || p.Steps[1].Kind != "ConfigMap" {
		t.Errorf("steps are %+v (%v)", p.Steps, err)
	}
}

func TestServerSide(t *testing.T) {
	const cm, managed = "v1 ConfigMap", `metadata: {managedFields: [{manager: helm, operation: Apply}]}`
	for _, tc := range []struct {
		name   string
		item   Item
		action Action
	}{
		{"new", newItem(t, cm, "", "{data: {a: b}}"), Create},
		{"written by the client so far", newItem(t, cm, "{data: {a: b}, metadata: {managedFields: [{manager: helm, operation: Update}]}}", "{data: {a: b}}", "{data: {a: b}}"), Update},
		{"changed by someone", newItem(t, cm, "{data: {a: x}, "+managed+"}", "{data: {a: b}}", "{data: {a: b}}"), Update},
		{"dropped from the chart", newItem(t, cm, "{data: {a: b, c: d}, "+managed+"}", "{data: {a: b}}", "{data: {a: b, c: d}}"), Update},
		{"no old manifest", newItem(t, cm, "{data: {a: b}, "+managed+"}", "{data: {a: b}}"), Update},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := computeOne(t, tc.item, Options{ServerSide: true})
			if s.Action != tc.action {
				t.Fatalf("action is %s, want %s", s.Action, tc.action)
			}
			if s.Action == Unchanged {
				return
			}
			if s.Type != ServerApply || !equalJSON(parseObject(t, string(s.Patch)), tc.item.New) {
				t.Errorf("%s patch %s", s.Type, s.Patch)
			}
		})
	}
}

func TestServerSideSecretStringData(t *testing.T) {
	s := computeOne(t, newItem(t, "v1 Secret", "", "{stringData: {a: b}, immutable: null}"), Options{ServerSide: true})
	if want := `{"apiVersion":"v1","data":{"a":"Yg=="},"kind":"Secret","metadata":{"name":"web"}}`; string(s.Patch) != want {
		t.Errorf("patch is %s", s.Patch)
	}
}

func TestReplaceable(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": true, "false": false, "": false} {
		t.Run(value, func(t *testing.T) {
			s := computeOne(t, newItem(t, "batch/v1 Job", "", `{metadata: {annotations: {helm.sh/replace: "`+value+`"}}}`), Options{})
			if Replaceable(*s) != want {
				t.Errorf("%q is %v", value, !want)
			}
		})
	}
}

func TestComputeErrors(t *testing.T) {
	const pod = "v1 Pod"
	for _, tc := range []struct {
		name string
		item Item
		want string
	}{
		{"no metadata", Item{Ref: Ref{"v1", "Pod", "shop", "web"}, Source: "web/templates/pod.yaml", New: map[string]any{"spec": nil}}, "Pod/web (web/templates/pod.yaml): metadata is missing"},
		{"metadata that is not a map", Item{Ref: Ref{"v1", "Pod", "shop", "web"}, New: map[string]any{"metadata": []any{1}}, Live: map[string]any{"metadata": "x"}}, "Pod/web: metadata is missing"},
		{"a list for a map", newItem(t, pod, "{spec: {containers: [{name: a}]}}", "{spec: [1]}"), "Pod/web: spec is a list, and must be a map"},
		{"a map for a list", newItem(t, pod, "{spec: {containers: [{name: a}]}}", "{spec: {containers: {name: a}}}"), "Pod/web: spec.containers is a map, and must be a list"},
		{"text for a map", newItem(t, pod, "{spec: {containers: [{name: a}]}}", "{spec: hello}"), "Pod/web: spec is a plain value, and must be a map"},
		{"text in a list of maps", newItem(t, pod, "{spec: {containers: [{name: a}]}}", "{spec: {containers: [a]}}"), "Pod/web: spec.containers[0] is a plain value, and must be a map"},
		{"no name", newItem(t, pod, "{spec: {containers: [{name: a}]}}", "{spec: {containers: [{name: a}, {image: b}]}}"), "Pod/web: spec.containers[1] must have the field name"},
		{"null", newItem(t, pod, "{spec: {containers: [{name: a}]}}", "{spec: {containers: [null]}}"), "Pod/web: spec.containers[0] is a plain value, and must be a map"},
		{"deep inside", newItem(t, pod, "{spec: {containers: [{name: a, env: [{name: b}]}]}}", "{spec: {containers: [{name: a, env: [{name: [b]}]}]}}"), "Pod/web: spec.containers[a].env[0] is a list, and must be a plain value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Compute([]Item{tc.item}, Options{})
			var e *Error
			if !errors.As(err, &e) || err.Error() != tc.want {
				t.Errorf("error is %v, want %s", err, tc.want)
			}
		})
	}
}

// In some lists the server keeps items without their key.
func TestMergeOptionalKey(t *testing.T) {
	const keyless = "{spec: {imagePullSecrets: [{}], nodeName: a}}"
	for _, tc := range []struct {
		name, live, want string
		old              string
		patch            string // "" if there is none
	}{
		{"unchanged", keyless, keyless, keyless, ""},
		{"as null", keyless, "{spec: {imagePullSecrets: [{name: null}], nodeName: a}}", keyless, ""},
		{"as empty text", keyless, `{spec: {imagePullSecrets: [{name: ""}], nodeName: a}}`, keyless, ""},
		{"beside a change", keyless, "{spec: {imagePullSecrets: [{}], nodeName: b}}", keyless, `{"spec":{"nodeName":"b"}}`},
		{"it gets its key", keyless, "{spec: {imagePullSecrets: [{name: x}], nodeName: a}}", keyless, `{"spec":{"imagePullSecrets":[{"name":"x"}]}}`},
		{"it loses its key", "{spec: {imagePullSecrets: [{name: x}], nodeName: a}}", keyless,
			"{spec: {imagePullSecrets: [{name: x}], nodeName: a}}", `{"spec":{"imagePullSecrets":[{}]}}`},
		{"another is added", keyless, "{spec: {imagePullSecrets: [{}, {name: x}], nodeName: a}}", keyless, `{"spec":{"imagePullSecrets":[{},{"name":"x"}]}}`},
		{"it goes", keyless, "{spec: {nodeName: a}}", keyless, `{"spec":{"imagePullSecrets":null}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			item := newItem(t, "v1 Pod", tc.live, tc.want, tc.old)
			s := computeOne(t, item, Options{})
			if string(s.Patch) != tc.patch || s.Drifted {
				t.Errorf("patch is %s, want %s; drifted is %v", s.Patch, tc.patch, s.Drifted)
			}
			if _, err := Compute([]Item{item}, Options{ServerSide: true}); err != nil {
				t.Errorf("server-side: %v", err)
			}
		})
	}
}

func TestMergeInvalidOldManifest(t *testing.T) {
	item := newItem(t, "v1 Pod", "{spec: {containers: [{name: a}]}}", "{spec: {containers: [{name: a, image: b}]}}",
		"{spec: {containers: {name: a}}}", "{spec: [1]}", "{spec: {containers: [x, null, {image: y}]}, metadata: null}")
	if s := computeOne(t, item, Options{}); string(s.Patch) != `{"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"image":"b","name":"a"}]}}` || s.Drifted {
		t.Errorf("patch is %s, drifted %v", s.Patch, s.Drifted)
	}
}

// Charts are untrusted input, and live objects may be invalid too.
func TestComputeInvalidValues(t *testing.T) {
	for _, pair := range [][2]string{
		{"9e999999999", "1"}, {"1e2147483647", "1000m"}, {"1e-2147483648", "0"}, {"0." + strings.Repeat("0", 1<<20) + "1", "1"},
		{strings.Repeat("9", 1<<20), "1"}, {"1e100000", "1"},
	} {
		if sameQuantity(pair[0], pair[1]) || sameQuantity(pair[1], pair[0]) {
			t.Errorf("%.20s is %s", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{{"1000m", "1"}, {"1e3", "1k"}, {"1E", "1e18"}, {"2Ei", "2305843009213693952"}} {
		if !sameQuantity(pair[0], pair[1]) {
			t.Errorf("%s is not %s", pair[0], pair[1])
		}
	}
	for _, uid := range []any{[]any{"a"}, map[string]any{}, int64(1), nil} {
		live := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "uid": uid}}
		ref := Ref{APIVersion: "v1", Kind: "ConfigMap", Name: "a"}
		p, err := Compute([]Item{{Ref: ref, New: live, Live: live}, {Ref: ref, Live: live}}, Options{})
		if err != nil || len(p.Steps) != 2 {
			t.Errorf("uid %v: %v, %v", uid, p, err)
		}
	}
}
