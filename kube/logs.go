// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/manifest"
)

// Log is what one container has written.
type Log struct {
	Pod, Container string
	// Text is the end of the log, of whole lines where it was cut.
	Text string
	// Truncated is set where there was more before Text.
	Truncated bool
}

// String names the log.
func (l Log) String() string { return "pod " + l.Pod + ", container " + l.Container }

// logTail is how much of a container's log is kept.
const logTail = 64 << 10

// Logs reads what the containers of a Pod have written, or those of all pods of
// a Job: pods in the order in which they were made, init containers first, the
// last 64 KiB of each. Containers that have not run have no log. Objects of
// other kinds have none. Where some logs cannot be read, Logs returns the
// others together with the error.
func (c *Client) Logs(ctx context.Context, o *manifest.Object, namespace string) ([]Log, error) {
	targets, err := c.targets(ctx, []*manifest.Object{o}, namespace)
	if err != nil {
		return nil, err
	}
	var out []Log
	var errs []error
	for _, t := range targets {
		pods, err := c.podsToRead(ctx, t)
		errs = append(errs, t.fail("read the logs of", err))
		for _, p := range pods {
			logs, err := c.podLogs(ctx, t.namespace, p)
			out, errs = append(out, logs...), append(errs, t.fail("read the logs of", err))
		}
	}
	return out, errors.Join(errs...)
}

func (c *Client) podsToRead(ctx context.Context, t *target) ([]*pod, error) {
	switch {
	case t.isPod():
		body, err := c.Call(ctx, http.MethodGet, t.path(), nil, nil, nil)
		if err != nil {
			return nil, err
		}
		var p pod
		err = json.Unmarshal(body, &p)
		p.Metadata.Name = t.name // what was asked for
		return []*pod{&p}, err
	case t.is("batch", "Job"):
		job, err := c.getMeta(ctx, t)
		if err != nil || job == nil {
			return nil, err
		}
		pods, err := c.pods(ctx, t.namespace, jobPods(t.name))
		// An earlier job of the name may have left pods that are on their way out.
		return slices.DeleteFunc(pods, func(p *pod) bool { return p.maker().UID != job.UID }), err
	}
	return nil, nil
}

// pods lists pods in the order in which they were made.
func (c *Client) pods(ctx context.Context, namespace string, query url.Values) ([]*pod, error) {
	body, err := c.Call(ctx, http.MethodGet, podPlace(namespace).res.path(namespace, ""), query, nil, nil)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []*pod `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	// Their names become parts of paths.
	list.Items = slices.DeleteFunc(list.Items, func(p *pod) bool { return p == nil || !plainName(p.Metadata.Name) })
	slices.SortStableFunc(list.Items, func(a, b *pod) int {
		return cmp.Or(cmp.Compare(a.Metadata.Created, b.Metadata.Created), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	return list.Items, nil
}

func (c *Client) podLogs(ctx context.Context, namespace string, p *pod) ([]Log, error) {
	var out []Log
	var errs []error
	for _, s := range p.containers() {
		if s.State.Terminated == nil && s.State.Running == nil && s.LastState.Terminated == nil {
			continue // it has not run
		}
		l, err := c.log(ctx, namespace, p.Metadata.Name, url.Values{"container": {s.Name}}, logTail)
		if err != nil {
			errs = append(errs, fmt.Errorf("pod %s, container %s: %w", p.Metadata.Name, s.Name, err))
			continue
		}
		l.Container = s.Name
		out = append(out, l)
	}
	return out, errors.Join(errs...)
}

// log reads one log and keeps its last bytes. The API can limit a log's
// beginning only, so it is read through.
func (c *Client) log(ctx context.Context, namespace, pod string, query url.Values, most int) (Log, error) {
	path := podPlace(namespace).res.path(namespace, pod) + "/log"
	resp, err := c.send(ctx, http.MethodGet, path, query, http.Header{"Accept": {"text/plain, */*"}}, nil)
	if err != nil {
		return Log{}, withoutStatus(err)
	}
	defer resp.Body.Close()
	text, truncated, err := tail(resp.Body, most)
	if err != nil {
		return Log{}, c.networkError(ctx, err)
	}
	return Log{Pod: pod, Container: query.Get("container"), Text: text, Truncated: truncated}, nil
}

// withoutStatus drops what the API server says around a kubelet's words.
func withoutStatus(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" && status.Status().Code == http.StatusBadRequest {
		return errors.New(status.Status().Message)
	}
	return err
}

// tail reads all of r and keeps its last bytes, from the beginning of a line on
// where it can.
func tail(r io.Reader, most int) (string, bool, error) {
	buf := make([]byte, 0, 4<<10)
	chunk := make([]byte, 32<<10)
	truncated := false
	for {
		n, err := r.Read(chunk)
		buf = append(buf, chunk[:n]...)
		if len(buf) > 2*most {
			buf, truncated = append(buf[:0], buf[len(buf)-most:]...), true
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", false, err
		}
	}
	if len(buf) > most {
		buf, truncated = buf[len(buf)-most:], true
	}
	text := string(buf)
	if truncated {
		if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
			text = rest
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD"), truncated, nil
}
