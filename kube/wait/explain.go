// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// Limits for the details of an error.
const (
	logLines     = 20 // of a container
	fewLogLines  = 5  // of a container, in a list of objects
	maxExplained = 8  // objects of a list
	logBytes     = 16 << 10
	eventLines   = 5
	explainTime  = 5 * time.Second
)

// detailContext returns a context for collecting details: it outlives the deadline of ctx for a
// short time, but ends when the user cancels ctx.
func detailContext(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTime)
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			cancel()
		}
	})
	return out, func() { stop(); cancel() }
}

// explainFailed collects details of a failure: the pod and the container, the end of its log,
// the warning events. It omits details that cannot be read.
func (c *Waiter) explainFailed(ctx context.Context, f *failure) []string {
	ctx, cancel := detailContext(ctx)
	defer cancel()
	return c.withoutRetry().explainOne(ctx, f.target, f.pod, f.container, false)
}

// explainPending collects details of the first few pending objects that have not failed.
func (c *Waiter) explainPending(ctx context.Context, targets []*api.Target, w *waiting) map[*api.Target][]string {
	ctx, cancel := detailContext(ctx)
	defer cancel()
	pending := api.Filter(targets, func(t *api.Target) bool {
		_, is := w.pending[t]
		return is && (w.failed == nil || t != w.failed.target)
	})
	pending = pending[:min(len(pending), maxExplained)]
	lines := make([][]string, len(pending))
	var group errgroup.Group
	group.SetLimit(kube.Parallel)
	for i, t := range pending {
		group.Go(func() error {
			if ctx.Err() == nil {
				lines[i] = c.withoutRetry().explainOne(ctx, t, "", "", !w.existence)
			}
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	out := map[*api.Target][]string{}
	for i, t := range pending {
		out[t] = lines[i]
		if len(pending) > 1 {
			out[t] = shortLogs(lines[i], fewLogLines)
		}
	}
	return out
}

// explainOne collects details of one object. If podName is not empty, the failure is in that
// pod and container.
func (c *Waiter) explainOne(ctx context.Context, t *api.Target, podName, container string, finishes bool) []string {
	var out []string
	switch {
	case podName != "":
		out = c.explainPods(ctx, t.Namespace, api.ByName(podName), container, false)
	case t.IsPod():
		out = c.explainPods(ctx, t.Namespace, api.ByName(t.Name), "", finishes)
	case t.Is("batch", "Job"):
		out = c.explainPods(ctx, t.Namespace, api.JobPods(t.Name), "", true)
	case t.HasPods():
		if selector := api.PodSelector(t.Kind, t.Object); selector != "" {
			out = c.explainPods(ctx, t.Namespace, url.Values{"labelSelector": {selector}}, "", false)
		}
	}
	if podName == "" || !t.IsPod() {
		out = append(out, c.warningsOf(ctx, t.Namespace, t.Kind, t.Name, c.uidOf(ctx, t))...)
	}
	return out
}

// explainPods collects details of the newest failing pod; those of other pods are mostly the
// same. finishes is set if the pods are to finish, not to become ready.
func (c *Waiter) explainPods(ctx context.Context, namespace string, query url.Values, container string,
	finishes bool) []string {
	pods, err := c.api.Pods(ctx, namespace, query)
	if err != nil {
		return nil
	}
	slices.Reverse(pods)
	for _, p := range pods {
		if lines := c.explainPod(ctx, namespace, p, container, finishes); len(lines) > 0 {
			return append(lines, c.warningsOf(ctx, namespace, "Pod", p.Metadata.Name, p.Metadata.UID)...)
		}
	}
	return nil
}

func (c *Waiter) explainPod(ctx context.Context, namespace string, p *api.Pod, container string,
	finishes bool) []string {
	var out []string
	if p.Status.Phase == "Failed" && (p.Status.Reason != "" || p.Status.Message != "") {
		out = append(out,
			fmt.Sprintf("pod %s failed: %s", p.Metadata.Name,
				api.Reason(map[string]any{"reason": p.Status.Reason, "message": p.Status.Message})))
	}
	for _, s := range p.Containers() {
		if container == "" || s.Name == container {
			out = append(out, c.explainContainer(ctx, namespace, p.Metadata.Name, s)...)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, cond := range p.Status.Conditions {
		if cond.Type == "PodScheduled" && cond.Status == "False" {
			line := fmt.Sprintf("pod %s cannot be scheduled: %s", p.Metadata.Name, brief(cond.Message))
			return append([]string{line}, c.explainClaims(ctx, namespace, p, cond.Message)...)
		}
	}
	if p.Status.Phase != "Succeeded" && p.Metadata.Deletion == "" {
		return c.explainRunning(ctx, namespace, p, finishes)
	}
	return nil
}

// explainClaims collects warnings about the volume claims of a pod, if message says that they keep
// it from being scheduled.
func (c *Waiter) explainClaims(ctx context.Context, namespace string, p *api.Pod, message string) []string {
	if !strings.Contains(message, claimKind) {
		return nil
	}
	var out []string
	for _, v := range p.Spec.Volumes[:min(len(p.Spec.Volumes), maxExplained)] {
		if v.Claim == nil || v.Claim.Name == "" {
			continue
		}
		for _, line := range c.warningsOf(ctx, namespace, claimKind, v.Claim.Name, "") {
			out = append(out, claimKind+"/"+v.Claim.Name+": "+line)
		}
	}
	return out
}

func (c *Waiter) explainContainer(ctx context.Context, namespace, pod string, s api.ContainerStatus) []string {
	end, wait, before := s.State.Terminated, s.State.Waiting, s.LastState.Terminated
	where := fmt.Sprintf("container %s of pod %s", s.Name, pod)
	switch {
	case end != nil && end.ExitCode != 0:
		line := fmt.Sprintf("%s ended with %s", where, end.DescribeExit())
		return append([]string{line}, c.logEnd(ctx, namespace, pod, s.Name, false)...)
	case before != nil && !s.Ready && (end == nil || before.ExitCode != 0):
		line := fmt.Sprintf("%s ended with %s, %s", where, before.DescribeExit(), plural.Count(s.RestartCount, "restart"))
		if wait != nil && wait.Reason != "" {
			line += ", now " + wait.Reason
		}
		return append([]string{line}, c.logEnd(ctx, namespace, pod, s.Name, wait == nil)...)
	case wait != nil && wait.Reason != "" && wait.Reason != "ContainerCreating" && wait.Reason != "PodInitializing":
		return []string{fmt.Sprintf("%s is waiting: %s", where, wait.Describe())} // it has not run, so there is no log
	}
	return nil
}

// explainRunning collects details of containers that are running but not ready, and, if the pod is to
// finish, of all that are running.
func (c *Waiter) explainRunning(ctx context.Context, namespace string, p *api.Pod, finishes bool) []string {
	var out []string
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Running == nil || s.Ready && !finishes {
			continue
		}
		line := fmt.Sprintf("container %s of pod %s is running", s.Name, p.Metadata.Name)
		if !finishes {
			line += " but not ready"
		}
		out = append(append(out, line), c.logEnd(ctx, namespace, p.Metadata.Name, s.Name, false)...)
	}
	return out
}

// logEnd returns the end of a container's log, or of its previous run if previous is set. While
// a container waits for a restart, its log is that of the last run.
func (c *Waiter) logEnd(ctx context.Context, namespace, pod, container string, previous bool) []string {
	text, _, err := c.api.PodLog(ctx, namespace, pod, url.Values{
		"container": {container}, "tailLines": {strconv.Itoa(logLines)}, "previous": {strconv.FormatBool(previous)},
	}, logBytes)
	if err != nil || text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = logMark + l
	}
	return lines
}

// uidOf returns the UID of the live object, or "" if it cannot be read.
func (c *Waiter) uidOf(ctx context.Context, t *api.Target) string {
	body, err := c.api.Call(ctx, http.MethodGet, t.Path(), nil, nil, nil)
	var live struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	if err != nil || json.Unmarshal(body, &live) != nil {
		return ""
	}
	return live.Metadata.UID
}

// warningsOf returns the last warning events of an object in chronological order. If uid is not
// empty, it omits events of other objects with the same name, such as the previous job of a
// hook.
func (c *Waiter) warningsOf(ctx context.Context, namespace, kind, name, uid string) []string {
	if namespace == "" {
		return nil
	}
	selector := "type=Warning,involvedObject.kind=" + kind + ",involvedObject.name=" + name
	if uid != "" {
		selector += ",involvedObject.uid=" + uid
	}
	query := url.Values{"fieldSelector": {selector}}
	body, err := c.api.Call(ctx, http.MethodGet, "/api/v1/namespaces/"+namespace+"/events", query, nil, nil)
	var events struct {
		Items []eventItem `json:"items"`
	}
	if err != nil || json.Unmarshal(body, &events) != nil {
		return nil
	}
	slices.SortStableFunc(events.Items, func(a, b eventItem) int { return cmp.Compare(a.at(), b.at()) })
	var out []string
	for _, e := range events.Items {
		line := e.Reason + ": " + strings.TrimSpace(e.Message)
		if n := e.count(); n > 1 {
			line += fmt.Sprintf(" (%d times)", n)
		}
		out = slices.DeleteFunc(out, func(s string) bool { return s == line })
		out = append(out, line)
	}
	return out[max(0, len(out)-eventLines):]
}

type eventItem struct {
	Metadata struct {
		UID string `json:"uid"`
	} `json:"metadata"`
	Involved      involved `json:"involvedObject"`
	Reason        string   `json:"reason"`
	Message       string   `json:"message"`
	Count         int      `json:"count"`
	LastTimestamp string   `json:"lastTimestamp"`
	EventTime     string   `json:"eventTime"`
	Series        *struct {
		Count int    `json:"count"`
		Last  string `json:"lastObservedTime"`
	} `json:"series"`
}

// involved is the object that an event is about.
type involved struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (i involved) short() string { return i.Kind + "/" + i.Name }

// at returns the time of the event's last occurrence. Both formats sort lexically.
func (e eventItem) at() string {
	if e.Series != nil {
		return cmp.Or(e.Series.Last, e.LastTimestamp, e.EventTime)
	}
	return cmp.Or(e.LastTimestamp, e.EventTime)
}

// count returns how often the event has occurred.
func (e eventItem) count() int {
	if e.Series != nil {
		return max(e.Series.Count, e.Count, 1)
	}
	return max(e.Count, 1)
}
