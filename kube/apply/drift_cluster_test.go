// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/peertest"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// driftObjects are objects of many kinds; NAME is the name of those without a namespace.
const driftObjects = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: front}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {disk: ssd}
      volumes:
      - {name: config, configMap: {name: settings}}
      initContainers:
      - {name: init, image: "busybox:1"}
      containers:
      - name: web
        image: "web:1"
        args: [serve, fast]
        env: [{name: LEVEL, value: info}, {name: MODE, value: safe}]
        ports: [{containerPort: 80, name: http}]
        resources: {limits: {cpu: "1", memory: 1Gi}}
        volumeMounts: [{name: config, mountPath: /etc/web}]
        readinessProbe: {httpGet: {path: /, port: http}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "db:1"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: "agent:1"}], tolerations: [{operator: Exists}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: job, image: "job:1"}]}}}}
---
apiVersion: v1
kind: Service
metadata: {name: web, annotations: {lb/kind: internal}}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}, {name: dns, port: 53, protocol: UDP}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules: [{host: web.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: info, empty: "", app.yaml: "a: 1\n"}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {user: ada}
data: {password: c2VjcmV0}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
automountServiceAccountToken: false
` + webRole + `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec: {podSelector: {matchLabels: {app: web}}, ingress: [{ports: [{port: 80}]}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: limits}
spec: {hard: {pods: "100"}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: db}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}
  minReplicas: 1
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NAME}
webhooks:
- name: a.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  namespaceSelector: {matchLabels: {no: such}}
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [example.com], apiVersions: [v1], resources: [nothings], operations: [CREATE]}]
`

// An injection is a change by another client: a JSON patch operation, and the drift that it is.
type injection struct {
	object string // Kind/name
	op     string // add, replace, remove, or delete for the object itself
	at     string // JSON pointer
	value  string // JSON; %d is a random number
	kind   plan.DriftKind
	path   string
}

func injections() []injection {
	const pod, web = "/spec/template/spec", "/spec/template/spec/containers/0"
	const podPath, webPath = "spec.template.spec", "spec.template.spec.containers[web]"
	c, m, a := plan.DriftChanged, plan.DriftMissing, plan.DriftAdded
	return []injection{
		{"Deployment/web", "replace", "/spec/replicas", "1%d", c, "spec.replicas"},
		{"Deployment/web", "replace", web + "/image", `"web:%d"`, c, webPath + ".image"},
		{"Deployment/web", "replace", web + "/args", `["serve", "%d"]`, c, webPath + ".args"},
		{"Deployment/web", "remove", web + "/args", "", m, webPath + ".args"},
		{"Deployment/web", "replace", web + "/env/0/value", `"%d"`, c, webPath + ".env[LEVEL].value"},
		{"Deployment/web", "remove", web + "/env/1", "", m, webPath + ".env[MODE]"},
		{"Deployment/web", "replace", web + "/env", `[{"name": "MODE", "value": "safe"}, {"name": "LEVEL", "value": "info"}]`, c,
			webPath + ".env (order)"},
		{"Deployment/web", "add", web + "/env/-", `{"name": "X%d", "value": "1"}`, a, webPath + ".env[X%d]"},
		{"Deployment/web", "replace", web + "/resources/limits/cpu", `"%dm"`, c, webPath + ".resources.limits.cpu"},
		{"Deployment/web", "remove", web + "/resources/limits/memory", "", m, webPath + ".resources.limits.memory"},
		{"Deployment/web", "add", web + "/resources/requests", `{"cpu": "%dm"}`, a, webPath + ".resources.requests"},
		{"Deployment/web", "add", web + "/ports/-", `{"containerPort": 90%d, "name": "extra"}`, a, webPath + ".ports[90%d/TCP]"},
		{"Deployment/web", "remove", web + "/readinessProbe", "", m, webPath + ".readinessProbe"},
		{"Deployment/web", "replace", web + "/readinessProbe/httpGet/path", `"/%d"`, c, webPath + ".readinessProbe.httpGet.path"},
		{"Deployment/web", "add", web + "/livenessProbe", `{"httpGet": {"path": "/%d", "port": 80}}`, a, webPath + ".livenessProbe"},
		{"Deployment/web", "add", pod + "/containers/-", `{"name": "side%d", "image": "side"}`, a, podPath + ".containers[side%d]"},
		{"Deployment/web", "add", pod + "/volumes/-", `{"name": "tmp%d", "emptyDir": {}}`, a, podPath + ".volumes[tmp%d]"},
		{"Deployment/web", "remove", pod + "/initContainers", "", m, podPath + ".initContainers"},
		{"Deployment/web", "add", pod + "/nodeSelector/zone", `"%d"`, a, podPath + ".nodeSelector.zone"},
		{"Deployment/web", "replace", pod + "/nodeSelector/disk", `"%d"`, c, podPath + ".nodeSelector.disk"},
		{"Deployment/web", "add", pod + "/tolerations", `[{"key": "k%d", "operator": "Exists"}]`, a, podPath + ".tolerations"},
		{"Deployment/web", "add", pod + "/hostNetwork", "true", a, podPath + ".hostNetwork"},
		{"Deployment/web", "replace", pod + "/terminationGracePeriodSeconds", "5%d", a, podPath + ".terminationGracePeriodSeconds"},
		{"Deployment/web", "add", "/spec/paused", "true", a, "spec.paused"},
		{"Deployment/web", "add", "/spec/template/metadata/annotations", `{"note": "%d"}`, a, "spec.template.metadata.annotations.note"},
		{"Deployment/web", "add", "/metadata/labels/team", `"%d"`, a, "metadata.labels.team"},
		{"Deployment/web", "replace", "/metadata/labels/tier", `"%d"`, c, "metadata.labels.tier"},
		{"Deployment/web", "remove", "/metadata/labels/app.kubernetes.io~1managed-by", "", m, "metadata.labels[app.kubernetes.io/managed-by]"},
		{"Deployment/web", "delete", "", "", m, ""},
		{"StatefulSet/db", "replace", pod + "/containers/0/image", `"db:%d"`, c, podPath + ".containers[db].image"},
		{"StatefulSet/db", "delete", "", "", m, ""},
		{"DaemonSet/agent", "remove", pod + "/tolerations", "", m, podPath + ".tolerations"},
		{"DaemonSet/agent", "add", pod + "/hostPID", "true", a, podPath + ".hostPID"},
		{"CronJob/nightly", "replace", "/spec/schedule", `"%d 4 * * *"`, c, "spec.schedule"},
		{"CronJob/nightly", "replace", "/spec/suspend", "true", a, "spec.suspend"},
		{"Service/web", "replace", "/spec/ports/0/targetPort", "80%d", c, "spec.ports[80/TCP].targetPort"},
		{"Service/web", "add", "/spec/ports/-", `{"name": "x", "port": 70%d}`, a, "spec.ports[70%d/TCP]"},
		{"Service/web", "remove", "/spec/ports/1", "", m, "spec.ports[53/UDP]"},
		{"Service/web", "replace", "/spec/selector/app", `"%d"`, c, "spec.selector.app"},
		{"Service/web", "add", "/spec/selector/more", `"%d"`, a, "spec.selector.more"},
		{"Service/web", "remove", "/metadata/annotations/lb~1kind", "", m, "metadata.annotations[lb/kind]"},
		{"Service/web", "add", "/spec/publishNotReadyAddresses", "true", a, "spec.publishNotReadyAddresses"},
		{"Ingress/web", "replace", "/spec/rules/0/host", `"x%d.example.com"`, c, "spec.rules"},
		{"Ingress/web", "add", "/spec/tls", `[{"hosts": ["x%d.example.com"]}]`, a, "spec.tls"},
		{"Ingress/web", "add", "/metadata/annotations/nginx.ingress.kubernetes.io~1rewrite-target", `"/%d"`, a,
			"metadata.annotations[nginx.ingress.kubernetes.io/rewrite-target]"},
		{"ConfigMap/settings", "replace", "/data/level", `"%d"`, c, "data.level"},
		{"ConfigMap/settings", "replace", "/data/app.yaml", `"a: %d"`, c, "data[app.yaml]"},
		{"ConfigMap/settings", "replace", "/data/empty", `"%d"`, c, "data.empty"},
		{"ConfigMap/settings", "remove", "/data/level", "", m, "data.level"},
		{"ConfigMap/settings", "remove", "/data/empty", "", m, "data.empty"},
		{"ConfigMap/settings", "add", "/data/more", `"%d"`, a, "data.more"},
		{"ConfigMap/settings", "add", "/immutable", "false", a, "immutable"},
		{"ConfigMap/settings", "delete", "", "", m, ""},
		{"Secret/login", "replace", "/data/password", `"MTIz"`, c, "data.password"},
		{"Secret/login", "replace", "/data/user", `"MTIz"`, c, "data.user"},
		{"Secret/login", "remove", "/data/user", "", m, "data.user"},
		{"Secret/login", "add", "/data/more", `"MTIz"`, a, "data.more"},
		{"ServiceAccount/web", "replace", "/automountServiceAccountToken", "true", c, "automountServiceAccountToken"},
		{"ServiceAccount/web", "add", "/imagePullSecrets", `[{"name": "s%d"}]`, a, "imagePullSecrets"},
		{"Role/web", "replace", "/rules/0/verbs", `["*"]`, c, "rules"},
		{"Role/web", "add", "/rules/-", `{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}`, c, "rules"},
		{"RoleBinding/web", "add", "/subjects/-", `{"kind": "Group", "name": "g%d", "apiGroup": "rbac.authorization.k8s.io"}`, c, "subjects"},
		{"ClusterRole/NAME", "replace", "/rules/0/verbs", `["get", "list"]`, c, "rules"},
		{"PodDisruptionBudget/web", "replace", "/spec/minAvailable", "1%d", c, "spec.minAvailable"},
		{"NetworkPolicy/web", "replace", "/spec/ingress", `[{}]`, c, "spec.ingress"},
		{"NetworkPolicy/web", "add", "/spec/egress", `[{}]`, a, "spec.egress"},
		{"ResourceQuota/limits", "replace", "/spec/hard/pods", `"5%d"`, c, "spec.hard.pods"},
		{"ResourceQuota/limits", "add", "/spec/hard/secrets", `"5%d"`, a, "spec.hard.secrets"},
		{"HorizontalPodAutoscaler/db", "replace", "/spec/maxReplicas", "1%d", c, "spec.maxReplicas"},
		{"HorizontalPodAutoscaler/db", "replace", "/spec/metrics/0/resource/target/averageUtilization", "5%d", c, "spec.metrics"},
		{"ValidatingWebhookConfiguration/NAME", "replace", "/webhooks/0/failurePolicy", `"Fail"`, c, "webhooks[a.example.com].failurePolicy"},
		{"ValidatingWebhookConfiguration/NAME", "add", "/webhooks/0/timeoutSeconds", "5", a, "webhooks[a.example.com].timeoutSeconds"},
		{"ValidatingWebhookConfiguration/NAME", "delete", "", "", m, ""},
	}
}

// driftCampaign injects changes into a release's objects, and repairs each.
type driftCampaign struct {
	*Client
	request    DriftRequest
	serverSide bool
	targets    map[string]*api.Target
}

func newDriftCampaign(t *testing.T, c *Client, serverSide bool) *driftCampaign {
	t.Helper()
	ns := namespace(t, c)
	d := &driftCampaign{Client: c, serverSide: serverSide, targets: map[string]*api.Target{}}
	d.request = DriftRequest{Owner: kube.Owner{Release: "web", Namespace: ns},
		Installed: apitest.Parse(t, strings.ReplaceAll(driftObjects, "NAME", ns))}
	p, err := c.Plan(t.Context(), Request{Owner: d.request.Owner, New: d.request.Installed, ServerSide: serverSide})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Execute(t.Context(), p, p.Steps); err != nil {
		t.Fatal(err)
	}
	targets, err := c.Applier.api.Targets(t.Context(), d.request.Installed, ns)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		d.targets[target.Short()] = target
	}
	t.Cleanup(func() { discard(c, d.clusterScoped()) })
	return d
}

// clusterScoped returns the objects that the deletion of the namespace leaves.
func (d *driftCampaign) clusterScoped() []*manifest.Object {
	return slices.DeleteFunc(slices.Clone(d.request.Installed), func(o *manifest.Object) bool {
		return d.targets[o.Kind+"/"+o.Name].Namespace != ""
	})
}

// inject makes a change as another field manager.
func (d *driftCampaign) inject(t *testing.T, in injection, number int, manager string) {
	t.Helper()
	target := d.targets[in.object]
	query := url.Values{"fieldManager": {manager}}
	if in.op == "delete" {
		if _, err := d.Call(t.Context(), http.MethodDelete, target.Path(), nil, nil, nil); err != nil {
			t.Fatal(err)
		}
		return
	}
	op := map[string]any{"op": in.op, "path": in.at}
	if in.value != "" {
		op["value"] = json.RawMessage(numbered(in.value, number))
	}
	body, err := json.Marshal([]any{op})
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Content-Type": {"application/json-patch+json"}}
	if _, err := d.Call(t.Context(), http.MethodPatch, target.Path(), query, header, body); err != nil {
		t.Fatalf("inject %+v: %v", in, err)
	}
}

// numbered returns text with a number for each %d.
func numbered(text string, number int) string {
	return strings.ReplaceAll(text, "%d", fmt.Sprint(number))
}

// find returns the drift, as "Kind/name kind path manager".
func (d *driftCampaign) find(t *testing.T) []string {
	t.Helper()
	found, err := d.FindDrift(t.Context(), []DriftRequest{d.request}, plan.DriftOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range found[0] {
		if (o.Missing || o.Deleted != "") && o.Allowed == "" {
			out = append(out, fmt.Sprintf("%s %s  ", o, plan.DriftMissing))
		}
		for _, f := range o.Drift() {
			out = append(out, fmt.Sprintf("%s %s %s %s", o, f.Kind, f.Path, f.Manager.Name))
		}
	}
	return out
}

// repair undoes the drift, and returns the objects that it has written.
func (d *driftCampaign) repair(t *testing.T) []string {
	t.Helper()
	p, err := d.Plan(t.Context(), Request{Owner: d.request.Owner, New: d.request.Installed,
		Old: [][]*manifest.Object{d.request.Installed}, ServerSide: d.serverSide, Restore: &plan.DriftOptions{}, Validated: true})
	if err != nil {
		t.Fatal(err)
	}
	var written []string
	for _, s := range p.Steps {
		if s.Action != plan.Unchanged {
			written = append(written, s.String())
		}
	}
	if err := d.Execute(t.Context(), p, p.Steps); err != nil {
		t.Fatal(err)
	}
	return written
}

// TestDriftInjected makes MOONHELM_DRIFTS changes, or a few, by different clients: each is found, with
// its manager, and nothing else; after its repair, which writes only its object, nothing is.
func TestDriftInjected(t *testing.T) {
	t.Parallel() // it mostly waits for the server
	c, _ := client(t)
	count := int(peertest.EnvNumber(t, "MOONHELM_DRIFTS", 26))
	managers := []string{"kubectl-edit", "kubectl-patch", "k9s", "Mozilla", "node-fetch", "curl", "python-requests",
		"terraform-provider-kubernetes", "kubectl"}
	for _, serverSide := range []bool{false, true} {
		t.Run(fmt.Sprintf("server-side %v", serverSide), func(t *testing.T) {
			if testing.Short() {
				t.Skip("takes seconds")
			}
			t.Parallel()
			d := newDriftCampaign(t, c, serverSide)
			if found := d.find(t); len(found) > 0 {
				t.Fatalf("fresh objects have drifted: %q", found)
			}
			random := rand.New(rand.NewPCG(17, uint64(count)))
			all := injections()
			for i := range count / 2 {
				in := all[(i*29+random.IntN(3))%len(all)]
				if count >= 2*len(all) {
					in = all[i%len(all)]
				}
				d.check(t, in, 2+random.IntN(8), managers[random.IntN(len(managers))])
				if i%4 == 0 {
					d.checkBoth(t, in, all[random.IntN(len(all))], managers[random.IntN(len(managers))])
				}
			}
		})
	}
}

// check injects one change, and repairs it.
func (d *driftCampaign) check(t *testing.T, in injection, number int, manager string) {
	t.Helper()
	in.object = strings.ReplaceAll(in.object, "NAME", d.request.Owner.Namespace)
	d.inject(t, in, number, manager)
	d.checkFound(t, []string{in.object}, in.want(number, manager))
}

// checkBoth injects two changes by one client, unless one is in the other's way, and repairs them.
func (d *driftCampaign) checkBoth(t *testing.T, a, b injection, manager string) {
	t.Helper()
	if a.op == "delete" || b.op == "delete" || a.object == b.object &&
		(strings.HasPrefix(a.at, b.at) || strings.HasPrefix(b.at, a.at) || a.path == b.path || strings.Contains(a.at+b.at, "/env")) {
		return
	}
	const number = 7
	objects := []string{}
	for _, in := range []*injection{&a, &b} {
		in.object = strings.ReplaceAll(in.object, "NAME", d.request.Owner.Namespace)
		d.inject(t, *in, number, manager)
		objects = append(objects, in.object)
	}
	slices.Sort(objects)
	d.checkFound(t, slices.Compact(objects), a.want(number, manager), b.want(number, manager))
}

// want returns the drift that the change is, as find has it.
func (in injection) want(number int, manager string) string {
	if in.kind == plan.DriftMissing || strings.HasSuffix(in.path, "(order)") {
		manager = ""
	}
	return fmt.Sprintf("%s %s %s %s", in.object, in.kind, numbered(in.path, number), manager)
}

// checkFound checks the drift, and that its repair writes the given objects only and leaves no drift.
func (d *driftCampaign) checkFound(t *testing.T, objects []string, want ...string) {
	t.Helper()
	found := d.find(t)
	slices.Sort(found)
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("drift is %q, want %q", found, want)
	}
	if len(found) == 0 {
		return
	}
	written := d.repair(t)
	if slices.Sort(written); !slices.Equal(written, objects) {
		t.Errorf("the repair of %q wrote %q", want, written)
	}
	if left := d.find(t); len(left) > 0 {
		t.Fatalf("after the repair of %q drift is %q", want, left)
	}
}
