// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
)

// logTail is how much of a container's log is kept.
const logTail = 64 << 10

func TestLogsOfPodsAndJobs(t *testing.T) {
	t.Parallel()
	c, _ := quickClient(t)
	ns := namespace(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	big := strings.Repeat("0123456789 0123456789 0123456789\\n", 4000)
	for _, test := range []struct {
		name, object string
		want         []string // container: text
	}{
		{"all containers of a pod, init containers first", `
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {moonhelm.test/logs.app: "one\ntwo", moonhelm.test/logs.side: "", moonhelm.test/logs.prepare: "ready, steady"}}
spec: {restartPolicy: Never, initContainers: [{name: prepare, image: a}], containers: [{name: app, image: a}, {name: side, image: a}]}
`, []string{"p prepare: ready, steady\n", "p app: one\ntwo\n", "p side: "}},
		{"all pods of a job, in their order", `
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  backoffLimit: 1
  template:
    metadata: {annotations: {moonhelm.test/exit-code: "3"}}
    spec: {restartPolicy: Never, containers: [{name: app, image: a}]}
`, []string{"j app: container app started\ncontainer app exited with code 3\n", "j app: container app started\ncontainer app exited with code 3\n"}},
		{"the end of a long one", `
apiVersion: v1
kind: Pod
metadata: {name: long, annotations: {moonhelm.test/logs: "begin\n` + big + `end"}}
spec: {restartPolicy: Never, containers: [{name: app, image: a}]}
`, []string{"long app: ...end\n"}},
		{"nothing of a kind that writes none", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := apitest.Parse(t, test.object)[0]
			if _, err := c.CreateHook(ctx, o, ns); err != nil {
				t.Fatal(err)
			}
			_ = c.Finish(ctx, wait.Request{Objects: []*manifest.Object{o}, Namespace: ns}) // it may fail
			logs, err := c.Logs(ctx, o, ns)
			if err != nil || len(logs) != len(test.want) {
				t.Fatalf("got %d logs, %v, want %d", len(logs), err, len(test.want))
			}
			for i, l := range logs {
				if got := logText(t, l); got != test.want[i] {
					t.Errorf("got %q, want %q", got, test.want[i])
				}
			}
		})
	}
}

func TestLogsOfPodsThatHaveNotRun(t *testing.T) {
	t.Parallel()
	c, _ := quickClient(t)
	ns := namespace(t, c)
	waits := apitest.Parse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: w, annotations: {moonhelm.test/waiting: ImagePullBackOff}}\nspec: {containers: [{name: app, image: a}]}")[0]
	if _, err := c.CreateHook(t.Context(), waits, ns); err != nil {
		t.Fatal(err)
	}
	if logs, err := c.Logs(t.Context(), waits, ns); err != nil || len(logs) != 0 {
		t.Errorf("a pod that has not run: %v, %v", logs, err)
	}
	if _, err := c.Logs(t.Context(), apitest.Parse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: ghost}")[0], ns); err == nil {
		t.Error("the logs of a pod that is not there")
	}
}

// logText returns a log as "pod container: text", without what follows the first "-" of the pod's
// name, and of a truncated text only the end. It requires that such a text is as long as it may be.
func logText(t *testing.T, l status.Log) string {
	t.Helper()
	text := l.Text
	if l.Truncated {
		if len(text) > logTail || len(text) < logTail-100 || !strings.HasPrefix(text, "0123456789 0") {
			t.Errorf("cut to %d bytes, beginning with %.40q", len(text), text)
		}
		text = "..." + text[len(text)-4:]
	}
	pod, _, _ := strings.Cut(l.Pod, "-")
	return pod + " " + l.Container + ": " + text
}
