// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

// send sends a request that must succeed.
func (s *releaseCase) send(method, path, contentType, body string, query url.Values) {
	s.Helper()
	if _, err := s.c.Call(s.Context(), method, path, query, http.Header{"Content-Type": {contentType}}, []byte(body)); err != nil {
		s.Fatalf("%s %s: %v\n%s", method, path, err, body)
	}
}

// edit changes an object like another client, with a JSON merge patch.
func (s *releaseCase) edit(path, patch string) {
	s.Helper()
	s.send(http.MethodPatch, path, "application/merge-patch+json", patch, url.Values{"fieldManager": {"other"}})
}

// applyRaw is a plain server-side apply by helm's manager.
func (s *releaseCase) applyRaw(path, object string) {
	s.Helper()
	s.send(http.MethodPatch, path, applyPatch, object, url.Values{"fieldManager": {"helm"}, "force": {"true"}})
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keyed is a list whose items have two keys.
type keyed struct {
	name       string
	apiVersion string
	kind       string
	path       string // API path of the objects
	manifest   string // of an object, with verbs for its name and the list as JSON
	patch      string // format of a patch that sets the list
	at         []string
	keys       [2]string
	pool       []map[string]any
}

// The items of a pool have different keys; a changed item has another target.
var keyedKinds = []keyed{{
	name: "ports of a Service", apiVersion: "v1", kind: "Service", path: "/api/v1/namespaces/%s/services/%s",
	manifest: `{"apiVersion":"v1","kind":"Service","metadata":{"name":%q},"spec":{"selector":{"app":"web"},"ports":%s}}`,
	patch:    `{"spec":{"ports":%s}}`, at: []string{"spec", "ports"}, keys: [2]string{"port", "protocol"},
	pool: []map[string]any{
		{"name": "a", "port": 53}, {"name": "b", "port": 53, "protocol": "UDP"}, {"name": "c", "port": 53, "protocol": "SCTP"},
		{"name": "d", "port": 80, "protocol": "TCP"}, {"name": "e", "port": 80, "protocol": "UDP"},
	},
}, {
	name: "ports of a container", apiVersion: "apps/v1", kind: "Deployment", path: "/apis/apps/v1/namespaces/%s/deployments/%s",
	manifest: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"replicas":0,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web","ports":%s}]}}}}`,
	patch:    `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web","ports":%s}]}}}}`,
	at:       []string{"spec", "template", "spec", "containers", "ports"}, keys: [2]string{"containerPort", "protocol"},
	pool: []map[string]any{
		{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP", "name": "b"}, {"containerPort": 53, "protocol": "SCTP"},
		{"containerPort": 80, "protocol": "TCP", "name": "d"}, {"containerPort": 80, "protocol": "UDP"},
	},
}, {
	name: "topology spread constraints", apiVersion: "apps/v1", kind: "Deployment", path: "/apis/apps/v1/namespaces/%s/deployments/%s",
	manifest: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"replicas":0,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web"}],"topologySpreadConstraints":%s}}}}`,
	patch:    `{"spec":{"template":{"spec":{"topologySpreadConstraints":%s}}}}`,
	at:       []string{"spec", "template", "spec", "topologySpreadConstraints"}, keys: [2]string{"topologyKey", "whenUnsatisfiable"},
	pool: []map[string]any{
		{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}, {"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 1},
		{"topologyKey": "host", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}, {"topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 2},
	},
}}

// some returns at least one item of the pool, in random order.
func (k keyed) some(r *rand.Rand) []map[string]any {
	out := slices.Clone(k.pool)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:1+r.IntN(len(out))]
}

// list returns the items of an object's list by their keys, without node ports.
func (k keyed) list(object map[string]any) map[string]any {
	var v any = object
	for _, key := range k.at {
		if l, ok := v.([]any); ok {
			v = l[0]
		}
		m, _ := v.(map[string]any)
		v = m[key]
	}
	out := map[string]any{}
	l, _ := v.([]any)
	for _, item := range l {
		m := item.(map[string]any)
		delete(m, "nodePort")
		out[fmt.Sprint(m[k.keys[0]], "/", m[k.keys[1]])] = m
	}
	return out
}

// For generated charts and edits, an upgrade merges lists whose items have two keys like
// server-side apply.
func TestMergeListsWithTwoKeys(t *testing.T) {
	t.Parallel() // it mostly waits for the server
	s := newReleaseCase(t)
	for _, k := range keyedKinds {
		t.Run(k.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, uint64(len(k.name))))
			for n := range 25 {
				old, live, now := k.some(r), k.some(r), k.some(r)
				ours, reference := fmt.Sprintf("%s-%d", strings.ToLower(k.at[len(k.at)-1]), n), fmt.Sprintf("ref-%s-%d", strings.ToLower(k.at[len(k.at)-1]), n)
				say := func(name string, items []map[string]any) string {
					return fmt.Sprintf(k.manifest, name, jsonOf(t, items))
				}
				at := func(name string) string { return fmt.Sprintf(k.path, s.ns, name) }

				s.Old = nil
				s.to(say(ours, old))
				s.edit(at(ours), fmt.Sprintf(k.patch, jsonOf(t, live)))
				s.to(say(ours, now))

				s.applyRaw(at(reference), say(reference, old))
				s.edit(at(reference), fmt.Sprintf(k.patch, jsonOf(t, live)))
				s.applyRaw(at(reference), say(reference, now))

				got, want := k.list(s.get(k.apiVersion, k.kind, ours)), k.list(s.get(k.apiVersion, k.kind, reference))
				if !reflect.DeepEqual(got, want) {
					t.Errorf("old  %s\nlive %s\nnew  %s\ngot  %s\nwant %s", jsonOf(t, old), jsonOf(t, live), jsonOf(t, now), jsonOf(t, got), jsonOf(t, want))
				}
				if says := s.to(say(ours, now)); says != "unchanged "+k.kind+"/"+ours {
					t.Errorf("old %s\nlive %s\nnew %s\nthen: %s", jsonOf(t, old), jsonOf(t, live), jsonOf(t, now), says)
				}
			}
		})
	}
}

// A patch with whole lists is computed again if another client has changed them.
func TestMergeAtomicListsWithConcurrentChanges(t *testing.T) {
	const service = `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web},
		ports: [{name: tcp, port: 53, targetPort: %d}, {name: udp, port: 53, protocol: UDP}]}}`
	s := newReleaseCase(t)
	s.to(fmt.Sprintf(service, 53))
	p, _ := s.plan(fmt.Sprintf(service, 5353))
	s.edit("/api/v1/namespaces/"+s.ns+"/services/web", `{"spec":{"ports":[{"name":"tcp","port":53},{"name":"udp","port":53,"protocol":"UDP"},{"name":"ops","port":9}]}}`)
	if err := s.c.Execute(t.Context(), p, p.Steps); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, port := range api.Field(s.get("v1", "Service", "web"), "spec", "ports").([]any) {
		got = append(got, apitest.At(port, "name")+" "+apitest.At(port, "targetPort"))
	}
	apitest.Want(t, "ports", strings.Join(got, ", "), "tcp 5353, udp 53, ops 9")
}

// An object that the server can never apply is sent once.
func TestMergeDuplicateItems(t *testing.T) {
	s := newReleaseCase(t)
	s.ServerSide = true
	err := s.fails(`
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: a, image: a, env: [{name: A, value: "1"}, {name: A, value: "2"}]}]}
`)
	var again *kube.RetryError
	if errors.As(err, &again) || !strings.Contains(err.Error(), `duplicate entries for key [name="A"]`) {
		t.Errorf("error is %v", err)
	}
}

// define creates a kind of custom resource with the given schema of spec.
func (s *releaseCase) define(kind, schema string) {
	s.Helper()
	objects := apitest.Parse(s, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.moon.example.com}
spec:
  group: moon.example.com
  scope: Namespaced
  names: {plural: %[1]ss, singular: %[1]s, kind: %[2]s}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: %[3]s}}}}
`, strings.ToLower(kind), kind, schema))
	if err := s.c.InstallCRDs(s.Context(), objects); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { discard(s.c, objects) })
}

func TestMergeEmptyLabelsOfCustomResource(t *testing.T) {
	s := newReleaseCase(t)
	kind := fmt.Sprintf("Moon%x", rand.Uint32())
	s.define(kind, "{type: object, x-kubernetes-preserve-unknown-fields: true}")
	moon := func(spec string) string {
		return "apiVersion: moon.example.com/v1\nkind: " + kind + "\nmetadata: {name: web}\nspec: " + spec
	}
	s.to(moon("{labels: {a: b}, annotations: {a: b}}"))
	for _, step := range []struct{ spec, want string }{
		{"{labels: {}, annotations: {a: null}, template: {metadata: {labels: {}}}}", `{"annotations":{},"labels":{},"template":{"metadata":{"labels":{}}}}`},
		{"{size: 1}", `{"size":1}`},
	} {
		s.to(moon(step.spec))
		if got := jsonOf(t, s.get("moon.example.com/v1", kind, "web")["spec"]); got != step.want {
			t.Errorf("%s: the spec is %s, want %s", step.spec, got, step.want)
		}
		if says := s.to(moon(step.spec)); says != "unchanged "+kind+"/web" {
			t.Errorf("%s again: %s", step.spec, says)
		}
	}
}

// If another client sets the other field of a union, the next upgrade restores the chart's, and
// none fails because both are set.
func TestMergeUnion(t *testing.T) {
	const (
		core   = "/api/v1/namespaces/%s/"
		apps   = "/apis/apps/v1/namespaces/%s/"
		podded = "apiVersion: apps/v1\nkind: %s\nmetadata: {name: web}\nspec: {replicas: 0, selector: {matchLabels: {a: b}}, %s template: {metadata: {labels: {a: b}}, spec: {%s containers: [{name: a, image: a, %s}]}}}"
	)
	deployment := func(strategy, pod, container string) string {
		return fmt.Sprintf(podded, "Deployment", strategy, pod, container)
	}
	container := func(fields string) string {
		return `{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"a",` + fields + `}]}}}}`
	}
	for _, tc := range []struct {
		name, path, manifest, edit string
		at                         []string
		want                       string
	}{
		{
			"a variable's value", apps + "deployments/web", deployment("", "", "env: [{name: A, value: x}]"),
			container(`"env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]`),
			[]string{"env"}, `[{"name":"A","value":"x"}]`,
		}, {
			"a variable's source", apps + "deployments/web", deployment("", "", "env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]"),
			container(`"env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"s","key":"k"}}}]`),
			[]string{"env"}, `[{"name":"A","valueFrom":{"secretKeyRef":{"key":"k","name":"s"}}}]`,
		}, {
			"a probe", apps + "deployments/web", deployment("", "", "livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 5}"),
			container(`"livenessProbe":{"exec":{"command":["x"]},"tcpSocket":null}`),
			[]string{"livenessProbe"}, `{"failureThreshold":3,"periodSeconds":5,"successThreshold":1,"tcpSocket":{"port":80},"timeoutSeconds":1}`,
		}, {
			"a lifecycle hook", apps + "deployments/web", deployment("", "", "lifecycle: {preStop: {sleep: {seconds: 1}}}"),
			container(`"lifecycle":{"preStop":{"exec":{"command":["x"]}}}`),
			[]string{"lifecycle"}, `{"preStop":{"sleep":{"seconds":1}}}`,
		}, {
			"a container's profile", apps + "deployments/web", deployment("", "", "securityContext: {seccompProfile: {type: RuntimeDefault}}"),
			container(`"securityContext":{"seccompProfile":{"type":"Localhost","localhostProfile":"x"}}`),
			[]string{"securityContext"}, `{"seccompProfile":{"type":"RuntimeDefault"}}`,
		}, {
			"a volume", apps + "deployments/web", deployment("", "volumes: [{name: v, emptyDir: {medium: Memory}}],", "volumeMounts: []"),
			`{"spec":{"template":{"spec":{"volumes":[{"name":"v","configMap":{"name":"c"}}]}}}}`,
			[]string{"spec", "template", "spec", "volumes"}, `[{"emptyDir":{"medium":"Memory"},"name":"v"}]`,
		}, {
			"a Deployment's strategy", apps + "deployments/web", deployment("strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}},", "", "args: []"),
			`{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`,
			[]string{"spec", "strategy"}, `{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0},"type":"RollingUpdate"}`,
		}, {
			"a StatefulSet's strategy", apps + "statefulsets/web", fmt.Sprintf(podded, "StatefulSet", "serviceName: a, updateStrategy: {type: OnDelete},", "", "args: []"),
			`{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}}}}`,
			[]string{"spec", "updateStrategy"}, `{"type":"OnDelete"}`,
		}, {
			"a disruption budget", "/apis/policy/v1/namespaces/%s/poddisruptionbudgets/web",
			"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {minAvailable: 1, selector: {matchLabels: {a: b}}}",
			`{"spec":{"minAvailable":null,"maxUnavailable":1}}`,
			[]string{"spec"}, `{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}`,
		}, {
			"an Ingress's port", "/apis/networking.k8s.io/v1/namespaces/%s/ingresses/web",
			"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec: {defaultBackend: {service: {name: a, port: {number: 80}}}}",
			`{"spec":{"defaultBackend":{"service":{"name":"a","port":{"number":null,"name":"http"}}}}}`,
			[]string{"spec", "defaultBackend"}, `{"service":{"name":"a","port":{"number":80}}}`,
		}, {
			"an Ingress's backend", "/apis/networking.k8s.io/v1/namespaces/%s/ingresses/web",
			"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec: {defaultBackend: {service: {name: a, port: {number: 80}}}}",
			`{"spec":{"defaultBackend":{"service":null,"resource":{"kind":"X","name":"x"}}}}`,
			[]string{"spec", "defaultBackend"}, `{"service":{"name":"a","port":{"number":80}}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newReleaseCase(t)
			s.to(tc.manifest)
			s.edit(fmt.Sprintf(tc.path, s.ns), tc.edit)
			s.to(tc.manifest)
			object := s.get(s.New[0].APIVersion, s.New[0].Kind, "web")
			got := api.Field(object, tc.at...)
			if len(tc.at) == 1 && tc.at[0] != "spec" {
				got = api.Field(object, "spec", "template", "spec", "containers").([]any)[0].(map[string]any)[tc.at[0]]
			}
			if jsonOf(t, got) != tc.want {
				t.Errorf("%s is %s, want %s", tc.at, jsonOf(t, got), tc.want)
			}
			if says := s.to(tc.manifest); !strings.HasPrefix(says, "unchanged") {
				t.Errorf("then: %s", says)
			}
		})
	}
}

// everyKind is a chart with objects of common kinds in common styles: with and without explicit
// defaults, quantities, strings.
const everyKind = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
automountServiceAccountToken: false
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {app: web}}
data: {a: b, empty: ""}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
type: Opaque
stringData: {user: admin}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: ClusterIP
  selector: {app: web}
  ports:
  - {name: http, port: 80, targetPort: http}
  - {name: dns, port: 53}
  - {name: dns-udp, port: 53, protocol: UDP}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {note: text}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}
  template:
    metadata: {labels: {app: web}, annotations: {checksum: "1"}}
    spec:
      serviceAccountName: web
      hostNetwork: false
      nodeSelector: {disk: ssd}
      securityContext: {runAsNonRoot: true, fsGroup: 1}
      tolerations: [{key: a, operator: Exists}]
      imagePullSecrets: [{name: p}]
      topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, maxSkew: 1, labelSelector: {matchLabels: {app: web}}}]
      affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: host, labelSelector: {matchLabels: {app: web}}}}]}}
      initContainers: [{name: init, image: i, command: [a, b]}]
      containers:
      - name: web
        image: web:1
        imagePullPolicy: IfNotPresent
        args: [--a, --b]
        ports: [{name: http, containerPort: 8080, protocol: TCP}, {name: dns, containerPort: 53, protocol: UDP}]
        env:
        - {name: A, value: ""}
        - {name: B, value: b}
        - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: S, valueFrom: {secretKeyRef: {name: web, key: user}}}
        envFrom: [{configMapRef: {name: web}}]
        resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: 0.5}}
        livenessProbe: {httpGet: {path: /, port: http}}
        readinessProbe: {httpGet: {path: /, port: http}, periodSeconds: 5}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
        volumeMounts: [{name: c, mountPath: /c, readOnly: true}, {name: e, mountPath: /e}]
      volumes:
      - {name: c, configMap: {name: web, items: [{key: a, path: a}]}}
      - {name: e, emptyDir: {}}
      - {name: t, projected: {sources: [{serviceAccountToken: {path: token}}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  replicas: 0
  serviceName: web
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: db, volumeMounts: [{name: d, mountPath: /d}]}]}
  volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {rules: [{host: x.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec: {podSelector: {matchLabels: {app: web}}, ingress: [{ports: [{port: 80}], from: [{podSelector: {}}]}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 1, maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}
` + webRole + `---
apiVersion: batch/v1
kind: CronJob
metadata: {name: web}
spec: {schedule: "@daily", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}
`

// webRole is a Role with its RoleBinding, as documents of a manifest.
const webRole = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web, namespace: default}]
`

// Objects that are certainly applied are not sent; the server does not change others.
func TestServerSideApplyUnchanged(t *testing.T) {
	s := newReleaseCase(t)
	s.ServerSide = true
	s.to(everyKind)
	before := s.rest()
	says := s.to(everyKind)
	for part := range strings.SplitSeq(says, ", ") {
		if !strings.HasPrefix(part, "unchanged ") {
			t.Errorf("the same again: %s", part)
		}
	}
	apitest.Want(t, "versions after the same again", s.versions(), before)

	// The same value in another form is sent, and changes nothing.
	p, _ := s.plan(everyKind)
	for i := range p.Steps {
		step := &p.Steps[i]
		step.Action, step.Type = plan.Update, plan.ServerApply
		body, err := json.Marshal(step.New)
		if err != nil {
			t.Fatal(err)
		}
		if step.Kind == "Secret" { // stringData is sent as data
			step.Action = plan.Unchanged
		}
		step.Patch = body
	}
	s.rec.Reset()
	if err := s.c.Execute(t.Context(), p, p.Steps); err != nil {
		t.Fatal(err)
	}
	apitest.Want(t, "versions after applying the same", s.versions(), before)
	apitest.Want(t, "told", s.rec.Of(progress.Updated), "")
}

// An atomic map belongs to one manager: keys that another client adds are a conflict, and are
// removed by force.
func TestServerSideApplyOwnsAtomicMaps(t *testing.T) {
	kind := fmt.Sprintf("Moon%x", rand.Uint32())
	for _, tc := range []struct {
		name, path, manifest, edit string
		at                         []string
		want                       string
	}{
		{
			"a Service's selector", "/api/v1/namespaces/%s/services/web",
			"apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {a: b}, ports: [{port: 80}]}",
			`{"spec":{"selector":{"c":"d"}}}`, []string{"spec", "selector"}, `{"a":"b"}`,
		}, {
			"a node selector", "/apis/apps/v1/namespaces/%s/deployments/web",
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {a: b}, containers: [{name: a, image: a}]}}}",
			`{"spec":{"template":{"spec":{"nodeSelector":{"c":"d"}}}}}`, []string{"spec", "template", "spec", "nodeSelector"}, `{"a":"b"}`,
		}, {
			"a label selector", "/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies/web",
			"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web}\nspec: {podSelector: {matchLabels: {a: b}}}",
			`{"spec":{"podSelector":{"matchLabels":{"c":"d"}}}}`, []string{"spec", "podSelector"}, `{"matchLabels":{"a":"b"}}`,
		}, {
			"a custom resource's", "/apis/moon.example.com/v1/namespaces/%s/" + strings.ToLower(kind) + "s/web",
			"apiVersion: moon.example.com/v1\nkind: " + kind + "\nmetadata: {name: web}\nspec: {selector: {a: b}}",
			`{"spec":{"selector":{"c":"d"}}}`, []string{"spec", "selector"}, `{"a":"b"}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide = true
			if strings.Contains(tc.manifest, kind) {
				s.define(kind, "{type: object, properties: {selector: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}}}")
			}
			s.to(tc.manifest)
			if says := s.to(tc.manifest); !strings.HasPrefix(says, "unchanged") {
				t.Errorf("the same again: %s", says)
			}
			s.edit(fmt.Sprintf(tc.path, s.ns), tc.edit)
			var conflict *FieldConflictError
			if err := s.fails(tc.manifest); !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Manager.Name != "other" {
				t.Errorf("another client has added to it: %v", err)
			}
			s.Conflicts = plan.Take
			s.to(tc.manifest)
			if got := jsonOf(t, api.Field(s.get(s.New[0].APIVersion, s.New[0].Kind, "web"), tc.at...)); got != tc.want {
				t.Errorf("%s is %s, want %s", tc.at, got, tc.want)
			}
			if says := s.to(tc.manifest); !strings.HasPrefix(says, "unchanged") {
				t.Errorf("then: %s", says)
			}
		})
	}
}
