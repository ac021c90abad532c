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

// beatTries bounds how often a beat is tried where others write the record at
// the same time.
const beatTries = 4

// RenewHeartbeat implements [Driver]. It changes annotations only, and only of the state
// that it has seen: one that comes late leaves no trace on a record that is
// finished, or another's.
func (c *Cluster) RenewHeartbeat(ctx context.Context, k Key, seen Heartbeat, holder string) (Heartbeat, error) {
	next := Heartbeat{Status: seen.Status, Holder: holder, Token: c.now().UTC().Format(time.RFC3339Nano),
		Changed: seen.Changed}
	for tries := 0; ; tries++ {
		m, err := c.metadata(ctx, k)
		if err != nil {
			return Heartbeat{}, err
		}
		now := c.pulse(m)
		if tries > 0 && next.beats(now) {
			return next, nil // the answer was lost
		}
		if !seen.beats(now) {
			return Heartbeat{}, m.changed(k)
		}
		err = c.beat(ctx, k, m, next)
		if !apierrors.IsConflict(err) || tries >= beatTries {
			return next, c.found("send a heartbeat on the record of release", k, err)
		}
	}
}

func (c *Cluster) beat(ctx context.Context, k Key, seen objectMeta, next Heartbeat) error {
	path := c.path(k.Namespace, objectName(k))
	if !c.noPatch.Load() {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": seen.Version, "uid": seen.UID,
			"annotations": map[string]string{annotationBeat: next.Token, annotationHolder: next.Holder},
		}})
		if err != nil {
			return err
		}
		header := http.Header{"Accept": {acceptMetadata}, "Content-Type": {"application/merge-patch+json"}}
		_, err = c.api.Call(ctx, http.MethodPatch, path, nil, header, patch)
		if !apierrors.IsForbidden(err) {
			return err
		}
		// Helm needs no permission to patch records, so there are users without it:
		// the whole record goes back and forth for them.
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
		return errWire
	}
	if meta["resourceVersion"] != seen.Version {
		return apierrors.NewConflict(schema.GroupResource{Resource: c.resource}, objectName(k),
			errors.New("it was changed meanwhile"))
	}
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	annotations[annotationBeat], annotations[annotationHolder] = next.Token, next.Holder
	if body, err = json.Marshal(whole); err != nil {
		return err
	}
	_, err = c.call(ctx, http.MethodPut, path, body)
	return err
}

// Heartbeat implements [Driver].
func (c *Cluster) Heartbeat(ctx context.Context, k Key) (Heartbeat, error) {
	m, err := c.metadata(ctx, k)
	if err != nil {
		return Heartbeat{}, err
	}
	return c.pulse(m), nil
}

// clockSkew is how far ahead the clocks of other clients may be.
const clockSkew = time.Minute

// pulse is the heartbeat of a record. When it was changed is what its labels
// say, by the clock of the client that wrote them; a time that has not come yet
// cannot be true, and the server's own, when the record was made, is left.
func (c *Cluster) pulse(m objectMeta) Heartbeat {
	p := Heartbeat{
		Status: release.Status(m.Labels[labelStatus]),
		Holder: m.Annotations[annotationHolder], Token: m.Annotations[annotationBeat],
	}
	now := c.now()
	if m.Created != nil {
		p.Changed = *m.Created
	}
	for _, label := range []string{labelCreated, labelModified} {
		sec, err := strconv.ParseInt(m.Labels[label], 10, 64)
		if at := time.Unix(sec, 0); err == nil && at.After(p.Changed) && !at.After(now.Add(clockSkew)) {
			p.Changed = at
		}
	}
	if p.Changed.After(now) {
		p.Changed = now
	}
	return p
}

// metadata reads what stands around a record.
func (c *Cluster) metadata(ctx context.Context, k Key) (objectMeta, error) {
	if err := checkKey(k); err != nil {
		return objectMeta{}, err
	}
	body, err := c.call(ctx, http.MethodGet, c.path(k.Namespace, objectName(k)), nil)
	if err = c.found("read release", k, err); err != nil {
		return objectMeta{}, err
	}
	m, err := decodeMetadata(body)
	if err != nil {
		return m, fmt.Errorf("read release %s: %s %s: %w", k, c.kind, objectName(k), err)
	}
	return m, nil
}
