// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/openapi"
	"github.com/moonhelm/moonhelm/plan"
)

// InvalidObject is one object that the API server would refuse.
type InvalidObject struct {
	Object   string // with its namespace
	Source   string // the template, "" where not known
	Problems []openapi.Problem
}

// ValidationError lists the objects that the API server would refuse for what
// their fields are. Nothing was written.
type ValidationError struct{ Objects []InvalidObject }

func (e *ValidationError) Error() string {
	var b strings.Builder
	b.WriteString("error validating data: the API server does not take these objects as they are, and nothing was written")
	for _, o := range e.Objects {
		fmt.Fprintf(&b, "\n  %s", o.Object)
		if o.Source != "" {
			fmt.Fprintf(&b, " (%s)", o.Source)
		}
		for _, p := range o.Problems {
			fmt.Fprintf(&b, "\n    %s", p)
		}
	}
	return b.String()
}

// Unknown reports whether all that is wrong are fields that kinds do not have.
func (e *ValidationError) Unknown() bool {
	for _, o := range e.Objects {
		for _, p := range o.Problems {
			if !p.Unknown() {
				return false
			}
		}
	}
	return true
}

// candidate is an object that is about to be written.
type candidate struct {
	*api.Target
	problems []openapi.Problem
	custom   bool
	hook     bool
}

// validating begins to validate what p writes, and returns what waits for the
// result. Where the server is asked about each object it says more: then only
// hooks are validated.
func (c *Applier) validating(ctx context.Context, p *plan.Plan, r Request) func() error {
	if c.options.NoSchemaValidation || r.Checked {
		return func() error { return nil }
	}
	steps := p.Steps
	if r.ServerDryRun {
		steps = nil
	}
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = c.validate(ctx, steps, r)
	}()
	return func() error {
		<-done
		return err
	}
}

// invalidOr is the error of items that cannot be merged, together with what else
// is wrong with objects.
func (c *Applier) invalidOr(ctx context.Context, items []plan.Item, r Request, merging error) error {
	p := &plan.Plan{}
	for _, it := range items {
		if it.New != nil {
			p.Steps = append(p.Steps, plan.Step{Item: it, Action: plan.Update})
		}
	}
	r.ServerDryRun = false
	if err := c.validating(ctx, p, r)(); err != nil {
		return errors.Join(err, merging)
	}
	return merging
}

// validate holds what the steps and the running hooks of r write against the kinds as
// the server publishes them: a [*ValidationError] names all that is wrong. What
// the server publishes nothing about passes, and so does what has a definition
// that r changes first.
func (c *Applier) validate(ctx context.Context, steps []plan.Step, r Request) error {
	all, err := candidates(steps, r)
	if err != nil || len(all) == 0 {
		return err
	}
	var apiVersions []string
	for _, a := range all {
		if v := a.Key().APIVersion; v != "" && !slices.Contains(apiVersions, v) {
			apiVersions = append(apiVersions, v)
		}
	}
	documents := c.documents(ctx, apiVersions)
	changing := defined(append(slices.Clone(r.Definitions), append(slices.Clone(r.New), r.Running...)...))
	var suspects []*candidate
	for _, a := range all {
		d := documents[a.Key().APIVersion]
		if d == nil || d.Custom && (r.HooksFirst || changing[kube.GroupOf(a.Key().APIVersion)+" "+a.Kind]) {
			continue
		}
		a.problems, a.custom = d.Check(a.Object), d.Custom
		a.problems = slices.DeleteFunc(a.problems, func(p openapi.Problem) bool {
			return p.Unknown() && (c.options.FieldValidation == FieldValidationWarn || !a.hook && directive(p.Field))
		})
		if len(a.problems) > 0 {
			suspects = append(suspects, a)
		}
	}
	return c.confirm(ctx, suspects, r.Owner.Namespace)
}

// directive reports whether a field is one of a patch, such as $patch. Package
// plan refuses those of the release's objects, and says why.
func directive(field string) bool {
	return strings.HasPrefix(field[strings.LastIndexAny(field, ".[")+1:], "$")
}

// confirm asks the server about the objects that it would refuse by what it
// publishes, and names those in a [*ValidationError] that it does refuse. It
// publishes a definition a few seconds after it was changed, and may publish
// more than it is strict about.
func (c *Applier) confirm(ctx context.Context, suspects []*candidate, namespace string) error {
	if len(suspects) == 0 {
		return nil
	}
	var targets []*api.Target
	for _, s := range suspects {
		targets = append(targets, s.Target)
	}
	if _, _, err := c.api.Place(ctx, targets, namespace); err != nil {
		return err
	}
	dry := c.On(c.api.WithProgress(nil).DryRun())
	refused := make([]bool, len(suspects))
	indexes := make([]int, len(suspects))
	for i := range indexes {
		indexes[i] = i
	}
	err := api.Together(ctx, indexes, func(ctx context.Context, i int) error {
		refused[i] = dry.refuses(ctx, suspects[i])
		return nil
	})
	if err != nil {
		return err
	}
	e := &ValidationError{}
	for i, s := range suspects {
		if refused[i] {
			e.Objects = append(e.Objects, InvalidObject{Object: s.String(), Source: s.Source, Problems: s.problems})
		}
	}
	if len(e.Objects) > 0 {
		return e
	}
	return nil
}

// refuses reports whether the server would not create the object. One that is
// there was accepted before the server says so. Where it cannot say, because of
// a permission or a namespace that is missing, its own kinds are what it publishes.
func (c *Applier) refuses(ctx context.Context, s *candidate) bool {
	if s.Resource == nil {
		return false
	}
	body, err := json.Marshal(s.Object)
	if err != nil {
		return false
	}
	err = c.create(ctx, s.Target, body)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return false
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err) && !strings.Contains(err.Error(), "dry run"):
		return true
	}
	return !s.custom
}

// candidates are the objects that are about to be written, in that order.
func candidates(steps []plan.Step, r Request) ([]*candidate, error) {
	var out []*candidate
	hooks, err := api.Unplaced(r.Running)
	if err != nil {
		return nil, err
	}
	for _, t := range hooks {
		if t.Namespace == "" {
			t.Namespace = r.Owner.Namespace // for messages; it is placed before it is sent
		}
		out = append(out, &candidate{Target: t, hook: true})
	}
	for _, s := range steps {
		switch s.Action {
		case plan.Create, plan.Update, plan.Replace:
			t := api.NewTarget(s.Source, s.New)
			t.Namespace = s.Namespace
			out = append(out, &candidate{Target: t})
		}
	}
	return out, nil
}

// defined are the kinds that definitions among objects define, as "group kind".
func defined(objects []*manifest.Object) map[string]bool {
	out := map[string]bool{}
	for _, o := range objects {
		if o.Kind != api.CRDKind {
			continue
		}
		if m, err := o.Map(); err == nil {
			out[api.String(m, "spec", "group")+" "+api.String(m, "spec", "names", "kind")] = true
		}
	}
	return out
}

// Hint says what a user of the command line can do about it, "" where no field is unknown.
func (e *ValidationError) Hint() string {
	if !e.Unknown() {
		return ""
	}
	return "--disable-openapi-validation leaves it to the API server, which then only warns of fields that it does " +
		"not know, and drops them"
}
