// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/plan"
)

// predict asks the server what would become of each object that p creates or
// updates, and writes its answers into p. What the server would refuse is an
// error, all together. An object that needs another one of the plan cannot be
// foretold: then what was computed stands.
func (c *Applier) predict(ctx context.Context, p *plan.Plan, r Request) error {
	return c.trials(ctx, p, r, func(s *plan.Step) bool { return s.Action == plan.Create || s.Action == plan.Update })
}

// contested asks the server about the objects of p that have conflicts which nothing
// resolves: it has the last word. Others are not asked about, so that only who has
// conflicts waits for them.
func (c *Applier) contested(ctx context.Context, p *plan.Plan, r Request) error {
	return c.trials(ctx, p, r, func(s *plan.Step) bool { return s.Action == plan.Update && unresolved(*s) })
}

func (c *Applier) trials(ctx context.Context, p *plan.Plan, r Request, which func(*plan.Step) bool) error {
	dry := c.On(c.api.DryRun())
	var steps []plan.Step
	var at []*plan.Step
	for i := range p.Steps {
		if s := &p.Steps[i]; which(s) {
			steps, at = append(steps, *s), append(at, s)
		}
	}
	if len(steps) == 0 {
		return nil
	}
	jobs, err := dry.jobs(ctx, p, steps)
	if err != nil {
		return err
	}
	toCome := comes(p)
	err = api.Together(ctx, jobs, func(ctx context.Context, j *job) error {
		err := dry.foretell(ctx, j, r.Owner, toCome)
		var conflict *FieldConflictError
		if r.ReportConflicts && errors.As(err, &conflict) {
			return j.report(conflict)
		}
		return err
	})
	for i, j := range jobs {
		*at[i] = j.Step
	}
	return gather(err)
}

// report has the step say what its conflicts are.
func (j *job) report(e *FieldConflictError) error {
	for _, f := range e.Conflicts {
		if !slices.ContainsFunc(j.Conflicts, func(c plan.Conflict) bool { return c.Field == f.Field }) {
			j.Conflicts = append(j.Conflicts, f.Conflict)
		}
	}
	return nil
}

// comes are the names of what will be there once a plan is executed.
func comes(p *plan.Plan) map[string]bool {
	names := map[string]bool{}
	for _, s := range p.Steps {
		if s.Action == plan.Create {
			names[s.Name] = true
		}
	}
	delete(names, "")
	return names
}

// foretell asks about one step.
func (c *Applier) foretell(ctx context.Context, j *job, owner kube.Owner, toCome map[string]bool) error {
	after, err := c.trial(ctx, j)
	if j.Type == plan.Put && refusesPut(err) {
		next, merr := j.merged()
		if merr != nil {
			return merr
		}
		if j.Step = next.Step; j.Action == plan.Unchanged {
			return nil
		}
		after, err = c.trial(ctx, j)
	}
	if err == nil {
		j.Conflicts = slices.DeleteFunc(slices.Clone(j.Conflicts), func(c plan.Conflict) bool {
			return c.Resolution == plan.Fail && !c.Excluded
		})
		j.settle(after)
		return (*applyRefusal)(nil).conflict(j.Target, j.Step)
	}
	var conflict *FieldConflictError
	switch e := immutable(j.Step, j.String(), err); {
	case e != nil && replaceable(j.Step, j.plan.ForceReplace):
		j.Action, j.Reason = plan.Replace, strings.Join(e.Fields, ", ")+" cannot be changed"
		j.After = j.New
		return nil
	case e != nil:
		return e
	case errors.As(err, &conflict):
		return err
	case apierrors.IsConflict(err): // it has changed since it was read: what was computed stands
		return nil
	case apierrors.IsNotFound(err) &&
		j.Live != nil, apierrors.IsAlreadyExists(err), missesNamespace(err, owner.Namespace), waits(err, toCome):
		return nil
	}
	return j.Fail(string(j.Action), err)
}

// waits reports whether the server refuses something only because of what is not
// there yet, or cannot say.
func waits(err error, toCome map[string]bool) bool {
	switch {
	case apierrors.IsBadRequest(err):
		return strings.Contains(err.Error(), "dry run") // a webhook with effects
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		var forbidden *kube.ForbiddenError
		if errors.As(err, &forbidden) {
			return false
		}
		// What is missing comes behind what was asked for: "namespaces \"x\" not
		// found", "... is forbidden: no PriorityClass with name x was found".
		_, text, found := strings.Cut(err.Error(), " is forbidden: ")
		if !found {
			text = err.Error()
		}
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \"'/,;()[]", r) }) {
			if toCome[strings.TrimSuffix(word, ":")] {
				return strings.Contains(text, "found")
			}
		}
	}
	return false
}

// missesNamespace reports whether a namespace is not there yet: a release's own
// may be made right before its objects.
func missesNamespace(err error, namespace string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces" && details.Name == namespace
}

// settle takes the server's word for what an object becomes.
func (j *job) settle(after map[string]any) {
	if after == nil {
		return
	}
	j.After = after
	if j.Action == plan.Update && sameObject(j.Live, after, j.plan.ServerSide) {
		j.Action, j.Patch, j.Reason = plan.Unchanged, nil, ""
	}
}

// trial is the object as the server would make it, nil where it cannot tell.
func (c *Applier) trial(ctx context.Context, j *job) (map[string]any, error) {
	if j.Type == plan.Put {
		answer, err := c.put(ctx, j, http.Header{"Content-Type": {"application/json"}})
		if err != nil {
			return nil, err
		}
		return api.DecodeObject(answer, false)
	}
	header := http.Header{}
	query := c.writing()
	method, path, body := http.MethodPatch, j.Path(), j.Patch
	switch {
	case j.Action == plan.Create && (!j.plan.ServerSide || j.Step.Name == ""):
		method, path = http.MethodPost, j.Resource.Path(j.Namespace, "")
		header.Set("Content-Type", "application/json")
	case j.plan.ServerSide:
		header.Set("Content-Type", applyPatch)
		query = j.applying(c)
	default:
		header.Set("Content-Type", mediaType(j.Type))
	}
	if body == nil {
		var err error
		if body, err = json.Marshal(j.New); err != nil {
			return nil, err
		}
	}
	answer, err := c.api.Call(ctx, method, path, query, header, body)
	moves, _ := movedFields(j.Item, j.Displaced)
	no := applyRefused(j.Target, err, func(m string) bool { return moves != nil && (plan.IsHelm(m) || plan.Migrates(m)) })
	if no != nil {
		return c.retrial(ctx, j, no)
	}
	if len(j.Displaced) > 0 && apierrors.IsInvalid(err) {
		return nil, nil // to the server both fields are there until they are moved
	}
	if err != nil || moves != nil {
		// Before its fields are moved the server would leave dropped ones there.
		return nil, err
	}
	return api.DecodeObject(answer, j.plan.ServerSide)
}

// retrial is trial for what is left of a refused object once its conflicts are
// resolved; an [*FieldConflictError] where some are not.
func (c *Applier) retrial(ctx context.Context, j *job, no *applyRefusal) (map[string]any, error) {
	if len(no.errs) == 0 {
		return nil, nil
	}
	again := j.refused != nil
	j.refused = no.fields
	next, err := j.compute(j.Live, false)
	if err != nil {
		return nil, err
	}
	next.Conflicts = slices.DeleteFunc(next.Conflicts, func(f plan.Conflict) bool {
		return f.Resolution == plan.Fail && !f.Excluded && !no.fields[f.Field]
	})
	j.Step = next
	if err := no.conflict(j.Target, next); err != nil || again {
		return nil, err
	}
	if j.Action == plan.Unchanged {
		return nil, nil
	}
	return c.trial(ctx, j)
}

// sameObject compares two states of an object, but for what counts its changes.
func sameObject(a, b map[string]any, managers bool) bool {
	return reflect.DeepEqual(lasting(a, managers), lasting(b, managers))
}

func lasting(object map[string]any, managers bool) map[string]any {
	object = maps.Clone(object)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "resourceVersion")
		delete(metadata, "generation")
		if !managers {
			delete(metadata, "managedFields")
		}
		object["metadata"] = metadata
	}
	return object
}
