// SPDX-License-Identifier: Apache-2.0

package store

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

// Beat implements [Driver]. It changes one annotation, and only of the state
// that it has seen to be pending: a beat that comes late leaves no trace on a
// record that is finished.
func (c *Cluster) Beat(ctx context.Context, k Key) error {
	for tries := 0; ; tries++ {
		m, err := c.metadata(ctx, k)
		if err != nil {
			return err
		}
		if !release.Status(m.Labels[labelStatus]).Underway() {
			return nil
		}
		err = c.beat(ctx, k, m)
		if !apierrors.IsConflict(err) || tries >= beatTries {
			return c.found("show signs of life on the record of release", k, err)
		}
	}
}

func (c *Cluster) beat(ctx context.Context, k Key, seen objectMeta) error {
	stamp := c.now().UTC().Format(time.RFC3339Nano)
	path := c.path(k.Namespace, objectName(k))
	if !c.noPatch.Load() {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": seen.Version,
			"annotations":     map[string]string{annotationBeat: stamp},
		}})
		if err != nil {
			return err
		}
		header := http.Header{"Accept": {acceptMetadata}, "Content-Type": {"application/merge-patch+json"}}
		_, err = c.api.Call(ctx, http.MethodPatch, path, nil, header, patch)
		if !apierrors.IsForbidden(err) {
			return err
		}
		// Helm needs no right to patch records, so there are users without it:
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
		return apierrors.NewConflict(schema.GroupResource{Resource: c.resource}, objectName(k), errors.New("it was changed meanwhile"))
	}
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	annotations[annotationBeat] = stamp
	if body, err = json.Marshal(whole); err != nil {
		return err
	}
	_, err = c.call(ctx, http.MethodPut, path, nil, body)
	return err
}

// Pulse implements [Driver].
func (c *Cluster) Pulse(ctx context.Context, k Key) (Pulse, error) {
	m, err := c.metadata(ctx, k)
	if err != nil {
		return Pulse{}, err
	}
	p := Pulse{
		Status: release.Status(m.Labels[labelStatus]),
		Holder: m.Annotations[annotationHolder], Beat: m.Annotations[annotationBeat],
	}
	if m.Created != nil {
		p.Changed = *m.Created
	}
	for _, label := range []string{labelCreated, labelModified} {
		if sec, err := strconv.ParseInt(m.Labels[label], 10, 64); err == nil && time.Unix(sec, 0).After(p.Changed) {
			p.Changed = time.Unix(sec, 0)
		}
	}
	return p, nil
}

// metadata reads what stands around a record.
func (c *Cluster) metadata(ctx context.Context, k Key) (objectMeta, error) {
	if err := checkKey(k); err != nil {
		return objectMeta{}, err
	}
	body, err := c.call(ctx, http.MethodGet, c.path(k.Namespace, objectName(k)), nil, nil)
	if err = c.found("read release", k, err); err != nil {
		return objectMeta{}, err
	}
	m, err := decodeMetadata(body)
	if err != nil {
		return m, fmt.Errorf("read release %s: %s %s: %w", k, c.kind, objectName(k), err)
	}
	return m, nil
}
