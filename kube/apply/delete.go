// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// Cascade is the deletion propagation policy: what happens to dependent objects.
type Cascade string

// The propagation policies; "" is Background.
const (
	Background Cascade = "background"
	Foreground Cascade = "foreground"
	Orphan     Cascade = "orphan"
)

func (c Cascade) policy() string {
	switch c {
	case Foreground:
		return "Foreground"
	case Orphan:
		return "Orphan"
	}
	return "Background"
}

// Delete deletes objects in the given order, consecutive objects of one kind concurrently. It
// ignores objects that do not exist and kinds that are not served. It keeps objects without the
// owner's ownership labels, and reports them: a record may name objects that never belonged to
// the release. After a failed deletion it continues with the others; the error joins an
// [*kube.ObjectError] for each.
func (c *Applier) Delete(ctx context.Context, objects []*manifest.Object, owner kube.Owner, cascade Cascade) error {
	targets, err := c.api.Served(ctx, objects, owner.Namespace)
	if err != nil {
		return err
	}
	live, err := c.api.ReadMetadata(ctx, targets)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var errs []error
	err = api.ForEachKind(ctx, targets, func(ctx context.Context, t *api.Target) error {
		m := live[t]
		if m == nil {
			return nil
		}
		if why := m.Foreign(owner); why != "" {
			c.api.Progress().Send(progress.Event{Kind: progress.Kept, Object: t.Short(), Text: why})
			return nil
		}
		if err := c.remove(ctx, t, m.UID, cascade); err != nil {
			mu.Lock()
			errs = append(errs, err)
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(errs...)
}

// remove deletes an object. If uid is not empty, it is a precondition of the deletion.
func (c *Applier) remove(ctx context.Context, t *api.Target, uid string, cascade Cascade) error {
	if t.Name == "" {
		return nil // the generated name was not recorded
	}
	options := map[string]any{"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": cascade.policy()}
	if uid != "" {
		options["preconditions"] = map[string]string{"uid": uid}
	}
	if c.api.IsDryRun() {
		options["dryRun"] = []string{"All"}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return t.Fail("delete", err)
	}
	_, err = c.api.Call(ctx, http.MethodDelete, t.Path(), nil, metadataOnly("application/json"), body)
	switch {
	case err == nil:
		c.api.Progress().Send(progress.Event{Kind: progress.Deleted, Object: t.Short()})
	case apierrors.IsNotFound(err):
	case apierrors.IsConflict(err) && uid != "":
		c.api.Progress().Send(progress.Event{Kind: progress.Kept, Object: t.Short(),
			Text: "another client replaced it meanwhile"})
	default:
		return t.Fail("delete", err)
	}
	return nil
}
