// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/plan"
)

// FieldConflict is a field that another manager has set to a value other than the release's.
type FieldConflict struct {
	Object string
	Source string // the template, or "" if it is not known
	plan.Conflict
}

// FieldConflictError is returned if applying conflicts with other field managers.
type FieldConflictError struct{ Conflicts []FieldConflict }

func (e *FieldConflictError) Error() string {
	var b strings.Builder
	object := ""
	b.WriteString("conflict occurred while applying objects: Apply failed with " +
		plural.Count(len(e.Conflicts), "conflict") +
		": other managers have set fields that the release sets to another value")
	for _, f := range e.Conflicts {
		if f.Object != object {
			object = f.Object
			fmt.Fprintf(&b, "\n  %s", object)
			if f.Source != "" {
				fmt.Fprintf(&b, " (%s)", f.Source)
			}
		}
		fmt.Fprintf(&b, "\n    %s", f.Sentence())
		if f.Manager.Time != "" {
			b.WriteString(", since " + f.Manager.Time)
		}
	}
	return b.String()
}

// joinConflicts merges all [*FieldConflictError] values that err joins into one.
func joinConflicts(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	all := &FieldConflictError{}
	var others []error
	for _, e := range joined.Unwrap() {
		if conflict, ok := errors.AsType[*FieldConflictError](e); ok {
			all.Conflicts = append(all.Conflicts, conflict.Conflicts...)
		} else {
			others = append(others, e)
		}
	}
	if len(all.Conflicts) > 0 {
		others = append([]error{all}, others...)
	}
	if len(others) == 1 {
		return others[0]
	}
	return errors.Join(others...)
}

// applyConflicts are the conflicts in the server's response to an apply, without those with
// managers whose fields the release takes over.
type applyConflicts struct {
	fields map[string]bool // keys are paths as the server writes them
	errs   []FieldConflict
}

// newApplyConflicts returns the conflicts that err reports, or nil if err is not about field
// conflicts. It skips managers for which ignore returns true.
func newApplyConflicts(t *api.Target, err error, ignore func(manager string) bool) *applyConflicts {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	r := &applyConflicts{fields: map[string]bool{}}
	found := false
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		found = true
		// The message is: conflict with "kubectl-edit" using apps/v1
		m := plan.Manager{Name: strings.TrimPrefix(cause.Message, "conflict with ")}
		if name, err := strconv.QuotedPrefix(m.Name); err == nil {
			if m.Name, _ = strconv.Unquote(name); ignore(m.Name) {
				continue
			}
		}
		r.fields[cause.Field] = true
		r.errs = append(r.errs, FieldConflict{t.String(), t.Source, plan.Conflict{
			Path: strings.TrimPrefix(cause.Field, "."), Field: cause.Field, Manager: m, Resolution: plan.Fail,
		}})
	}
	if !found {
		return nil
	}
	return r
}

// err returns a [*FieldConflictError] with the unresolved conflicts of s and the conflicts of r
// that s does not contain, or nil if there are none. r may be nil.
func (r *applyConflicts) err(t *api.Target, s plan.Step) error {
	e := &FieldConflictError{}
	for _, c := range s.Conflicts {
		if c.Resolution == plan.Fail {
			e.Conflicts = append(e.Conflicts, FieldConflict{t.String(), t.Source, c})
		}
	}
	if r != nil {
		for _, f := range r.errs {
			if !slices.ContainsFunc(s.Conflicts, func(c plan.Conflict) bool { return c.Field == f.Field }) {
				e.Conflicts = append(e.Conflicts, f)
			}
		}
	}
	if len(e.Conflicts) == 0 {
		return nil
	}
	return e
}

// considerAutoscalers computes p again with the cluster's autoscalers, if p has conflicts that
// they might resolve. Only then are they read; if reading them fails, they are ignored.
func (c *Applier) considerAutoscalers(ctx context.Context, p *plan.Plan, items []plan.Item,
	o plan.Options) (*plan.Plan, error) {
	o.Autoscaled = plan.Autoscaled{}
	for _, namespace := range p.SearchAutoscalers() {
		if c.autoscalers(ctx, namespace, o.Autoscaled) {
			o.AutoscalerNamespaces = append(o.AutoscalerNamespaces, namespace)
		}
	}
	if len(o.AutoscalerNamespaces) == 0 {
		return p, nil
	}
	return plan.Compute(items, o)
}

// autoscalers adds the targets of a namespace's autoscalers to found. It reports whether it
// could read them.
func (c *Applier) autoscalers(ctx context.Context, namespace string, found plan.Autoscaled) bool {
	path := "/apis/autoscaling/v2/namespaces/" + url.PathEscape(namespace) + "/horizontalpodautoscalers"
	body, err := c.api.Call(ctx, http.MethodGet, path, nil, nil, nil)
	if err != nil {
		return false // without the permission to list them, the conflict remains
	}
	items, _, err := api.DecodeList(body, false)
	if err != nil {
		return false
	}
	for _, it := range items {
		it["apiVersion"], it["kind"] = "autoscaling/v2", "HorizontalPodAutoscaler"
		found.Add(it, namespace)
	}
	return true
}

// hasUnresolved reports whether a step has a conflict with the resolution plan.Fail.
func hasUnresolved(s plan.Step) bool {
	return slices.ContainsFunc(s.Conflicts, func(c plan.Conflict) bool { return c.Resolution == plan.Fail })
}

// Hint returns advice for the user of the command line.
func (e *FieldConflictError) Hint() string {
	return "--conflicts=yield leaves these fields to their managers, --conflicts=take takes them over; " +
		"the annotation " + plan.OwnershipAnnotation + " does so for one object"
}
