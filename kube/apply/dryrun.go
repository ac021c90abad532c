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

// dryRun sends a dry run of each object that p creates or updates, and puts the results into p.
// It returns all errors of the server, joined. A dry run that fails because the object needs
// another object of p is ignored, and the computed result remains. It leaves out the objects of
// known, a [*ValidationError] or nil: the server would say less about them.
func (c *Applier) dryRun(ctx context.Context, p *plan.Plan, r Request, known error) error {
	var invalid *ValidationError
	errors.As(known, &invalid)
	return c.dryRunSteps(ctx, p, r, func(s *plan.Step) bool {
		return (s.Action == plan.Create && !slices.Contains(r.Blocked, s.Object) || s.Action == plan.Update) &&
			!invalid.has(kube.ObjectName(s.Kind, s.Namespace, s.Name))
	})
}

// dryRunConflicts sends a dry run of the objects of p with unresolved conflicts, because only
// the server can confirm a conflict. Other objects are not sent, to save time.
func (c *Applier) dryRunConflicts(ctx context.Context, p *plan.Plan, r Request) error {
	return c.dryRunSteps(ctx, p, r, func(s *plan.Step) bool { return s.Action == plan.Update && hasUnresolved(*s) })
}

func (c *Applier) dryRunSteps(ctx context.Context, p *plan.Plan, r Request, which func(*plan.Step) bool) error {
	dry := c.WithClient(c.api.DryRun())
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
	created := createdNames(p)
	err = api.ForEach(ctx, jobs, func(ctx context.Context, j *job) error {
		err := dry.dryRunStep(ctx, j, r.Owner, created)
		var conflict *FieldConflictError
		if r.ReportConflicts && errors.As(err, &conflict) {
			return j.addConflicts(conflict)
		}
		return err
	})
	for i, j := range jobs {
		j.Computed = &steps[i]
		*at[i] = j.Step
	}
	return joinConflicts(err)
}

// addConflicts adds the conflicts of e to the step.
func (j *job) addConflicts(e *FieldConflictError) error {
	for _, f := range e.Conflicts {
		if !slices.ContainsFunc(j.Conflicts, func(c plan.Conflict) bool { return c.Field == f.Field }) {
			j.Conflicts = append(j.Conflicts, f.Conflict)
		}
	}
	return nil
}

// createdNames returns the names of the objects that p creates.
func createdNames(p *plan.Plan) map[string]bool {
	names := map[string]bool{}
	for _, s := range p.Steps {
		if s.Action == plan.Create {
			names[s.Name] = true
		}
	}
	delete(names, "")
	return names
}

// dryRunStep sends a dry run of one step and puts the result into j.
func (c *Applier) dryRunStep(ctx context.Context, j *job, owner kube.Owner, created map[string]bool) error {
	after, err := c.sendDryRun(ctx, j)
	if j.Type == plan.Put && isPutRejected(err) {
		next, merr := j.mergeJob()
		if merr != nil {
			return merr
		}
		if j.Step = next.Step; j.Action == plan.Unchanged {
			return nil
		}
		after, err = c.sendDryRun(ctx, j)
	}
	if err == nil {
		j.Conflicts = slices.DeleteFunc(slices.Clone(j.Conflicts), func(c plan.Conflict) bool {
			return c.Resolution == plan.Fail && !c.Excluded
		})
		j.setResult(after)
		return (*applyConflicts)(nil).err(j.Target, j.Step)
	}
	var conflict *FieldConflictError
	switch e := newImmutableError(j.Step, j.String(), err); {
	case e != nil && isReplaceable(j.Step, j.plan.ForceReplace):
		j.Action, j.Reason = plan.Replace, strings.Join(e.Fields, ", ")+" cannot be changed"
		j.After = j.New
		return nil
	case e != nil:
		return e
	case errors.As(err, &conflict):
		return err
	case apierrors.IsConflict(err): // changed since it was read: keep the computed result
		return nil
	case apierrors.IsNotFound(err) &&
		j.Live != nil, apierrors.IsAlreadyExists(err), isMissingNamespace(err, owner.Namespace),
		isPrerequisiteError(err, created):
		return nil
	}
	return c.reject(ctx, j, string(j.Action), err)
}

// isPrerequisiteError reports whether the server refuses a dry run only because an object in
// created does not exist yet, or because dry run is not supported.
func isPrerequisiteError(err error, created map[string]bool) bool {
	switch {
	case apierrors.IsBadRequest(err):
		return strings.Contains(err.Error(), "dry run") // a webhook with side effects
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		if _, ok := errors.AsType[*kube.ForbiddenError](err); ok {
			return false
		}
		// The message may begin with the requested object: "namespaces \"x\" not
		// found", "... is forbidden: no PriorityClass with name x was found".
		_, text, found := strings.Cut(err.Error(), " is forbidden: ")
		if !found {
			text = err.Error()
		}
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \"'/,;()[]", r) }) {
			if created[strings.TrimSuffix(word, ":")] {
				return strings.Contains(text, "found")
			}
		}
	}
	return false
}

// isMissingNamespace reports whether err is that the namespace does not exist: the release's
// may be created right before its objects.
func isMissingNamespace(err error, namespace string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces" && details.Name == namespace
}

// setResult makes after, the result of a dry run, the planned state of the object.
func (j *job) setResult(after map[string]any) {
	if after == nil {
		return
	}
	j.After = after
	if j.Action == plan.Update && isSameState(j.Live, after, j.plan.ServerSide) {
		j.Action, j.Patch, j.Reason = plan.Unchanged, nil, ""
	}
}

// sendDryRun returns the result of a dry run, or nil if the server cannot determine it.
func (c *Applier) sendDryRun(ctx context.Context, j *job) (map[string]any, error) {
	if j.Type == plan.Put {
		answer, err := c.put(ctx, j, http.Header{"Content-Type": {"application/json"}})
		if err != nil {
			return nil, err
		}
		return api.DecodeObject(answer, false)
	}
	header := http.Header{}
	query := c.writeQuery()
	method, path, body := http.MethodPatch, j.Path(), j.Patch
	switch {
	case j.Action == plan.Create && (!j.plan.ServerSide || j.Step.Name == ""):
		method, path = http.MethodPost, j.Resource.Path(j.Namespace, "")
		header.Set("Content-Type", "application/json")
	case j.plan.ServerSide:
		header.Set("Content-Type", applyPatch)
		query = j.applyQuery(c)
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
	isMoved := func(m string) bool { return moves != nil && (plan.IsHelm(m) || plan.Migrates(m)) }
	refused := newApplyConflicts(j.Target, err, isMoved)
	if refused != nil {
		return c.retryDryRun(ctx, j, refused)
	}
	if len(j.Displaced) > 0 && apierrors.IsInvalid(err) {
		return nil, nil // until the fields are moved, the object has the old and the new ones
	}
	if err != nil || moves != nil {
		// Until the fields are moved, the result still contains dropped ones.
		return nil, err
	}
	return api.DecodeObject(answer, j.plan.ServerSide)
}

// retryDryRun sends a dry run of the step without the fields in refused, if their
// conflicts are resolved; otherwise it returns a [*FieldConflictError].
func (c *Applier) retryDryRun(ctx context.Context, j *job, refused *applyConflicts) (map[string]any, error) {
	if len(refused.errs) == 0 {
		return nil, nil
	}
	again := j.rejectedFields != nil
	j.rejectedFields = refused.fields
	next, err := j.computeStep(j.Live, false)
	if err != nil {
		return nil, err
	}
	next.Conflicts = slices.DeleteFunc(next.Conflicts, func(f plan.Conflict) bool {
		return f.Resolution == plan.Fail && !f.Excluded && !refused.fields[f.Field]
	})
	j.Step = next
	if err := refused.err(j.Target, next); err != nil || again {
		return nil, err
	}
	if j.Action == plan.Unchanged {
		return nil, nil
	}
	return c.sendDryRun(ctx, j)
}

// isSameState compares two states of an object without the metadata that every write changes.
func isSameState(a, b map[string]any, managers bool) bool {
	return reflect.DeepEqual(withoutVersions(a, managers), withoutVersions(b, managers))
}

func withoutVersions(object map[string]any, managers bool) map[string]any {
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
