// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
)

// Log is the log of one container.
type Log struct {
	Pod, Container string
	// Text is the end of the log, which begins with a whole line if it is truncated.
	Text string
	// Truncated is set if Text is not the whole log.
	Truncated bool
}

// String returns the names of the pod and the container.
func (l Log) String() string { return "pod " + l.Pod + ", container " + l.Container }

// logTail is the maximum size of Log.Text in bytes.
const logTail = 64 << 10

// Logs returns the logs of the containers of a Pod, or of all pods of a Job: pods in the order
// of their creation, init containers first, the last 64 KiB of each. It skips containers that
// have not run. For objects of other kinds it returns no logs. If some logs cannot be read, it
// returns the others together with the error.
func (c *Reader) Logs(ctx context.Context, o *manifest.Object, namespace string) ([]Log, error) {
	targets, err := c.api.Targets(ctx, []*manifest.Object{o}, namespace)
	if err != nil {
		return nil, err
	}
	var out []Log
	var errs []error
	for _, t := range targets {
		pods, err := c.podsToRead(ctx, t)
		errs = append(errs, t.Fail("read the logs of", err))
		for _, p := range pods {
			logs, err := c.podLogs(ctx, t.Namespace, p)
			out, errs = append(out, logs...), append(errs, t.Fail("read the logs of", err))
		}
	}
	return out, errors.Join(errs...)
}

func (c *Reader) podsToRead(ctx context.Context, t *api.Target) ([]*api.Pod, error) {
	switch {
	case t.IsPod():
		body, err := c.api.Call(ctx, http.MethodGet, t.Path(), nil, nil, nil)
		if err != nil {
			return nil, err
		}
		var p api.Pod
		err = json.Unmarshal(body, &p)
		p.Metadata.Name = t.Name // do not trust the response
		return []*api.Pod{&p}, err
	case t.Is("batch", "Job"):
		job, err := c.api.Metadata(ctx, t)
		if err != nil || job == nil {
			return nil, err
		}
		pods, err := c.api.Pods(ctx, t.Namespace, api.JobPods(t.Name))
		// An earlier job with the same name may have pods that are terminating.
		return slices.DeleteFunc(pods, func(p *api.Pod) bool { return p.Controller().UID != job.UID }), err
	}
	return nil, nil
}

func (c *Reader) podLogs(ctx context.Context, namespace string, p *api.Pod) ([]Log, error) {
	var out []Log
	var errs []error
	for _, s := range p.Containers() {
		if s.State.Terminated == nil && s.State.Running == nil && s.LastState.Terminated == nil {
			continue // it has not run
		}
		text, truncated, err := c.api.PodLog(ctx, namespace, p.Metadata.Name, url.Values{"container": {s.Name}}, logTail)
		if err != nil {
			errs = append(errs, fmt.Errorf("pod %s, container %s: %w", p.Metadata.Name, s.Name, err))
			continue
		}
		out = append(out, Log{Pod: p.Metadata.Name, Container: s.Name, Text: text, Truncated: truncated})
	}
	return out, errors.Join(errs...)
}
