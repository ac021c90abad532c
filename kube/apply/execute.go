// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moonhelm/moonhelm/internal/linger"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

// job is a step that is being executed.
type job struct {
	*api.Target
	plan.Step
	plan *plan.Plan
	// recomputed is set if the object differed from the plan and the step was recomputed.
	recomputed bool
	// rejectedFields contains the fields for which the server has reported conflicts.
	rejectedFields map[string]bool
	// exists is set if an object to create exists by now.
	exists bool
}

func (j *job) isDelete() bool { return j.Action == plan.Delete }

// Execute executes the given steps of p in order, consecutive steps of one kind concurrently.
// If objects of a kind fail, it does not begin the next kind; failed deletions, however, do not
// stop further deletions. An object to update that no longer exists is created; an object to
// create that exists by now and belongs to the release is updated. The error joins a
// [*FieldConflictError] with the conflicts of all objects of a kind, and an [*ImmutableError]
// or [*kube.ObjectError] for each other object.
func (c *Applier) Execute(ctx context.Context, p *plan.Plan, steps []plan.Step) error {
	jobs, err := c.jobs(ctx, p, steps)
	if err != nil {
		return err
	}
	if p.ServerSide {
		if err := c.findAppeared(ctx, jobs); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	var undeleted []error
	alike := func(a, b *job) bool { return a.Step.Kind == b.Step.Kind && a.isDelete() == b.isDelete() }
	err = api.ForEachBatch(ctx, jobs, alike, func(ctx context.Context, j *job) error {
		err := c.executeStep(ctx, j)
		if err != nil && j.isDelete() && ctx.Err() == nil {
			mu.Lock()
			undeleted = append(undeleted, err)
			mu.Unlock()
			return nil
		}
		return err
	})
	if err != nil {
		return joinConflicts(err)
	}
	return errors.Join(undeleted...)
}

// findAppeared sets appeared on the jobs whose objects were created after the plan was made,
// for example by a hook that ran for minutes. Server-side apply would silently adopt such an
// object, whatever its owner.
func (c *Applier) findAppeared(ctx context.Context, jobs []*job) error {
	var fresh []*api.Target
	for _, j := range jobs {
		if j.Action == plan.Create {
			fresh = append(fresh, j.Target)
		}
	}
	live, err := c.api.ReadMetadata(ctx, fresh)
	for _, j := range jobs {
		j.exists = live[j.Target] != nil
	}
	return err
}

// jobs returns a job for each step other than Unchanged.
func (c *Applier) jobs(ctx context.Context, p *plan.Plan, steps []plan.Step) ([]*job, error) {
	var out []*job
	var targets []*api.Target
	for _, s := range steps {
		if s.Action == plan.Unchanged {
			continue
		}
		t := &api.Target{Source: s.Source, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name, From: s.Object}
		// Resolve the API version of the plan, which may differ from the object's.
		t.Object = map[string]any{"apiVersion": s.APIVersion, "kind": s.Kind}
		out, targets = append(out, &job{Target: t, Step: s, plan: p}), append(targets, t)
	}
	_, missing, err := c.api.ResolveTargets(ctx, targets, "")
	if len(missing) > 0 && err == nil {
		c.api.InvalidateDiscovery() // a hook may have created the CRDs
		_, missing, err = c.api.ResolveTargets(ctx, targets, "")
	}
	if err == nil && len(missing) > 0 {
		return nil, api.NoMatch(missing)
	}
	for _, j := range out {
		j.Object = j.New
	}
	return out, err
}

func (c *Applier) executeStep(ctx context.Context, j *job) error {
	switch j.Action {
	case plan.Keep:
		c.api.Progress().Send(progress.Event{Kind: progress.Kept, Object: j.Short(), Text: j.Reason})
		return nil
	case plan.Delete:
		return c.remove(ctx, j.Target, api.String(j.Live, "metadata", "uid"), Cascade(j.plan.Cascade))
	case plan.Create:
		return c.createNew(ctx, j)
	case plan.Update:
		return c.update(ctx, j)
	case plan.Replace:
		return c.replace(ctx, j)
	}
	return nil
}

// createNew creates an object. If it exists by now and belongs to the release, it is updated.
func (c *Applier) createNew(ctx context.Context, j *job) error {
	if j.plan.ServerSide && j.Step.Name != "" {
		if j.exists && !j.recomputed {
			exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: j.Resource.Plural}, j.Step.Name)
			return c.retryExisting(ctx, j, exists)
		}
		return c.wrapError(ctx, j, "create", c.applyServerSide(ctx, j))
	}
	body, err := json.Marshal(j.New)
	if err != nil {
		return j.Fail("encode", err)
	}
	err = c.create(ctx, j.Target, body)
	if apierrors.IsAlreadyExists(err) && !j.recomputed && j.Step.Name != "" {
		return c.retryExisting(ctx, j, err)
	}
	if err == nil {
		c.api.Progress().Send(progress.Event{Kind: progress.Created, Object: j.Short()})
	}
	return c.reject(ctx, j, "create", err)
}

// retryExisting computes and executes the step for an object that was created after the plan
// was made.
func (c *Applier) retryExisting(ctx context.Context, j *job, exists error) error {
	read := func(ctx context.Context, t *api.Target) (map[string]any, error) { return c.api.Read(ctx, t, false) }
	if j.plan.ServerSide {
		read = c.readManaged
	}
	live, err := read(ctx, j.Target)
	if err != nil {
		return err
	}
	if live == nil {
		return j.Fail("create", exists)
	}
	if err := j.checkOwner(live); err != nil {
		return err
	}
	next, err := j.recompute(live, j.plan.ForceReplace)
	if err != nil {
		return err
	}
	if j.plan.Exact && next.Action != plan.Unchanged { // else the response to its creation was lost
		return &StaleError{Object: j.String(), Change: "another client has created it"}
	}
	next.recomputed = true
	return c.executeStep(ctx, next)
}

// recompute returns the job for the same object with the live state live.
func (j *job) recompute(live map[string]any, replace bool) (*job, error) {
	step, err := j.computeStep(live, replace)
	if err != nil {
		return nil, err
	}
	return &job{Target: j.Target, Step: step, plan: j.plan, recomputed: j.recomputed}, nil
}

// computeStep returns the step for the same object with the live state live.
func (j *job) computeStep(live map[string]any, replace bool) (plan.Step, error) {
	item := j.Item
	item.Live = live
	p, err := plan.Compute([]plan.Item{item}, plan.Options{
		ServerSide: j.plan.ServerSide, Conflicts: j.plan.Conflicts, Autoscaled: j.plan.Autoscaled,
		AutoscalerNamespaces: j.plan.Searched,
		RejectedFields:       j.rejectedFields, ForceReplace: replace,
	})
	if err != nil {
		return plan.Step{}, err
	}
	return p.Steps[0], nil
}

// checkOwner returns a [*ConflictError], or in an exact plan a [*StaleError], if live, which was
// created after the plan was made, does not belong to the release.
func (j *job) checkOwner(live map[string]any) error {
	is := api.MetadataOf(j.New).Ownership()
	owner := kube.Owner{Release: is.Release, Namespace: is.Namespace}
	if owner.Release == "" {
		return nil
	}
	if why := api.MetadataOf(live).Foreign(owner); why != "" {
		if j.plan.Exact {
			return &StaleError{Object: j.String(), Change: "another client has created it: " + why}
		}
		return &ConflictError{Owner: owner, Conflicts: []Conflict{{Object: j.String(), Reason: why}}}
	}
	return nil
}

func (c *Applier) update(ctx context.Context, j *job) error {
	var err error
	switch j.Type {
	case plan.ServerApply:
		err = c.applyServerSide(ctx, j)
	case plan.Put:
		if err = c.putObject(ctx, j); isPutRejected(err) {
			return c.mergeInstead(ctx, j)
		}
	default:
		err = c.merge(ctx, j)
	}
	if apierrors.IsNotFound(err) && j.plan.Exact {
		return &StaleError{Object: j.String(), Change: "another client has deleted it"}
	}
	if apierrors.IsNotFound(err) && !j.recomputed && j.Type != plan.ServerApply {
		created := *j
		created.recomputed, created.Action, created.Live = true, plan.Create, nil
		return c.createNew(ctx, &created)
	}
	if e := newImmutableError(j.Step, j.String(), err); e != nil {
		if j.plan.Exact || !isReplaceable(j.Step, j.plan.ForceReplace) {
			return e
		}
		return c.replace(ctx, j)
	}
	return c.wrapError(ctx, j, "update", err)
}

// wrapError is like reject, but returns errors unchanged that name the object themselves.
func (c *Applier) wrapError(ctx context.Context, j *job, verb string, err error) error {
	if err == nil {
		return nil
	}
	var conflict *FieldConflictError
	var object *kube.ObjectError
	if errors.As(err, &conflict) || errors.As(err, &object) {
		return err
	}
	return c.reject(ctx, j, verb, err)
}

// mediaType returns the Content-Type of a patch.
func mediaType(t plan.PatchType) string {
	switch t {
	case plan.StrategicMerge:
		return "application/strategic-merge-patch+json"
	case plan.ServerApply:
		return applyPatch
	}
	return "application/merge-patch+json"
}

// merge sends the patch of a step that merges on the client's side. If the server reports that
// the object has changed since it was read, merge computes the patch again.
func (c *Applier) merge(ctx context.Context, j *job) error {
	for tries := 1; ; tries++ {
		body, err := j.body()
		if err != nil {
			return err
		}
		answer, err := c.api.Call(ctx, http.MethodPatch, j.Path(), c.writeQuery(), metadataOnly(mediaType(j.Type)), body)
		if err == nil && isChanged(j.Live, answer) {
			c.api.Progress().Send(progress.Event{Kind: progress.Updated, Object: j.Short()})
		}
		if !apierrors.IsConflict(err) || tries == maxPutAttempts {
			return err
		}
		if err := c.replan(ctx, j, false); err != nil || j.Action == plan.Unchanged {
			return err
		}
	}
}

// replace deletes an object and its dependents, and creates it again. Before, it checks with a
// dry run that the server accepts the new object.
func (c *Applier) replace(ctx context.Context, j *job) error {
	body, err := json.Marshal(j.New)
	if err != nil {
		return j.Fail("encode", err)
	}
	err = c.WithClient(c.api.WithProgress(nil).DryRun()).create(ctx, j.Target, body)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return c.reject(ctx, j, "replace", err)
	}
	if err := c.deleteForeground(ctx, j); err != nil || c.api.IsDryRun() {
		return c.wrapError(ctx, j, "replace", err)
	}
	created := *j
	created.recomputed, created.Action, created.Live = true, plan.Create, nil
	return c.createNew(ctx, &created)
}

// deleteForeground deletes the object of the plan, and no other with its name, and waits until
// it and its dependents no longer exist.
func (c *Applier) deleteForeground(ctx context.Context, j *job) error {
	uid := api.String(j.Live, "metadata", "uid")
	options := map[string]any{"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": Foreground.policy(),
		"preconditions": map[string]string{"uid": uid}}
	if c.api.IsDryRun() {
		options["dryRun"] = []string{"All"}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return err
	}
	_, err = c.api.Call(ctx, http.MethodDelete, j.Path(), nil, metadataOnly("application/json"), body)
	if apierrors.IsNotFound(err) || err == nil && c.api.IsDryRun() {
		return nil
	}
	if err != nil {
		return err
	}
	return c.waitDeleted(ctx, j.Target, uid)
}

// deletionTimeout is the maximum time for the deletion of an object that is replaced: it may
// have a finalizer that no controller removes.
const deletionTimeout = 2 * time.Minute

func (c *Applier) waitDeleted(ctx context.Context, t *api.Target, uid string) error {
	ctx, cancel := context.WithTimeout(ctx, deletionTimeout)
	defer cancel()
	reported := false
	defer func() {
		if reported {
			c.api.Progress().Send(progress.Event{Kind: progress.Settled})
		}
	}()
	for begun, delay := time.Now(), 10*time.Millisecond; ; delay = min(2*delay, time.Second) {
		m, err := c.api.Metadata(ctx, t)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && (m == nil || m.UID != uid) {
			c.api.Progress().Send(progress.Event{Kind: progress.Deleted, Object: t.Short()})
			return nil
		}
		if delay > 500*time.Millisecond && !reported {
			reported = true
			c.api.Progress().Send(progress.Event{Kind: progress.Waiting, Object: t.Short(), Text: "to be deleted"})
		}
		if err := linger.Sleep(ctx, delay); err != nil {
			return &wait.PendingError{Deletion: true, After: time.Since(begun), Err: err,
				Problems: []wait.Problem{{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name, Missing: "not deleted yet"}}}
		}
	}
}
