// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// How much of a failure is shown.
const (
	logLines    = 20
	eventLines  = 5
	explainTime = 5 * time.Second
)

// explain gathers what the cluster knows about a failure: the pods that failed,
// the end of their logs, the warnings among the events. What cannot be read is
// left out: the failure itself is the news.
func (c *Client) explain(ctx context.Context, targets []*target, failed *FailedError) []string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTime)
	defer cancel()
	for _, t := range targets {
		if t.String() == failed.Object {
			return c.explainOne(ctx, t)
		}
	}
	return nil
}

// explainPending explains the first few objects that a wait is still for.
func (c *Client) explainPending(ctx context.Context, targets []*target, w *waiting) []string {
	if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return nil // the user ended it and wants to be gone
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTime)
	defer cancel()
	var out []string
	for explained, i := 0, 0; i < len(targets) && explained < few; i++ {
		w.mu.Lock()
		_, pending := w.pending[targets[i]]
		w.mu.Unlock()
		if pending {
			explained++
			out = append(out, c.explainOne(ctx, targets[i])...)
		}
	}
	return out
}

func (c *Client) explainOne(ctx context.Context, t *target) []string {
	var out []string
	switch t.kind {
	case "Pod":
		out = c.explainPods(ctx, t.namespace, one(t.name))
	case "Job":
		out = c.explainPods(ctx, t.namespace, url.Values{"labelSelector": {"batch.kubernetes.io/job-name=" + t.name}})
	default:
		if selector := podSelector(t.kind, t.object); selector != "" {
			out = c.explainPods(ctx, t.namespace, url.Values{"labelSelector": {selector}})
		}
	}
	return append(out, c.warningsOf(ctx, t)...)
}

type podList struct {
	Items []struct {
		Metadata meta `json:"metadata"`
		Status   struct {
			InitContainerStatuses []containerStatus `json:"initContainerStatuses"`
			ContainerStatuses     []containerStatus `json:"containerStatuses"`
		} `json:"status"`
	} `json:"items"`
}

type containerStatus struct {
	Name  string `json:"name"`
	State struct {
		Waiting    *containerState `json:"waiting"`
		Terminated *containerState `json:"terminated"`
	} `json:"state"`
	// LastState is how the run before this one ended.
	LastState struct {
		Terminated *containerState `json:"terminated"`
	} `json:"lastState"`
}

type containerState struct {
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	ExitCode int    `json:"exitCode"`
}

func (c *Client) explainPods(ctx context.Context, namespace string, query url.Values) []string {
	body, err := c.Call(ctx, http.MethodGet, "/api/v1/namespaces/"+namespace+"/pods", query, nil, nil)
	var pods podList
	if err != nil || json.Unmarshal(body, &pods) != nil {
		return nil
	}
	var out []string
	for i := len(pods.Items) - 1; i >= 0; i-- {
		pod := pods.Items[i]
		for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			out = append(out, c.explainContainer(ctx, namespace, pod.Metadata.Name, s)...)
		}
		if len(out) > 0 {
			break // one failed pod tells what the others would
		}
	}
	return out
}

func (c *Client) explainContainer(ctx context.Context, namespace, pod string, s containerStatus) []string {
	end, wait, before := s.State.Terminated, s.State.Waiting, s.LastState.Terminated
	var line string
	switch {
	case end != nil && end.ExitCode != 0:
		line = fmt.Sprintf("container %s of pod %s ended with exit code %d %s %s", s.Name, pod, end.ExitCode, end.Reason, end.Message)
		before = nil
	case before != nil && before.ExitCode != 0:
		line = fmt.Sprintf("container %s of pod %s was restarted after exit code %d %s %s", s.Name, pod, before.ExitCode, before.Reason, before.Message)
	case wait != nil && wait.Reason != "" && wait.Reason != "ContainerCreating" && wait.Reason != "PodInitializing":
		line = fmt.Sprintf("container %s of pod %s waits: %s %s", s.Name, pod, wait.Reason, wait.Message)
		return []string{strings.TrimSpace(line)} // it has never run: there is no log
	default:
		return nil
	}
	return append([]string{strings.TrimSpace(line)}, c.logEnd(ctx, namespace, pod, s.Name, before != nil)...)
}

// logEnd is the end of a container's log, of its run before this one where
// previous says so.
func (c *Client) logEnd(ctx context.Context, namespace, pod, container string, previous bool) []string {
	query := url.Values{"container": {container}, "tailLines": {strconv.Itoa(logLines)}, "limitBytes": {"16384"}, "previous": {strconv.FormatBool(previous)}}
	body, err := c.Call(ctx, http.MethodGet, "/api/v1/namespaces/"+namespace+"/pods/"+pod+"/log", query, http.Header{"Accept": {"text/plain, */*"}}, nil)
	if err != nil || len(body) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(body), "\n"), "\n")
	for i, l := range lines {
		lines[i] = "| " + l
	}
	return lines
}

// warningsOf are the newest warnings among an object's events.
func (c *Client) warningsOf(ctx context.Context, t *target) []string {
	if t.namespace == "" {
		return nil
	}
	query := url.Values{"fieldSelector": {"type=Warning,involvedObject.kind=" + t.kind + ",involvedObject.name=" + t.name}}
	body, err := c.Call(ctx, http.MethodGet, "/api/v1/namespaces/"+t.namespace+"/events", query, nil, nil)
	var events struct {
		Items []struct{ Reason, Message string } `json:"items"`
	}
	if err != nil || json.Unmarshal(body, &events) != nil {
		return nil
	}
	var out []string
	for _, e := range events.Items {
		out = append(out, e.Reason+": "+e.Message)
	}
	if len(out) > eventLines {
		out = out[len(out)-eventLines:]
	}
	return out
}
