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

// job is one step that is being executed.
type job struct {
	*api.Target
	plan.Step
	plan *plan.Plan
	// second reports that the object was not as the plan says, and that this is
	// the step for what it is now.
	second bool
	// refused are the fields for which the server has refused the object.
	refused map[string]bool
	// appeared reports whether an object that is to be created is there by now.
	appeared bool
}

func (j *job) deletes() bool { return j.Action == plan.Delete }

// Execute does the given steps of p in their order, those of one kind at once.
// Where objects of a kind fail, the kinds after it are not begun, except that
// one failed deletion does not keep others from being deleted. An object that
// is gone by now is created; one that is there by now and the release's own is
// brought up to date. Errors are an [*FieldConflictError] with the conflicts of
// all objects of a kind, an [*ImmutableError] or an [*kube.ObjectError] for each.
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
	alike := func(a, b *job) bool { return a.Step.Kind == b.Step.Kind && a.deletes() == b.deletes() }
	err = api.InTurns(ctx, jobs, alike, func(ctx context.Context, j *job) error {
		err := c.do(ctx, j)
		if err != nil && j.deletes() && ctx.Err() == nil {
			mu.Lock()
			undeleted = append(undeleted, err)
			mu.Unlock()
			return nil
		}
		return err
	})
	if err != nil {
		return gather(err)
	}
	return errors.Join(undeleted...)
}

// findAppeared finds out which objects are there by now that are to be created.
// Server-side apply would take them over, of whatever release they are, where a creation fails;
// hooks may have run for minutes since the plan was made.
func (c *Applier) findAppeared(ctx context.Context, jobs []*job) error {
	var fresh []*api.Target
	for _, j := range jobs {
		if j.Action == plan.Create {
			fresh = append(fresh, j.Target)
		}
	}
	live, err := c.api.ReadMetadata(ctx, fresh)
	for _, j := range jobs {
		j.appeared = live[j.Target] != nil
	}
	return err
}

// jobs finds the place of each step that has something to do or to tell.
func (c *Applier) jobs(ctx context.Context, p *plan.Plan, steps []plan.Step) ([]*job, error) {
	var out []*job
	var targets []*api.Target
	for _, s := range steps {
		if s.Action == plan.Unchanged {
			continue
		}
		t := &api.Target{Source: s.Source, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name, From: s.Object}
		// The kind is looked for as the plan has it, whatever the object says.
		t.Object = map[string]any{"apiVersion": s.APIVersion, "kind": s.Kind}
		out, targets = append(out, &job{Target: t, Step: s, plan: p}), append(targets, t)
	}
	_, missing, err := c.api.Place(ctx, targets, "")
	if len(missing) > 0 && err == nil {
		c.api.InvalidateDiscovery() // a hook may have made them
		_, missing, err = c.api.Place(ctx, targets, "")
	}
	if err == nil && len(missing) > 0 {
		return nil, api.NoMatch(missing)
	}
	for _, j := range out {
		j.Object = j.New
	}
	return out, err
}

func (c *Applier) do(ctx context.Context, j *job) error {
	switch j.Action {
	case plan.Keep:
		c.api.Progress().Send(progress.Event{Kind: progress.Kept, Object: j.Short(), Text: j.Reason})
		return nil
	case plan.Delete:
		return c.remove(ctx, j.Target, api.String(j.Live, "metadata", "uid"), Background)
	case plan.Create:
		return c.createNew(ctx, j)
	case plan.Update:
		return c.update(ctx, j)
	case plan.Replace:
		return c.replace(ctx, j)
	}
	return nil
}

// createNew creates an object. One that is there by now is brought up to date where
// it carries the release's marks.
func (c *Applier) createNew(ctx context.Context, j *job) error {
	if j.plan.ServerSide && j.Step.Name != "" {
		if j.appeared && !j.second {
			return c.again(ctx, j, apierrors.NewAlreadyExists(schema.GroupResource{Resource: j.Resource.Plural}, j.Step.Name))
		}
		return j.failed("create", c.applyServerSide(ctx, j))
	}
	body, err := json.Marshal(j.New)
	if err != nil {
		return j.Fail("encode", err)
	}
	err = c.create(ctx, j.Target, body)
	if apierrors.IsAlreadyExists(err) && !j.second && j.Step.Name != "" {
		return c.again(ctx, j, err)
	}
	if err == nil {
		c.api.Progress().Send(progress.Event{Kind: progress.Created, Object: j.Short()})
	}
	return j.Fail("create", err)
}

// again makes a step for an object that has appeared since the plan was made.
func (c *Applier) again(ctx context.Context, j *job, exists error) error {
	read := func(ctx context.Context, t *api.Target) (map[string]any, error) { return c.api.Read(ctx, t, false) }
	if j.plan.ServerSide {
		read = c.managedOne
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
	next, err := j.anew(live, j.plan.ForceReplace)
	if err != nil {
		return err
	}
	next.second = true
	return c.do(ctx, next)
}

// anew is the job of the same object, which is now what live says.
func (j *job) anew(live map[string]any, replace bool) (*job, error) {
	step, err := j.compute(live, replace)
	if err != nil {
		return nil, err
	}
	return &job{Target: j.Target, Step: step, plan: j.plan, second: j.second}, nil
}

// compute is the step of the same object, which is now what live says.
func (j *job) compute(live map[string]any, replace bool) (plan.Step, error) {
	item := j.Item
	item.Live = live
	p, err := plan.Compute([]plan.Item{item}, plan.Options{
		ServerSide: j.plan.ServerSide, Conflicts: j.plan.Conflicts, Autoscaled: j.plan.Autoscaled,
		AutoscalerNamespaces: j.plan.Searched,
		RejectedFields:       j.refused, ForceReplace: replace,
	})
	if err != nil {
		return plan.Step{}, err
	}
	return p.Steps[0], nil
}

// checkOwner returns a [*ConflictError] where live, which has appeared since the
// plan was made, does not belong to the release.
func (j *job) checkOwner(live map[string]any) error {
	owner := ownerOf(j.New)
	if owner.Release == "" {
		return nil
	}
	if why := api.MetadataOf(live).Foreign(owner); why != "" {
		return &ConflictError{Owner: owner, Conflicts: []Conflict{{Object: j.String(), Reason: why}}}
	}
	return nil
}

// ownerOf reads an object's marks.
func ownerOf(object map[string]any) kube.Owner {
	return kube.Owner{
		Release:   api.String(object, "metadata", "annotations", api.AnnotationRelease),
		Namespace: api.String(object, "metadata", "annotations", api.AnnotationNamespace),
	}
}

func (c *Applier) update(ctx context.Context, j *job) error {
	var err error
	switch j.Type {
	case plan.ServerApply:
		err = c.applyServerSide(ctx, j)
	case plan.Put:
		if err = c.putObject(ctx, j); refusesPut(err) {
			return c.mergeInstead(ctx, j)
		}
	default:
		err = c.merge(ctx, j)
	}
	if apierrors.IsNotFound(err) && !j.second && j.Type != plan.ServerApply {
		created := *j
		created.second, created.Action, created.Live = true, plan.Create, nil
		return c.createNew(ctx, &created)
	}
	if e := immutable(j.Step, j.String(), err); e != nil {
		if !replaceable(j.Step, j.plan.ForceReplace) {
			return e
		}
		return c.replace(ctx, j)
	}
	return j.failed("update", err)
}

// failed is fail for errors that may name the object themselves.
func (j *job) failed(verb string, err error) error {
	var conflict *FieldConflictError
	var object *kube.ObjectError
	if errors.As(err, &conflict) || errors.As(err, &object) {
		return err
	}
	return j.Fail(verb, err)
}

// mediaType is how a patch is sent.
func mediaType(t plan.PatchType) string {
	switch t {
	case plan.StrategicMerge:
		return "application/strategic-merge-patch+json"
	case plan.ServerApply:
		return applyPatch
	}
	return "application/merge-patch+json"
}

// merge sends the patch of a step that merges on the client's side. Where the
// server refuses it because the object has changed since it was read, it sends
// the one for what the object is now.
func (c *Applier) merge(ctx context.Context, j *job) error {
	for tries := 1; ; tries++ {
		answer, err := c.api.Call(ctx, http.MethodPatch, j.Path(), c.writing(), briefly(mediaType(j.Type)), j.Patch)
		if err == nil && changed(j.Live, answer) {
			c.api.Progress().Send(progress.Event{Kind: progress.Updated, Object: j.Short()})
		}
		if !apierrors.IsConflict(err) || tries == putTries {
			return err
		}
		if err := c.replan(ctx, j, false); err != nil || j.Action == plan.Unchanged {
			return err
		}
	}
}

// replace deletes an object with all that it owns, and creates it again. The
// server is asked first whether it would take the new one.
func (c *Applier) replace(ctx context.Context, j *job) error {
	body, err := json.Marshal(j.New)
	if err != nil {
		return j.Fail("encode", err)
	}
	err = c.On(c.api.WithProgress(nil).DryRun()).create(ctx, j.Target, body)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return j.Fail("replace", err)
	}
	if err := c.erase(ctx, j); err != nil || c.api.IsDryRun() {
		return j.failed("replace", err)
	}
	created := *j
	created.second, created.Action, created.Live = true, plan.Create, nil
	return c.createNew(ctx, &created)
}

// erase deletes the very object that the plan has seen, and returns when it is
// gone and what it owned as well.
func (c *Applier) erase(ctx context.Context, j *job) error {
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
	_, err = c.api.Call(ctx, http.MethodDelete, j.Path(), nil, briefly("application/json"), body)
	if apierrors.IsNotFound(err) || err == nil && c.api.IsDryRun() {
		return nil
	}
	if err != nil {
		return err
	}
	return c.awaitGone(ctx, j.Target, uid)
}

// goneTime is how long the object that is replaced may take to be gone: it may
// have a finalizer that no one works on.
const goneTime = 2 * time.Minute

func (c *Applier) awaitGone(ctx context.Context, t *api.Target, uid string) error {
	ctx, cancel := context.WithTimeout(ctx, goneTime)
	defer cancel()
	told := false
	defer func() {
		if told {
			c.api.Progress().Send(progress.Event{Kind: progress.Settled})
		}
	}()
	for delay := 10 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		m, err := c.api.Metadata(ctx, t)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && (m == nil || m.UID != uid) {
			c.api.Progress().Send(progress.Event{Kind: progress.Deleted, Object: t.Short()})
			return nil
		}
		if delay > 500*time.Millisecond && !told {
			told = true
			c.api.Progress().Send(progress.Event{Kind: progress.Waiting, Object: t.Short(), Text: "to be gone"})
		}
		if err := linger.Sleep(ctx, delay); err != nil {
			return &wait.PendingError{Pending: []string{t.String() + " to be gone"}, Err: err}
		}
	}
}
