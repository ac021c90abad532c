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

// putTries bounds how often an object is put or merged again because it has changed
// meanwhile, as the status of a Deployment does all the time.
const putTries = 8

// putObject sends the new object in the place of the live one.
func (c *Applier) putObject(ctx context.Context, j *job) error {
	answer, err := c.put(ctx, j, briefly("application/json"))
	if err == nil && changed(j.Live, answer) {
		c.api.Progress().Send(progress.Event{Kind: progress.Updated, Object: j.Short()})
	}
	return err
}

// put sends the new object in the place of the live one, and again in the place
// of what it has become meanwhile. It returns the server's answer.
func (c *Applier) put(ctx context.Context, j *job, header http.Header) ([]byte, error) {
	for tries := 1; ; tries++ {
		answer, err := c.api.Call(ctx, http.MethodPut, j.Path(), c.writing(), header, j.Patch)
		if !apierrors.IsConflict(err) || tries == putTries {
			return answer, err
		}
		if err := c.replan(ctx, j, true); err != nil {
			return nil, err
		}
	}
}

// replan makes j the step for what its object is now, which replaces or merges it.
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
	next, err := j.anew(live, replace)
	if err != nil {
		return err
	}
	j.Step = next.Step
	return nil
}

// refusesPut reports whether the API server takes no whole object in the place
// of this one. It has filled in what may not change and no chart says: the
// selector of a Job, the node of a Pod.
func refusesPut(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsMethodNotSupported(err)
}

// merged is the job of merging what cannot be put.
func (j *job) merged() (*job, error) { return j.anew(j.Live, false) }

// mergeInstead merges what the API server does not take whole. What cannot be
// merged either is deleted and created.
func (c *Applier) mergeInstead(ctx context.Context, j *job) error {
	next, err := j.merged()
	if err != nil || next.Action == plan.Unchanged {
		return err
	}
	return c.do(ctx, next)
}
