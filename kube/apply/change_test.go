// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// releaseCase is a release that a test changes repeatedly.
type releaseCase struct {
	*testing.T
	c   *Client
	rec *apitest.Recorder
	ns  string
	Request
}

func newReleaseCase(t *testing.T) *releaseCase {
	c, rec := client(t)
	ns := namespace(t, c)
	return &releaseCase{T: t, c: c, rec: rec, ns: ns, Request: Request{Owner: kube.Owner{Release: "web", Namespace: ns}}}
}

// plan returns the sorted actions of the plan: "create ConfigMap/a".
func (s *releaseCase) plan(text string) (*plan.Plan, string) {
	s.Helper()
	s.New = manifest.ApplyOrder(apitest.Parse(s, text))
	p, err := s.c.Plan(s.Context(), s.Request)
	if err != nil {
		s.Fatalf("Plan: %v", err)
	}
	var out []string
	for _, step := range p.Steps {
		out = append(out, string(step.Action)+" "+step.String())
	}
	slices.Sort(out)
	return p, strings.Join(out, ", ")
}

// to changes the release and returns the actions.
func (s *releaseCase) to(text string) string {
	s.Helper()
	p, says := s.plan(text)
	s.rec.Reset()
	if err := s.c.Execute(s.Context(), p, p.Steps); err != nil {
		s.Fatalf("Execute: %v", err)
	}
	s.Old, s.PendingDeletions = [][]*manifest.Object{s.New}, nil
	return says
}

// fails changes the release, which must fail, and returns the error.
func (s *releaseCase) fails(text string) error {
	s.Helper()
	s.New = manifest.ApplyOrder(apitest.Parse(s, text))
	p, err := s.c.Plan(s.Context(), s.Request)
	if err == nil {
		err = s.c.Execute(s.Context(), p, p.Steps)
	}
	if err == nil {
		s.Fatal("it worked")
	}
	return err
}

func (s *releaseCase) get(apiVersion, kind, name string) map[string]any {
	s.Helper()
	return get(s, s.c, apiVersion, kind, s.ns, name)
}

// versions returns the resource versions of the release's objects.
func (s *releaseCase) versions() string {
	s.Helper()
	var out []string
	for _, o := range s.New {
		out = append(out, o.String()+"@"+api.String(s.get(o.APIVersion, o.Kind, o.Name), "metadata", "resourceVersion"))
	}
	return strings.Join(out, " ")
}

// rest returns the versions after controllers have stopped changing the objects.
func (s *releaseCase) rest() string {
	s.Helper()
	before := ""
	for now := s.versions(); now != before; now = s.versions() {
		before = now
		time.Sleep(500 * time.Millisecond)
	}
	return before
}

// by patches an object like another client.
func (s *releaseCase) by(who, apiVersion, kind, name, patch string) {
	s.Helper()
	res, err := s.c.Resolve(s.Context(), []kube.Kind{{APIVersion: apiVersion, Kind: kind}})
	if err != nil {
		s.Fatal(err)
	}
	media := plan.StrategicMerge
	if strings.Contains(apiVersion, "example.com") {
		media = plan.JSONMerge
	}
	query := map[string][]string{"fieldManager": {who}}
	_, err = s.c.Call(s.Context(), http.MethodPatch, res[kube.Kind{APIVersion: apiVersion, Kind: kind}].Path(s.ns, name), query, http.Header{"Content-Type": {mediaType(media)}}, []byte(patch))
	if err != nil {
		s.Fatal(err)
	}
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: server
        image: nginx:%s
        ports: [{containerPort: 80}]
        env: [{name: A, value: "1"}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {a: "1", b: "2"}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {a: "1", b: "2"}
`

func TestUpgradeResetsManualScaling(t *testing.T) {
	s := newReleaseCase(t)
	three := fmt.Sprintf(web, 3, "2.0.0")
	apitest.Want(t, "install", s.to(three), "create ConfigMap/web, create Deployment/web, create Secret/web, create Service/web")
	apitest.Want(t, "created", s.rec.Of(progress.Created), "ConfigMap/web Deployment/web Secret/web Service/web")
	s.by("kubectl", "apps/v1", "Deployment", "web", `{"spec":{"replicas":0}}`)
	p, says := s.plan(three)
	apitest.Want(t, "rollback", says, "unchanged ConfigMap/web, unchanged Secret/web, unchanged Service/web, update Deployment/web")
	for _, step := range p.Steps {
		if step.Drifted != (step.Kind == "Deployment") {
			t.Errorf("%s drifted: %v", step, step.Drifted)
		}
	}
	s.to(three)
	apitest.Want(t, "updated", s.rec.Of(progress.Updated), "Deployment/web")
	apitest.Want(t, "replicas", apitest.At(s.get("apps/v1", "Deployment", "web"), "spec", "replicas"), "3")
}

func TestUpgradeKeepsInjectedSidecar(t *testing.T) {
	s := newReleaseCase(t)
	s.to(fmt.Sprintf(web, 1, "2.0.0"))
	s.by("mesh", "apps/v1", "Deployment", "web", `{"metadata":{"labels":{"mesh":"on"}},"spec":{"template":{"spec":{"containers":[{"name":"my-injected-sidecar","image":"my-cool-mesh:1.0.0"}]}}}}`)
	s.to(fmt.Sprintf(web, 1, "2.1.0"))
	d := s.get("apps/v1", "Deployment", "web")
	containers := []string{"spec", "template", "spec", "containers"}
	apitest.Want(t, "image", apitest.At(d, append(containers, "name=server", "image")...), "nginx:2.1.0")
	apitest.Want(t, "sidecar", apitest.At(d, append(containers, "name=my-injected-sidecar", "image")...), "my-cool-mesh:1.0.0")
	apitest.Want(t, "label of others", apitest.At(d, "metadata", "labels", "mesh"), "on")
	apitest.Want(t, "marks", apitest.At(d, "metadata", "labels", release.ManagedByLabel)+apitest.At(d, "metadata", "annotations", release.NameAnnotation), "Helmweb")
}

func TestUnchangedIsNotWritten(t *testing.T) {
	t.Parallel() // it mostly waits for the server
	for _, serverSide := range []bool{false, true} {
		t.Run(fmt.Sprint("server side ", serverSide), func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide = serverSide
			text := fmt.Sprintf(web, 1, "2.0.0")
			s.to(text)
			before := s.rest()
			apitest.Want(t, "plan", s.to(text), "unchanged ConfigMap/web, unchanged Deployment/web, unchanged Secret/web, unchanged Service/web")
			if len(s.rec.Events) > 0 {
				t.Errorf("told %v", s.rec.Events)
			}
			apitest.Want(t, "versions", s.versions(), before)
		})
	}
}

// Fields that the server adds, and other spellings of the same values, are not changes.
func TestUnchangedIsNotWrittenAllKinds(t *testing.T) {
	t.Parallel() // it mostly waits for the server
	text, err := os.ReadFile("testdata/kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, serverSide := range []bool{false, true} {
		t.Run(fmt.Sprint("server side ", serverSide), func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide = serverSide
			s.to(string(text))
			for step := range strings.SplitSeq(s.to(string(text)), ", ") {
				if !strings.HasPrefix(step, "unchanged ") {
					t.Error(step)
				}
			}
			if got := s.rec.Of(progress.Updated); got != "" {
				t.Errorf("wrote %s", got)
			}
		})
	}
}

func TestDroppedObjectsAndFields(t *testing.T) {
	t.Parallel() // it mostly waits for the server
	for _, serverSide := range []bool{false, true} {
		t.Run(fmt.Sprint("server side ", serverSide), func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide = serverSide
			text := fmt.Sprintf(web, 1, "2.0.0")
			s.to(text)
			drop := strings.NewReplacer(`, b: "2"`, "", `env: [{name: A, value: "1"}]`, "")
			apitest.Want(t, "plan", s.to(drop.Replace(text)), "unchanged Service/web, update ConfigMap/web, update Deployment/web, update Secret/web")
			apitest.Want(t, "ConfigMap", apitest.At(s.get("v1", "ConfigMap", "web"), "data"), "map[a:1]")
			apitest.Want(t, "Secret", apitest.At(s.get("v1", "Secret", "web"), "data"), "map[a:MQ==]")
			apitest.Want(t, "env", apitest.At(s.get("apps/v1", "Deployment", "web"), "spec", "template", "spec", "containers", "name=server", "env"), "<nil>")
		})
	}
}

func TestFailedRevisionIsCleanedUp(t *testing.T) {
	s := newReleaseCase(t)
	s.to(configMapsText("a", "b"))
	deployed := s.Old[0]
	s.to(configMapsText("a", "b", "half", "orphan"))
	// That revision failed; the next one has neither its object nor b.
	s.Old = [][]*manifest.Object{deployed, apitest.ConfigMaps(t, "a", "b", "half", "never")}
	s.PendingDeletions = []release.PendingDeletion{{APIVersion: "v1", Kind: "ConfigMap", Name: "orphan"}, {APIVersion: "v1", Kind: "ConfigMap", Name: "ghost"}, {APIVersion: "v1", Kind: "ConfigMap", Name: "a"}}
	apitest.Want(t, "plan", s.to(configMapsText("a", "new")), "create ConfigMap/new, delete ConfigMap/b, delete ConfigMap/half, delete ConfigMap/orphan, unchanged ConfigMap/a")
	apitest.Want(t, "deleted", s.rec.Of(progress.Deleted), "ConfigMap/b ConfigMap/half ConfigMap/orphan")
	for name, there := range map[string]bool{"a": true, "new": true, "b": false, "half": false, "orphan": false} {
		if got := len(s.get("v1", "ConfigMap", name)) > 0; got != there {
			t.Errorf("%s is there: %v", name, got)
		}
	}
}

func configMapsText(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, apitest.ConfigMap, n)
	}
	return b.String()
}

func TestResourcePolicyKeep(t *testing.T) {
	s := newReleaseCase(t)
	s.to(configMapsText("plain", "lost", "taken") + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: policy, annotations: {helm.sh/resource-policy: keep}}\n")
	s.by("other", "v1", "ConfigMap", "taken", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}}}`)
	s.by("other", "v1", "ConfigMap", "lost", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null},"annotations":{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null}}}`)
	s.by("other", "v1", "ConfigMap", "plain", `{"metadata":{"labels":{"x":"y"}}}`)
	// Another client has created an object of a failed revision.
	if _, err := s.c.CreateHook(t.Context(), apitest.ConfigMaps(t, "theirs")[0], s.ns); err != nil {
		t.Fatal(err)
	}
	s.Old = append(s.Old, apitest.ConfigMaps(t, "theirs"))
	p, says := s.plan(configMapsText("new"))
	apitest.Want(t, "plan", says, "create ConfigMap/new, delete ConfigMap/plain, keep ConfigMap/lost, keep ConfigMap/policy, keep ConfigMap/taken, keep ConfigMap/theirs")
	for _, step := range p.Steps {
		if step.Action == plan.Keep && step.Reason == "" || step.Name == "taken" && !strings.Contains(step.Reason, `release "other"`) {
			t.Errorf("%s is kept because %q", step, step.Reason)
		}
	}
	s.to(configMapsText("new"))
	apitest.Want(t, "kept", s.rec.Of(progress.Kept), "ConfigMap/lost ConfigMap/policy ConfigMap/taken ConfigMap/theirs")
}

func TestPlanRejectsForeignObjects(t *testing.T) {
	s := newReleaseCase(t)
	s.to(configMapsText("a", "b"))
	s.by("other", "v1", "ConfigMap", "a", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}}}`)
	if _, err := s.c.CreateHook(t.Context(), apitest.ConfigMaps(t, "plain")[0], s.ns); err != nil {
		t.Fatal(err)
	}
	var conflict *ConflictError
	err := s.fails(configMapsText("a", "b", "plain"))
	if !errors.As(err, &conflict) || len(conflict.Conflicts) != 2 || !strings.Contains(err.Error(), "plain") || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("Plan: %v", err)
	}
	s.TakeOwnership = true
	apitest.Want(t, "taking them", s.to(configMapsText("a", "b", "plain")), "unchanged ConfigMap/b, update ConfigMap/a, update ConfigMap/plain")
	s.TakeOwnership = false
	apitest.Want(t, "after that", s.to(configMapsText("a", "b", "plain")), "unchanged ConfigMap/a, unchanged ConfigMap/b, unchanged ConfigMap/plain")
}

func TestPlanRejectsDuplicates(t *testing.T) {
	s := newReleaseCase(t)
	var twice *DuplicateObjectError
	err := s.fails(configMapsText("a", "b", "a") + "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")
	if !errors.As(err, &twice) || len(twice.Objects) != 1 || !strings.Contains(err.Error(), "chart/templates/a.yaml") {
		t.Errorf("Plan: %v", err)
	}
}

func TestPlanRemovedVersion(t *testing.T) {
	s := newReleaseCase(t)
	const job = "apiVersion: batch/%s\nkind: CronJob\nmetadata: {name: c, annotations: {old: %q}}\nspec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}}\n---\n"
	s.to(fmt.Sprintf(job, "v1", "yes"))
	// The record has a version that the cluster no longer serves, and an unknown kind.
	s.Old = [][]*manifest.Object{apitest.Parse(t, fmt.Sprintf(job, "v1beta1", "yes")+"apiVersion: nope.io/v1\nkind: Nope\nmetadata: {name: x}")}
	old := s.Old
	moved := strings.Replace(fmt.Sprintf(job, "v1", ""), `annotations: {old: ""}`, "", 1)
	apitest.Want(t, "plan", s.to(moved), "update CronJob/c")
	apitest.Want(t, "annotation", apitest.At(s.get("batch/v1", "CronJob", "c"), "metadata", "annotations", "old"), "<nil>")
	s.Old = old
	apitest.Want(t, "dropped", s.to(configMapsText("a")), "create ConfigMap/a, delete CronJob/c")
	// The same name in another group.
	s.Old = [][]*manifest.Object{apitest.Parse(t, "apiVersion: extensions/v1beta1\nkind: NetworkPolicy\nmetadata: {name: net, annotations: {old: 'yes'}}\nspec: {podSelector: {}}")}
	s.to("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: net, annotations: {old: 'yes'}}\nspec: {podSelector: {}}")
	s.Old = [][]*manifest.Object{apitest.Parse(t, "apiVersion: extensions/v1beta1\nkind: NetworkPolicy\nmetadata: {name: net, annotations: {old: 'yes'}}\nspec: {podSelector: {}}")}
	s.to("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: net}\nspec: {podSelector: {}}")
	apitest.Want(t, "annotation", apitest.At(s.get("networking.k8s.io/v1", "NetworkPolicy", "net"), "metadata", "annotations", "old"), "<nil>")
}

func TestPlanKindMovedBetweenGroups(t *testing.T) {
	s := newReleaseCase(t)
	const event = "apiVersion: %s\nkind: Event\nmetadata: {name: e}\nreason: r\ntype: Normal\naction: a\nreportingController: c\n%s\n"
	core := fmt.Sprintf(event, "v1", "reportingComponent: c\nreportingInstance: i\neventTime: '2024-01-01T00:00:00.000000Z'\ninvolvedObject: {namespace: "+s.ns+"}")
	core = strings.Replace(core, "reportingController: c\n", "", 1)
	s.to(core)
	says := s.to(fmt.Sprintf(event, "events.k8s.io/v1", "reportingInstance: i\neventTime: '2024-01-01T00:00:00.000000Z'\nregarding: {namespace: "+s.ns+"}"))
	if strings.Contains(says, "delete") || strings.Contains(says, "create") {
		t.Errorf("plan: %s", says)
	}
	if len(s.get("v1", "Event", "e")) == 0 {
		t.Error("it is gone")
	}
}

func TestAnnotationsWithTwoSlashes(t *testing.T) {
	s := newReleaseCase(t)
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/depends-on/resource-groups: '[\"x\"]', b: c}}\n"
	s.to(text)
	apitest.Want(t, "again", s.to(text), "unchanged ConfigMap/a")
	apitest.Want(t, "annotations", apitest.At(s.get("v1", "ConfigMap", "a"), "metadata", "annotations", "b"), "c")
}

func TestGeneratedNames(t *testing.T) {
	s := newReleaseCase(t)
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: gen-}\ndata: {a: %q}\n"
	s.to(fmt.Sprintf(text, "1"))
	apitest.Want(t, "again", s.to(fmt.Sprintf(text, "1")), "")
	apitest.Want(t, "another", s.to(fmt.Sprintf(text, "2")), "create ConfigMap/")
}

func TestExecuteChangedSincePlan(t *testing.T) {
	for _, serverSide := range []bool{false, true} {
		t.Run(fmt.Sprint("server side ", serverSide), func(t *testing.T) { testWhatChanged(t, serverSide) })
	}
}

func testWhatChanged(t *testing.T, serverSide bool) {
	s := newReleaseCase(t)
	s.ServerSide = serverSide
	s.to(configMapsText("a", "b"))
	next := strings.ReplaceAll(configMapsText("a", "b", "mine", "theirs"), "a: b", "a: c")
	p, says := s.plan(next)
	apitest.Want(t, "plan", says, "create ConfigMap/mine, create ConfigMap/theirs, update ConfigMap/a, update ConfigMap/b")
	// In the meantime, one object is deleted, one of the release created, and one of
	// another client created.
	if err := s.c.Delete(t.Context(), apitest.ConfigMaps(t, "b"), s.Owner, Background); err != nil {
		t.Fatal(err)
	}
	if err := s.c.Apply(t.Context(), apitest.ConfigMaps(t, "mine"), s.Owner); err != nil {
		t.Fatal(err)
	}
	if _, err := s.c.CreateHook(t.Context(), apitest.ConfigMaps(t, "theirs")[0], s.ns); err != nil {
		t.Fatal(err)
	}
	s.rec.Reset()
	err := s.c.Execute(t.Context(), p, p.Steps)
	var conflict *ConflictError
	if !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 || !strings.Contains(err.Error(), "ConfigMap/theirs") {
		t.Errorf("Execute: %v", err)
	}
	created, updated := "ConfigMap/b", "ConfigMap/a ConfigMap/mine"
	if serverSide { // the server does not report whether an apply has created the object
		created, updated = "", "ConfigMap/a ConfigMap/b ConfigMap/mine"
	}
	apitest.Want(t, "created", s.rec.Of(progress.Created), created)
	apitest.Want(t, "updated", s.rec.Of(progress.Updated), updated)
	for _, name := range []string{"a", "b", "mine"} {
		apitest.Want(t, name, apitest.At(s.get("v1", "ConfigMap", name), "data", "a"), "c")
	}
}

func TestDeleteChecksUID(t *testing.T) {
	s := newReleaseCase(t)
	s.to(configMapsText("a", "b"))
	p, _ := s.plan(configMapsText("a"))
	if err := s.c.Delete(t.Context(), apitest.ConfigMaps(t, "b"), s.Owner, Background); err != nil {
		t.Fatal(err)
	}
	if _, err := s.c.CreateHook(t.Context(), apitest.ConfigMaps(t, "b")[0], s.ns); err != nil {
		t.Fatal(err)
	}
	if err := s.c.Execute(t.Context(), p, p.Steps); err != nil {
		t.Fatal(err)
	}
	if len(s.get("v1", "ConfigMap", "b")) == 0 {
		t.Error("an object of another owner was deleted")
	}
}

func TestTerminatingObjectsAreRecreated(t *testing.T) {
	for _, serverSide := range []bool{false, true} {
		t.Run(fmt.Sprint("server side ", serverSide), func(t *testing.T) {
			s := newReleaseCase(t)
			s.ServerSide = serverSide
			text := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n"
			s.to(text)
			s.by("hand", "v1", "Secret", "s", `{"metadata":{"finalizers":["moon.example.com/hold"]}}`)
			if err := s.c.Delete(t.Context(), s.New, s.Owner, Background); err != nil {
				t.Fatal(err)
			}
			uid := api.String(s.get("v1", "Secret", "s"), "metadata", "uid")
			time.AfterFunc(time.Second, func() { s.by("hand", "v1", "Secret", "s", `{"metadata":{"finalizers":null}}`) })
			apitest.Want(t, "plan", s.to(text), "replace Secret/s")
			now := s.get("v1", "Secret", "s")
			if got := api.String(now, "metadata", "uid"); got == uid || api.String(now, "data", "a") != "Yg==" {
				t.Errorf("got %v", now)
			}
			apitest.Want(t, "again", s.to(text), "unchanged Secret/s")
		})
	}
}

// many returns n objects of five kinds.
func many(n int, value string) string {
	var b strings.Builder
	for i := range n / 8 {
		fmt.Fprintf(&b, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: s%d}\n---\n", i)
		for j := range 4 {
			fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d-%d, labels: {app.kubernetes.io/name: x, app.kubernetes.io/instance: x}}\ndata: {a: %q, b: \"some text that is a bit longer\"}\n---\n", i, j, value)
		}
		fmt.Fprintf(&b, "apiVersion: v1\nkind: Secret\nmetadata: {name: s%d}\nstringData: {password: %q}\n---\n", i, value)
		fmt.Fprintf(&b, "apiVersion: v1\nkind: Service\nmetadata: {name: s%d}\nspec: {selector: {app: x}, ports: [{name: http, port: 80, targetPort: http}]}\n---\n", i)
		fmt.Fprintf(&b, `apiVersion: apps/v1
kind: Deployment
metadata: {name: d%d, labels: {app.kubernetes.io/name: x, app.kubernetes.io/instance: x}}
spec:
  replicas: 0
  selector: {matchLabels: {app: x%d}}
  template:
    metadata: {labels: {app: x%d}}
    spec:
      serviceAccountName: s%d
      containers:
      - name: main
        image: registry/image:%s
        ports: [{name: http, containerPort: 8080}]
        env: [{name: A, value: "1"}, {name: B, valueFrom: {secretKeyRef: {name: s%d, key: password}}}]
        resources: {limits: {cpu: 100m, memory: 64Mi}, requests: {cpu: 100m, memory: 64Mi}}
        readinessProbe: {httpGet: {path: /, port: http}}
        volumeMounts: [{name: c, mountPath: /c}]
      volumes: [{name: c, configMap: {name: c%d-0}}]
---
`, i, i, i, i, value, i, i)
	}
	return b.String()
}

func TestPlanManyObjects(t *testing.T) {
	t.Parallel() // it mostly waits for the server
	s := newReleaseCase(t)
	first := many(240, "1")
	for _, step := range []struct{ name, text string }{{"install", first}, {"unchanged", first}, {"unchanged", first}, {"changed", many(240, "2")}, {"gone", configMapsText("a")}} {
		s.New = manifest.ApplyOrder(apitest.Parse(t, step.text))
		for _, o := range s.New {
			if _, err := o.Map(); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		p, err := s.c.Plan(t.Context(), s.Request)
		planned := time.Since(start)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.c.Execute(t.Context(), p, p.Steps); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d steps, %d changes, planned in %s, executed in %s", step.name, len(p.Steps), p.Changes(), planned, time.Since(start)-planned)
		if step.name == "unchanged" && p.Changes() > 0 {
			t.Errorf("%d changes", p.Changes())
		}
		s.Old = [][]*manifest.Object{s.New}
	}
}

func BenchmarkPlanOf800Unchanged(b *testing.B) {
	c, _ := client(b)
	ns := namespace(b, c)
	r := Request{Owner: kube.Owner{Release: "web", Namespace: ns}, New: manifest.ApplyOrder(apitest.Parse(b, many(800, "1")))}
	p, err := c.Plan(b.Context(), r)
	if err == nil {
		err = c.Execute(b.Context(), p, p.Steps)
	}
	if err != nil {
		b.Fatal(err)
	}
	r.Old = [][]*manifest.Object{r.New}
	for b.Loop() {
		if p, err := c.Plan(b.Context(), r); err != nil || p.Changes() > 0 {
			b.Fatal(p, err)
		}
	}
}
