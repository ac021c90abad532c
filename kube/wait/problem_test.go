// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/hint"
)

func deploymentProblem(name, missing, cause string, details ...string) Problem {
	return Problem{Kind: "Deployment", Namespace: "shop", Name: name, Missing: missing, Cause: cause, Details: details}
}

func TestPendingErrorTexts(t *testing.T) {
	late := context.DeadlineExceeded
	signal := errors.New("interrupt signal received")
	many := make([]Problem, 30)
	for i := range many {
		many[i] = deploymentProblem(fmt.Sprintf("d%d", i), "0 of 1 pods ready", "")
	}
	remote := deploymentProblem("b", "", "it is cursed")
	remote.elsewhere = true
	for _, test := range []struct {
		name                   string
		err                    PendingError
		text, outcome, summary string
		wantHint               bool
	}{
		{
			name: "one object, which is all",
			err: PendingError{Problems: []Problem{deploymentProblem("a", "0 of 1 pods ready", "it is cursed", "by a witch")},
				After: 12 * time.Second, Err: late},
			text: "timed out waiting for the condition (context deadline exceeded) after 12s: " +
				"Deployment/a: 0 of 1 pods ready: it is cursed\n  by a witch",
			outcome:  "timed out after 12s: Deployment/a is not ready",
			summary:  "timed out waiting for the condition after 12s: Deployment/a is not ready: it is cursed",
			wantHint: true,
		},
		{
			name: "one of several",
			err:  PendingError{Problems: []Problem{deploymentProblem("a", "0 of 1 pods ready", "")}, Total: 11, After: 90 * time.Second, Err: late},
			text: "timed out waiting for the condition (context deadline exceeded) after 1m30s: 1 of 11 objects is not ready\n" +
				"  Deployment/a: 0 of 1 pods ready",
			outcome:  "timed out after 1m30s: 1 of 11 objects is not ready",
			summary:  "timed out waiting for the condition after 1m30s: 1 of 11 objects is not ready: Deployment/a",
			wantHint: true,
		},
		{
			name: "two, one elsewhere, interrupted",
			err: PendingError{Problems: []Problem{deploymentProblem("a", "0 of 1 pods ready", "", "line"), remote},
				Total: 2, After: 400 * time.Millisecond, Err: signal},
			text: "interrupt signal received after 400ms of waiting: 2 of 2 objects are not ready\n" +
				"  Deployment/a: 0 of 1 pods ready\n    line\n  Deployment/b in namespace shop: it is cursed",
			outcome: "was stopped after 400ms (interrupt signal received): 2 of 2 objects are not ready",
			summary: "interrupt signal received after 400ms of waiting: 2 of 2 objects are not ready: Deployment/a, Deployment/b in namespace shop",
		},
		{
			name: "a deletion, time unknown",
			err: PendingError{Problems: []Problem{{Kind: "ConfigMap", Name: "c", Missing: "not deleted yet", Cause: "it waits"}},
				Deletion: true, Err: late},
			text:     "timed out waiting for the condition (context deadline exceeded): ConfigMap/c: not deleted yet: it waits",
			outcome:  "timed out after 0s: ConfigMap/c is not deleted yet",
			summary:  "timed out waiting for the condition: ConfigMap/c is not deleted yet: it waits",
			wantHint: true,
		},
		{
			name: "more than have a line",
			err:  PendingError{Problems: many, Total: 40, After: time.Second, Err: late},
			text: "timed out waiting for the condition (context deadline exceeded) after 1s: 30 of 40 objects are not ready\n  " +
				strings.Join((&PendingError{Problems: many[:25]}).Lines(), "\n  ") +
				"\n  and 5 more: Deployment/d25, Deployment/d26, Deployment/d27 and 2 more",
			outcome:  "timed out after 1s: 30 of 40 objects are not ready",
			summary:  "timed out waiting for the condition after 1s: 30 of 40 objects are not ready: Deployment/d0, Deployment/d1, Deployment/d2 and 27 more",
			wantHint: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, text := range [][2]string{
				{test.err.Error(), test.text}, {test.err.Outcome(), test.outcome}, {test.err.Summary(), test.summary},
			} {
				if text[0] != text[1] {
					t.Errorf("got\n%s\nwant\n%s", text[0], text[1])
				}
			}
			if got := hint.Of(&test.err); (got != nil) != test.wantHint {
				t.Errorf("hint %q", got)
			}
		})
	}
}

func TestFailedErrorTexts(t *testing.T) {
	e := &FailedError{Object: "Deployment/web in namespace shop", Reason: "its image cannot be pulled", Details: []string{"no such image"},
		Others: []Problem{
			deploymentProblem("c", "", ""), deploymentProblem("b", "0 of 1 pods ready", "it is cursed"), deploymentProblem("d", "", ""),
		}, Grace: 20 * time.Second, Rule: "a container that cannot start", After: 21 * time.Second}
	want := "Deployment/web in namespace shop failed: its image cannot be pulled\n  no such image\n" +
		"  also failing: Deployment/b: it is cursed\n  not ready either: Deployment/c, Deployment/d\n" +
		"  gave up because a container that cannot start is given 20s to recover"
	if got := e.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := e.Outcome(), "gave up after 21s: Deployment/web in namespace shop failed: its image cannot be pulled"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := hint.Of(e); len(got) != 1 || !strings.Contains(got[0], "--give-up-after") {
		t.Errorf("hint %q", got)
	}
	final := &FailedError{Object: "Job/x", Reason: strings.Repeat("long ", 1000) + "\nsecond"}
	if got := hint.Of(final); got != nil {
		t.Errorf("a hint for a final failure: %q", got)
	}
	if got := final.Summary(); len([]rune(got)) > 250 || strings.Contains(got, "\n") {
		t.Errorf("a summary of %d characters: %q", len(got), got)
	}
}

const (
	webObject = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: %s}
spec: {template: {spec: {volumes: [{name: a, emptyDir: {}}, {name: b, persistentVolumeClaim: {claimName: data}}]}}}
`
	claimObject = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s, namespace: shop}
`
)

func TestProblemsOf(t *testing.T) {
	web := func(name, missing string, class class, cause string, details ...string) finding {
		namespace := "shop"
		if strings.HasPrefix(name, "far") {
			namespace = "far"
		}
		tg, _ := living(t, fmt.Sprintf(webObject, name, namespace))
		f := finding{target: tg, missing: missing, details: details}
		if cause != "" {
			f.trouble = &trouble{class: class, text: cause}
		}
		return f
	}
	claim := func(name string, details ...string) finding {
		tg, _ := living(t, fmt.Sprintf(claimObject, name))
		return finding{target: tg, missing: "not bound yet: it is Pending", details: details}
	}
	for _, test := range []struct {
		name     string
		findings []finding
		want     string
	}{
		{
			name: "causes first, in their order",
			findings: []finding{
				web("a", "0 of 1 pods ready", 0, ""),
				web("b", "0 of 1 pods ready", crashing, "container main of pod b-1 crashed (exit code 7)"),
				web("c", "0 of 1 pods ready", 0, "", "container main of pod c-1 is running but not ready", "Unhealthy: probe failed"),
				web("d", "Stalled: for good", conditionFailed, "Stalled: for good"),
			},
			want: `
Deployment/b: 0 of 1 pods ready: container main of pod b-1 crashed (exit code 7)
Deployment/c: 0 of 1 pods ready: container main of pod c-1 is running but not ready
  Unhealthy: probe failed
Deployment/d: Stalled: for good
Deployment/a: 0 of 1 pods ready`,
		},
		{
			name: "a rollout over its deadline, and why",
			findings: []finding{
				web("a", "rollout over its deadline", conditionFailed, "ProgressDeadlineExceeded: too slow", "container main of pod a-1 is running but not ready"),
				web("b", "rollout over its deadline", conditionFailed, "ProgressDeadlineExceeded: too slow"),
			},
			want: `
Deployment/a: rollout over its deadline: container main of pod a-1 is running but not ready
Deployment/b: rollout over its deadline: ProgressDeadlineExceeded: too slow`,
		},
		{
			name: "the same cause",
			findings: []finding{
				web("a", "0 of 1 pods ready", unscheduled, "pod a-5d4-x1 cannot be scheduled: 0/1 nodes are available"),
				web("b", "0 of 1 pods ready", crashing, "container main of pod b-1 crashed (exit code 7)"),
				web("c", "0 of 2 pods ready", unscheduled, "pod c-7f8-x2 cannot be scheduled: 0/1 nodes are available", "said: already"),
				web("d", "0 of 1 pods ready", crashing, "container main of pod d-1 crashed (exit code 7)"),
			},
			want: `
Deployment/a: 0 of 1 pods ready: pod a-5d4-x1 cannot be scheduled: 0/1 nodes are available
Deployment/c: 0 of 2 pods ready: for the same reason as Deployment/a
Deployment/b: 0 of 1 pods ready: container main of pod b-1 crashed (exit code 7)
Deployment/d: 0 of 1 pods ready: container main of pod d-1 crashed (exit code 7)`,
		},
		{
			name: "a claim before the pods that wait for it",
			findings: []finding{
				web("web", "0 of 1 pods ready", unscheduled, "pod web-1 cannot be scheduled: pod has unbound immediate PersistentVolumeClaims", "x: y"),
				web("full", "0 of 1 pods ready", unscheduled, "pod full-1 cannot be scheduled: Insufficient cpu"),
				web("new", "0 of 1 pods created", 0, ""),
				web("far", "0 of 1 pods created", 0, ""),
				claim("data", `ProvisioningFailed: storageclass "nowhere" not found`),
			},
			want: `
Deployment/full: 0 of 1 pods ready: pod full-1 cannot be scheduled: Insufficient cpu
PersistentVolumeClaim/data: not bound yet: it is Pending: ProvisioningFailed: storageclass "nowhere" not found
Deployment/web: 0 of 1 pods ready: waits for PersistentVolumeClaim/data
Deployment/new: 0 of 1 pods created: waits for PersistentVolumeClaim/data
Deployment/far in namespace far: 0 of 1 pods created`,
		},
		{
			name: "nothing twice",
			findings: []finding{
				web("a", "0 of 1 pods ready", crashing, "container main of pod a-1 crashes again and again (exit code 7, 3 restarts)",
					"container main of pod a-1 ended with exit code 7, 3 restarts, now CrashLoopBackOff", "| a line", "| a line",
					"BackOff: Back-off restarting (3 times)", "BackOff: Back-off restarting (4 times)"),
				web("b", "0 of 1 pods ready", notStarted, "container main of pod b-1 cannot start: its image x cannot be pulled",
					"container main of pod b-1 is waiting: ImagePullBackOff: no such tag", "Failed: Error: ImagePullBackOff", "Other: news"),
				web("c", "0 of 1 pods ready", unscheduled, "pod c-1 cannot be scheduled: 0/1 nodes are available: Insufficient cpu",
					"pod c-1 is not scheduled: 0/1 nodes are available: Insufficient cpu", "FailedScheduling: 0/1 nodes are available: Insufficient cpu. preemption: no", "Other: news"),
			},
			want: `
Deployment/a: 0 of 1 pods ready: container main of pod a-1 crashes again and again (exit code 7, 3 restarts)
  | a line
  | a line
  BackOff: Back-off restarting (3 times)
Deployment/b: 0 of 1 pods ready: container main of pod b-1 cannot start: its image x cannot be pulled
  is waiting: ImagePullBackOff: no such tag
  Other: news
Deployment/c: 0 of 1 pods ready: pod c-1 cannot be scheduled: 0/1 nodes are available: Insufficient cpu`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := PendingError{Problems: problemsOf(test.findings, "shop")}
			if got := strings.Join(e.Lines(), "\n"); got != strings.TrimPrefix(test.want, "\n") {
				t.Errorf("got\n%s\nwant%s", got, test.want)
			}
		})
	}
}

func TestShortLogs(t *testing.T) {
	const lines = "head,| 1,| 2,| 3,event,| 4,end"
	for n, want := range map[int]string{1: "head,| 3,event,| 4,end", 2: "head,| 2,| 3,event,| 4,end", 5: lines} {
		if got := strings.Join(shortLogs(strings.Split(lines, ","), n), ","); got != want {
			t.Errorf("%d lines: got %s, want %s", n, got, want)
		}
	}
	if got := shortLogs([]string{"| 1", "| 2", "| 3"}, 2); strings.Join(got, ",") != "| 2,| 3" {
		t.Errorf("at the end: got %q", got)
	}
}

func TestGrace(t *testing.T) {
	got := Grace{Start: -1, Crash: time.Minute}.or(Grace{Start: 1, Condition: 7}).orDefault()
	if want := (Grace{Start: -1, Crash: time.Minute, Condition: 7, Silence: time.Second}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
