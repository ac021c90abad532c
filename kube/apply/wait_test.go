// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

func TestAwaitRollout(t *testing.T) {
	c, rec := client(t)
	ns := namespace(t, c)
	objects := apitest.Parse(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cm}
---
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}
`)
	if err := c.Apply(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.WaitReady(ctx, objects, ns, true); err != nil {
		t.Fatal(err)
	}
	if got := rec.Of(progress.Ready); got != "ConfigMap/cm Deployment/web Job/job" {
		t.Errorf("ready %q", got)
	}
	rows, err := c.Live(ctx, append(objects, apitest.ConfigMaps(t, "ghost1", "ghost2", "ghost3", "ghost4")...), ns)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s %v %d", r.Kind, r.Related, len(r.Cells)))
		if ghost := strings.HasPrefix(r.Name, "ghost"); ghost && r.Live == nil && len(r.Cells) == 0 {
			got = got[:len(got)-1]
		} else if ghost || r.Live == nil || len(r.Cells) != len(r.Columns) || r.Cells[0] != r.Name {
			t.Errorf("row %+v", r)
		}
	}
	if want := "Deployment false 5,ConfigMap false 3,Job false 5,Pod true 5,Pod true 5"; strings.Join(got, ",") != want {
		t.Errorf("rows %v", got)
	}
}

func TestPendingError(t *testing.T) {
	c, _ := client(t)
	ns := namespace(t, c)
	objects := apitest.Parse(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {storageClassName: nowhere, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`)
	if err := c.Apply(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	begun := time.Now()
	err := c.WaitReady(ctx, objects, ns, false)
	var wait *wait.PendingError
	if !errors.As(err, &wait) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "PersistentVolumeClaim/claim") {
		t.Errorf("WaitReady: %v", err)
	}
	if d := time.Since(begun); d > 5*time.Second {
		t.Errorf("took %s", d)
	}
	err = c.WaitGone(ctx, objects, kube.Owner{Release: "web", Namespace: ns})
	if !errors.As(err, &wait) {
		t.Errorf("WaitGone: %v", err)
	}
}

func TestPendingErrorDetails(t *testing.T) {
	c, _ := client(t)
	ns := namespace(t, c)
	objects := apitest.Parse(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}, annotations: {moonhelm.test/exit-code: "7", moonhelm.test/logs: "no database at db:5432"}}
    spec: {containers: [{name: main, image: b}]}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
`)
	if err := c.Apply(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	err := c.WaitReady(ctx, objects, ns, false)
	var wait *wait.PendingError
	if !errors.As(err, &wait) || len(wait.Problems) != 1 || wait.Problems[0].Kind+"/"+wait.Problems[0].Name != "Deployment/web" || wait.Total != 2 {
		t.Fatalf("WaitReady: %v", err)
	}
	if text := err.Error(); !strings.Contains(text, "no database at db:5432") || !strings.Contains(text, "container main") {
		t.Errorf("the pods' words are missing: %s", text)
	}
}

func TestFinish(t *testing.T) {
	c, _ := client(t)
	ns := namespace(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, o := range apitest.Parse(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: pod}
spec: {restartPolicy: Never, containers: [{name: a, image: b}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cm}
`) {
		for range 2 { // as by an upgrade that runs it again
			if err := removeHook(ctx, c, o, ns, ""); err != nil {
				t.Fatal(err)
			}
			if _, err := c.CreateHook(ctx, o, ns); err != nil {
				t.Fatal(err)
			}
			if err := c.Finish(ctx, wait.Request{Objects: []*manifest.Object{o}, Namespace: ns}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestFinishFailedHookDetails(t *testing.T) {
	c, _ := client(t)
	ns := namespace(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, o := range apitest.Parse(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {moonhelm.test/exit-code: "3"}}
    spec: {restartPolicy: Never, containers: [{name: main, image: b}]}
---
apiVersion: v1
kind: Pod
metadata: {name: pod, annotations: {moonhelm.test/exit-code: "3"}}
spec: {restartPolicy: Never, containers: [{name: main, image: b}]}
`) {
		if _, err := c.CreateHook(ctx, o, ns); err != nil {
			t.Fatal(err)
		}
		err := c.Finish(ctx, wait.Request{Objects: []*manifest.Object{o}, Namespace: ns})
		var failed *wait.FailedError
		if !errors.As(err, &failed) || !strings.Contains(failed.Object, o.Name) || failed.Reason == "" {
			t.Fatalf("Finish: %v", err)
		}
		if text := err.Error(); !strings.Contains(text, "exit code 3") || !strings.Contains(text, "container main") || !strings.Contains(text, "| ") {
			t.Errorf("the pod's words are missing: %s", text)
		}
	}
}
