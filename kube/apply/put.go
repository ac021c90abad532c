// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

// maxPutAttempts is the maximum number of attempts to update an object that other clients change, as
// a controller changes the status of a Deployment.
const maxPutAttempts = 8

// putObject replaces the live object by the new one and reports the change.
func (c *Applier) putObject(ctx context.Context, j *job) error {
	answer, err := c.put(ctx, j, metadataOnly("application/json"))
	if err == nil && isChanged(j.Live, answer) {
		c.api.Progress().Send(progress.Event{Kind: progress.Updated, Object: j.Short()})
	}
	return err
}

// put replaces the live object by the new one. If the object has changed since it was read, put
// recomputes the step. It returns the server's response.
func (c *Applier) put(ctx context.Context, j *job, header http.Header) ([]byte, error) {
	for tries := 1; ; tries++ {
		body, err := j.body()
		if err != nil {
			return nil, err
		}
		answer, err := c.api.Call(ctx, http.MethodPut, j.Path(), c.writeQuery(), header, body)
		if !apierrors.IsConflict(err) || tries == maxPutAttempts {
			return answer, err
		}
		if err := c.replan(ctx, j, true); err != nil {
			return nil, err
		}
	}
}

// replan reads the object again and recomputes the step of j.
func (c *Applier) replan(ctx context.Context, j *job, replace bool) error {
	live, err := c.api.Read(ctx, j.Target, false)
	if err != nil {
		return err
	}
	if live == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: j.Resource.Plural}, j.Name)
	}
	if api.String(live, "metadata", "uid") != api.String(j.Live, "metadata", "uid") {
		if err := j.checkOwner(live); err != nil {
			return err
		}
	}
	next, err := j.recompute(live, replace)
	if err != nil {
		return err
	}
	return j.become(next.Step)
}

// isPutRejected reports whether the server does not accept the replacement of an object. Its
// controllers may have set immutable fields that no chart contains: the selector of a Job, the
// node of a Pod.
func isPutRejected(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsMethodNotSupported(err)
}

// mergeJob returns the job that merges an object instead of replacing it.
func (j *job) mergeJob() (*job, error) { return j.recompute(j.Live, false) }

// mergeInstead merges an object whose replacement was rejected.
func (c *Applier) mergeInstead(ctx context.Context, j *job) error {
	next, err := j.mergeJob()
	if err != nil || next.Action == plan.Unchanged {
		return err
	}
	return c.executeStep(ctx, next)
}
