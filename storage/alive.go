// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moonhelm/moonhelm/release"
)

// maxHeartbeatAttempts is the maximum number of attempts to write a heartbeat while other
// clients change the record.
const maxHeartbeatAttempts = 4

// RenewHeartbeat implements [Driver]. It changes only annotations, and only if the heartbeat is
// the one in seen: a late heartbeat does not change a finished record or another client's.
func (c *Cluster) RenewHeartbeat(ctx context.Context, k Key, seen Heartbeat, holder string) (Heartbeat, error) {
	next := Heartbeat{Status: seen.Status, Holder: holder, Token: c.now().UTC().Format(time.RFC3339Nano),
		Changed: seen.Changed}
	for tries := 0; ; tries++ {
		m, err := c.readMetadata(ctx, k)
		if err != nil {
			return Heartbeat{}, err
		}
		now := c.heartbeatOf(m)
		if tries > 0 && next.isCurrent(now) {
			return next, nil // an earlier attempt succeeded, but its response was lost
		}
		if !seen.isCurrent(now) {
			return Heartbeat{}, m.changedError(k)
		}
		err = c.writeHeartbeat(ctx, k, m, next)
		if !apierrors.IsConflict(err) || tries >= maxHeartbeatAttempts {
			return next, c.wrapError("send a heartbeat on the record of release", k, err)
		}
	}
}

func (c *Cluster) writeHeartbeat(ctx context.Context, k Key, seen objectMeta, next Heartbeat) error {
	path := c.path(k.Namespace, objectName(k))
	if !c.noPatch.Load() {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": seen.Version, "uid": seen.UID,
			"annotations": map[string]string{annotationHeartbeat: next.Token, annotationHolder: next.Holder},
		}})
		if err != nil {
			return err
		}
		header := http.Header{"Accept": {acceptMetadata}, "Content-Type": {"application/merge-patch+json"}}
		_, err = c.api.Call(ctx, http.MethodPatch, path, nil, header, patch)
		if !apierrors.IsForbidden(err) {
			return err
		}
		// Helm does not need the permission to patch records, so some users lack it:
		// read and update the whole record instead.
		c.noPatch.Store(true)
	}
	body, err := c.api.Call(ctx, http.MethodGet, path, nil, http.Header{"Accept": {"application/json"}}, nil)
	if err != nil {
		return err
	}
	var whole map[string]any
	if err := json.Unmarshal(body, &whole); err != nil {
		return err
	}
	meta, _ := whole["metadata"].(map[string]any)
	if meta == nil {
		return errMalformed
	}
	if meta["resourceVersion"] != seen.Version {
		return apierrors.NewConflict(schema.GroupResource{Resource: c.resource}, objectName(k),
			errors.New("the record has changed"))
	}
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	annotations[annotationHeartbeat], annotations[annotationHolder] = next.Token, next.Holder
	if body, err = json.Marshal(whole); err != nil {
		return err
	}
	_, err = c.call(ctx, http.MethodPut, path, body)
	return err
}

// Heartbeat implements [Driver].
func (c *Cluster) Heartbeat(ctx context.Context, k Key) (Heartbeat, error) {
	m, err := c.readMetadata(ctx, k)
	if err != nil {
		return Heartbeat{}, err
	}
	return c.heartbeatOf(m), nil
}

// clockSkew is the maximum time by which the clocks of other clients may be ahead.
const clockSkew = time.Minute

// heartbeatOf returns the heartbeat of a record. Changed is the latest time in its labels,
// which are by the clock of the client that wrote them; if all of these are in the future, it
// is the creation timestamp, by the server's clock.
func (c *Cluster) heartbeatOf(m objectMeta) Heartbeat {
	p := Heartbeat{
		Status: release.Status(m.Labels[labelStatus]),
		Holder: m.Annotations[annotationHolder], Token: m.Annotations[annotationHeartbeat],
	}
	now := c.now()
	if m.Created != nil {
		p.Changed = *m.Created
	}
	for _, label := range []string{labelCreated, labelModified} {
		sec, err := strconv.ParseInt(m.Labels[label], 10, 64)
		if t := time.Unix(sec, 0); err == nil && t.After(p.Changed) && !t.After(now.Add(clockSkew)) {
			p.Changed = t
		}
	}
	if p.Changed.After(now) {
		p.Changed = now
	}
	return p
}

// readMetadata reads the metadata of a record's Secret or ConfigMap.
func (c *Cluster) readMetadata(ctx context.Context, k Key) (objectMeta, error) {
	if err := checkKey(k); err != nil {
		return objectMeta{}, err
	}
	body, err := c.call(ctx, http.MethodGet, c.path(k.Namespace, objectName(k)), nil)
	if err = c.wrapError("read release", k, err); err != nil {
		return objectMeta{}, err
	}
	m, err := decodeMetadata(body)
	if err != nil {
		return m, fmt.Errorf("read release %s: %s %s: %w", k, c.kind, objectName(k), err)
	}
	return m, nil
}
