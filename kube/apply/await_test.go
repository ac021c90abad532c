// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/progress"
)

// quick is a grace that tests have the time for.
var quick = wait.Grace{Start: 300 * time.Millisecond, Crash: 300 * time.Millisecond, Condition: 300 * time.Millisecond}

func quickClient(t testing.TB) (*Client, *apitest.Recorder) {
	t.Helper()
	config := apitest.RESTConfig(t)
	rec := &apitest.Recorder{}
	return clientWith(kube.New(kube.Options{REST: func() (*rest.Config, error) { return config, nil }, Progress: rec.Record}), Options{}, quick, kube.Options{}), rec
}

// deployment is one with the given annotations of its pods.
func deployment(name, notes, spec string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  %[3]s
  template:
    metadata: {labels: {app: %[1]s, of: test}, annotations: {%[2]s}}
    spec: {containers: [{name: main, image: "registry.example/app:1"}]}
---
`, name, notes, spec)
}

func TestAwaitPermanentFailure(t *testing.T) {
	for _, test := range []struct {
		name    string
		before  func(t *testing.T, c *Client, ns string) // nil: nothing
		objects string
		object  string
		want    []string // parts of the error
	}{
		{
			name:    "an image that cannot be pulled",
			objects: deployment("web", `moonhelm.test/waiting: ImagePullBackOff`, "") + configMapText("cm"),
			object:  "Deployment/web",
			want:    []string{"container main of pod web-", "registry.example/app:1 cannot be pulled", "is waiting: ImagePullBackOff: the pod asks for it"},
		},
		{
			name:    "a name of an image that is none",
			objects: deployment("web", `moonhelm.test/waiting: InvalidImageName`, ""),
			object:  "Deployment/web",
			want:    []string{"invalid image name"},
		},
		{
			name:    "a missing secret",
			objects: deployment("web", `moonhelm.test/waiting: CreateContainerConfigError`, ""),
			object:  "Deployment/web",
			want:    []string{"CreateContainerConfigError"},
		},
		{
			name:    "a crash loop, with the words of the run before",
			objects: deployment("web", `moonhelm.test/exit-code: "7", moonhelm.test/restart-after: 300ms, moonhelm.test/logs-previous: "no database at db:5432", moonhelm.test/logs: "starting"`, ""),
			object:  "Deployment/web",
			want:    []string{"crashes again and again", "exit code 7", "3 restarts", "| "},
		},
		{
			name: "an init container that crashes",
			objects: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}, annotations: {moonhelm.test/init-exit-code: "4", moonhelm.test/restart-after: 300ms}}
    spec: {initContainers: [{name: prepare, image: a}], containers: [{name: main, image: a}]}
`,
			object: "StatefulSet/db",
			want:   []string{"container prepare of pod db-0", "exit code 4", "| container prepare"},
		},
		{
			name: "a daemon that cannot start",
			objects: `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}, annotations: {moonhelm.test/waiting: ErrImagePull}}
    spec: {containers: [{name: main, image: a}]}
`,
			object: "DaemonSet/agent",
			want:   []string{"cannot be pulled"},
		},
		{
			name: "a job over its limit",
			objects: `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {moonhelm.test/exit-code: "3", moonhelm.test/logs: "table is locked"}}
    spec: {restartPolicy: Never, containers: [{name: main, image: a}]}
`,
			object: "Job/migrate",
			want:   []string{"BackoffLimitExceeded", "container main of pod migrate-", "exit code 3", "| table is locked"},
		},
		{
			name: "a job over its deadline",
			objects: `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  activeDeadlineSeconds: 1
  template:
    metadata: {annotations: {moonhelm.test/run-forever: "true"}}
    spec: {restartPolicy: Never, containers: [{name: main, image: a}]}
`,
			object: "Job/migrate",
			want:   []string{"DeadlineExceeded"},
		},
		{
			name:    "a pod that has failed",
			objects: "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {moonhelm.test/exit-code: \"3\"}}\nspec: {restartPolicy: Never, containers: [{name: main, image: a}]}",
			object:  "Pod/p",
			want:    []string{"exit code 3", "| container main exited with code 3"},
		},
		{
			name:    "a rollout over its deadline",
			objects: deployment("web", `moonhelm.test/never-ready: "true"`, "progressDeadlineSeconds: 5"),
			object:  "Deployment/web",
			want:    []string{"ProgressDeadlineExceeded", "is running but not ready", "Readiness probe failed"},
		},
		{
			name:    "pods that a quota forbids",
			before:  forbidPods,
			objects: deployment("web", "", ""),
			object:  "Deployment/web",
			want:    []string{"FailedCreate", "exceeded quota"},
		},
		{
			name: "others in trouble are mentioned",
			objects: deployment("web", `moonhelm.test/waiting: InvalidImageName, moonhelm.test/start-after: 2s`, "") +
				deployment("other", `moonhelm.test/exit-code: "9", moonhelm.test/restart-after: 60s`, ""),
			object: "Deployment/web",
			want:   []string{"also failing: Deployment/other: container main of pod other-", "exit code 9"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, rec := quickClient(t)
			ns := namespace(t, c)
			if test.before != nil {
				test.before(t, c, ns)
			}
			objects := apitest.Parse(t, test.objects)
			if err := c.Apply(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begun := time.Now()
			err := c.Await(ctx, wait.Request{Objects: objects, Namespace: ns, Jobs: true})
			var failed *wait.FailedError
			if !errors.As(err, &failed) || !strings.HasPrefix(failed.Object, test.object+" in namespace ") {
				t.Fatalf("Await: %v", err)
			}
			if d := time.Since(begun); d > 30*time.Second {
				t.Errorf("took %s", d)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in:\n%s", want, err)
				}
			}
			if got := rec.Last(); got.Kind != progress.Settled {
				t.Errorf("the last event is %+v", got)
			}
			if got := rec.Of(progress.Failing); !strings.Contains(got, test.object) {
				t.Errorf("failing %q", got)
			}
		})
	}
}

// forbidPods creates a quota for no pods and waits until the API server enforces it. The server ignores
// a quota until the quota controller has taken its limits over into the status, which on a busy machine
// takes longer than to create the pods of a Deployment.
func forbidPods(t *testing.T, c *Client, ns string) {
	t.Helper()
	quota := apitest.Parse(t, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: \"0\"}}")
	if err := c.Apply(t.Context(), quota, kube.Owner{Release: "quota", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}`
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, err := c.Call(t.Context(), http.MethodPost, "/api/v1/namespaces/"+ns+"/pods", url.Values{"dryRun": {"All"}},
			http.Header{"Content-Type": {"application/json"}}, []byte(pod))
		if err != nil && strings.Contains(err.Error(), "exceeded quota") {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the quota is not enforced: %v", err)
		}
	}
}

func configMapText(name string) string { return fmt.Sprintf(apitest.ConfigMap, name) }

func TestAwaitTemporaryFailure(t *testing.T) {
	t.Parallel()
	c, rec := quickClient(t)
	ns := namespace(t, c)
	objects := apitest.Parse(t, deployment("web", `moonhelm.test/exit-code: "7", moonhelm.test/exit-times: "2", moonhelm.test/restart-after: 500ms, moonhelm.test/run-forever: "false"`, "replicas: 2"))
	if err := c.Apply(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Await(ctx, wait.Request{Objects: objects, Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	lines := rec.Lines("Deployment/web")
	if !strings.Contains(strings.Join(lines, "\n"), "failing container main of pod web-") || lines[len(lines)-1] != "ready" {
		t.Errorf("told %q", lines)
	}
	for i := 1; i < len(lines); i++ {
		if lines[i] == lines[i-1] {
			t.Errorf("told twice: %q", lines[i])
		}
	}
}

// An upgrade that repairs what the previous revision broke must not fail because
// the old pods still crash.
func TestAwaitIgnoresOldPods(t *testing.T) {
	t.Parallel()
	c, _ := quickClient(t)
	ns := namespace(t, c)
	broken := apitest.Parse(t, deployment("web", `moonhelm.test/waiting: ImagePullBackOff`, ""))
	if err := c.Apply(t.Context(), broken, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Await(ctx, wait.Request{Objects: broken, Namespace: ns}); err == nil {
		t.Fatal("the broken one became ready")
	}
	// Two seconds are longer than the grace, so an old pod had the time to fail it.
	mended := apitest.Parse(t, deployment("web", `moonhelm.test/waiting: null, moonhelm.test/ready-after: 2s`, ""))
	if err := c.Apply(t.Context(), mended, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	if err := c.Await(ctx, wait.Request{Objects: mended, Namespace: ns}); err != nil {
		t.Errorf("the mended one: %v", err)
	}
}

func TestAwaitWithoutPodPermission(t *testing.T) {
	t.Parallel()
	c, _ := quickClient(t)
	ns := namespace(t, c)
	poor := as(t, c, ns, `[{apiGroups: [apps], resources: [deployments], verbs: [get, list, watch]}]`)
	objects := apitest.Parse(t, deployment("good", "", "")+deployment("bad", `moonhelm.test/never-ready: "true"`, "progressDeadlineSeconds: 2"))
	if err := c.Apply(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := poor.Await(ctx, wait.Request{Objects: objects, Namespace: ns})
	var failed *wait.FailedError
	if !errors.As(err, &failed) || !strings.Contains(failed.Reason, "ProgressDeadlineExceeded") {
		t.Errorf("Await: %v", err)
	}
}

func TestAwaitCancelled(t *testing.T) {
	t.Parallel()
	c, rec := quickClient(t)
	ns := namespace(t, c)
	objects := apitest.Parse(t, deployment("web", `moonhelm.test/never-ready: "true"`, ""))
	if err := c.Apply(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	interrupted := errors.New("interrupted")
	for name, waits := range map[string]func(context.Context) error{
		"await": func(ctx context.Context) error { return c.Await(ctx, wait.Request{Objects: objects, Namespace: ns}) },
		"legacy": func(ctx context.Context) error {
			return c.Await(ctx, wait.Request{Objects: objects, Namespace: ns, Legacy: true})
		},
		"gone": func(ctx context.Context) error {
			return c.WaitGone(ctx, objects, kube.Owner{Release: "web", Namespace: ns})
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		var at time.Time
		time.AfterFunc(500*time.Millisecond, func() { at = time.Now(); cancel(interrupted) })
		err := waits(ctx)
		var missing *wait.PendingError
		if !errors.As(err, &missing) || !errors.Is(err, interrupted) || !strings.Contains(err.Error(), "Deployment/web") {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(at); d > 200*time.Millisecond {
			t.Errorf("%s: took %s", name, d)
		}
		if rec.Last().Kind != progress.Settled {
			t.Errorf("%s: not settled", name)
		}
	}
}

func TestAwaitPausedAndSuspended(t *testing.T) {
	t.Parallel()
	c, rec := quickClient(t)
	ns := namespace(t, c)
	objects := apitest.Parse(t, deployment("paused", `moonhelm.test/never-ready: "true"`, "paused: true")+deployment("none", "", "replicas: 0")+`
apiVersion: batch/v1
kind: Job
metadata: {name: suspended}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {schedule: "0 0 * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: empty}
spec: {replicas: 0, serviceName: x, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: budget}
spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaler}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}
`)
	if err := c.Apply(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	for _, legacy := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		rec.Reset()
		if err := c.Await(ctx, wait.Request{Objects: objects, Namespace: ns, Jobs: true, Legacy: legacy}); err != nil {
			t.Errorf("legacy %v: %v", legacy, err)
		}
		if got := strings.Fields(rec.Of(progress.Ready)); len(got) != len(objects) {
			t.Errorf("legacy %v: ready %q", legacy, got)
		}
	}
}

func TestAwaitStrategies(t *testing.T) {
	t.Parallel()
	c, _ := quickClient(t)
	ns := namespace(t, c)
	objects := apitest.Parse(t, `
apiVersion: v1
kind: Service
metadata: {name: lb, annotations: {moonhelm.test/never-ready: "true"}}
spec: {type: LoadBalancer, ports: [{port: 80}], selector: {a: b}}
`)
	if err := c.Apply(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := c.Await(ctx, wait.Request{Objects: objects, Namespace: ns}); err != nil {
		t.Errorf("watching: %v", err)
	}
	err := c.Await(ctx, wait.Request{Objects: objects, Namespace: ns, Legacy: true})
	if err == nil || !strings.Contains(err.Error(), "load balancer's address") {
		t.Errorf("legacy: %v", err)
	}
}

func TestAwaitReadinessAnnotations(t *testing.T) {
	t.Parallel()
	c, _ := quickClient(t)
	ns := namespace(t, c)
	job := func(name, notes string) string {
		return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata:
  name: %s
  annotations: {%s}
spec:
  backoffLimit: 6
  template:
    metadata: {annotations: {moonhelm.test/exit-code: "3"}}
    spec: {restartPolicy: Never, containers: [{name: a, image: b}]}
`, name, notes)
	}
	for _, test := range []struct{ name, object, want string }{
		{"success", job("one", `helm.sh/readiness-success: '["{.failed} >= 1"]'`), ""},
		{"failure first", job("two", `helm.sh/readiness-success: '["{.failed} >= 1"]', helm.sh/readiness-failure: '["{.status.failed} >= 1"]'`), `{.status.failed} >= 1 (it is "1")`},
		{"failure alone", job("three", `helm.sh/readiness-failure: '["{.failed} > 0"]'`), "readiness-failure"},
		{"never", job("four", `helm.sh/readiness-success: '["{.succeeded} == 5"]'`), "{.succeeded} == 5 (no value)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects := apitest.Parse(t, test.object)
			if err := c.Apply(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
			err := c.Await(ctx, wait.Request{Objects: objects, Namespace: ns, Jobs: true})
			cancel()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s: %v", test.name, err)
			}
		})
	}
}

func TestAwaitUnobservedCustomResource(t *testing.T) {
	t.Parallel()
	c, rec := quickClient(t)
	ns := namespace(t, c)
	kind := "Comet" + strings.ReplaceAll(ns, "-", "")
	defs := apitest.Parse(t, strings.ReplaceAll(fmt.Sprintf(crd, strings.ToLower(kind), kind), "schema: {openAPIV3Schema: {type: object,",
		"subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true,"))
	if err := c.InstallCRDs(t.Context(), defs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { discard(c, defs) })
	silent := apitest.Parse(t, "apiVersion: moon.example.com/v1\nkind: "+kind+"\nmetadata: {name: silent}")
	if err := c.Apply(t.Context(), silent, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	brief, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if err := c.Await(brief, wait.Request{Objects: silent, Namespace: ns}); err != nil || time.Since(begun) < 900*time.Millisecond {
		t.Errorf("one that nobody looks after: %v after %s", err, time.Since(begun))
	}
	path := "/apis/moon.example.com/v1/namespaces/" + ns + "/" + strings.ToLower(kind) + "s/x/status"
	set := func(status string) {
		if _, err := c.Call(t.Context(), http.MethodPatch, path, nil, http.Header{"Content-Type": {"application/merge-patch+json"}}, []byte(`{"status":`+status+`}`)); err != nil {
			t.Error(err)
		}
	}
	objects := apitest.Parse(t, "apiVersion: moon.example.com/v1\nkind: "+kind+"\nmetadata: {name: x}\nspec: {n: 1}")
	if err := c.Apply(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	var controller sync.WaitGroup
	defer controller.Wait()
	controller.Go(func() {
		time.Sleep(300 * time.Millisecond)
		set(`{"observedGeneration":1,"conditions":[{"type":"Ready","status":"False","reason":"Flying","message":"far away"}]}`)
		time.Sleep(2 * time.Second)
		set(`{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True","reason":"Landed","message":"here"}]}`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Await(ctx, wait.Request{Objects: objects, Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	if got := rec.Lines(kind + "/x"); !slices.Equal(got, []string{"created", "waiting its controller has not seen the change yet", "waiting Flying: far away", "ready"}) {
		t.Errorf("told %q", got)
	}
}
