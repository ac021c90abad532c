// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/openapi"
	"github.com/moonhelm/moonhelm/plan"
)

// InvalidObject is an object that the API server would reject.
type InvalidObject struct {
	Object string // with its namespace
	Source string // the template, or "" if it is not known
	Fields []FieldError
	// From is the manifest of the object, or nil if it is not known.
	From *manifest.Object
}

// ValidationError is returned if objects do not match the schemas of their kinds. Nothing was
// written.
type ValidationError struct{ Objects []InvalidObject }

func (e *ValidationError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "error validating data: the API server would reject %s, and nothing was written", e.count())
	for _, o := range e.Objects {
		fmt.Fprintf(&b, "\n  %s", o.Object)
		if o.Source != "" {
			fmt.Fprintf(&b, " (%s)", o.Source)
		}
		for _, f := range o.Fields {
			fmt.Fprintf(&b, "\n    %s", f)
		}
	}
	return b.String()
}

func (e *ValidationError) count() string {
	if len(e.Objects) == 1 {
		return "an object"
	}
	return strconv.Itoa(len(e.Objects)) + " objects"
}

// has reports whether e, which may be nil, is about the object with the given name.
func (e *ValidationError) has(name string) bool {
	return e != nil && slices.ContainsFunc(e.Objects, func(o InvalidObject) bool { return o.Object == name })
}

// Locate sets the lines of the fields.
func (e *ValidationError) Locate(line Locator) {
	for _, o := range e.Objects {
		locate(o.Fields, o.From, line)
	}
}

// Unknown reports whether all problems are unknown fields.
func (e *ValidationError) Unknown() bool {
	for _, o := range e.Objects {
		for _, f := range o.Fields {
			if !f.Unknown() {
				return false
			}
		}
	}
	return true
}

// candidate is an object that is validated.
type candidate struct {
	*api.Target
	problems []openapi.Problem
	custom   bool
	hook     bool
}

// startValidation starts to validate the objects that p writes, and returns a function that
// waits for the result.
func (c *Applier) startValidation(ctx context.Context, p *plan.Plan, r Request) func() error {
	if c.options.NoSchemaValidation || r.Validated {
		return func() error { return nil }
	}
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = c.validate(ctx, p.Steps, r)
	}()
	return func() error {
		<-done
		return err
	}
}

// withValidation returns merging, an error of computing the plan, joined with the errors of
// validating the objects.
func (c *Applier) withValidation(ctx context.Context, items []plan.Item, r Request, merging error) error {
	p := &plan.Plan{}
	for _, it := range items {
		if it.New != nil {
			p.Steps = append(p.Steps, plan.Step{Item: it, Action: plan.Update})
		}
	}
	if err := c.startValidation(ctx, p, r)(); err != nil {
		return errors.Join(err, merging)
	}
	return merging
}

// validate validates the objects that steps write and the running hooks of r against the
// server's OpenAPI documents. It returns a [*ValidationError] with all problems. It skips
// objects without a document, and custom resources whose CRD r changes first.
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
	changing := crdKinds(append(slices.Clone(r.Definitions), append(slices.Clone(r.New), r.Running...)...))
	var suspects []*candidate
	for _, a := range all {
		d := documents[a.Key().APIVersion]
		if d == nil || d.Custom && (r.HooksFirst || changing[manifest.Group(a.Key().APIVersion)+" "+a.Kind]) {
			continue
		}
		a.problems, a.custom = d.Check(a.Object), d.Custom
		a.problems = slices.DeleteFunc(a.problems, func(p openapi.Problem) bool {
			return p.Unknown() && (c.options.FieldValidation == FieldValidationWarn || !a.hook && isDirective(p.Field))
		})
		if len(a.problems) > 0 {
			suspects = append(suspects, a)
		}
	}
	return c.confirm(ctx, suspects, r.Owner.Namespace)
}

// isDirective reports whether a field is a directive of a patch, such as $patch. Package plan
// rejects those in objects of the release, with a better message.
func isDirective(field string) bool {
	return strings.HasPrefix(field[strings.LastIndexAny(field, ".[")+1:], "$")
}

// confirm sends a dry run of the objects that do not match their schemas, and returns a
// [*ValidationError] with those that the server rejects. The schemas may be some seconds older
// than a CRD, and stricter than the server.
func (c *Applier) confirm(ctx context.Context, suspects []*candidate, namespace string) error {
	if len(suspects) == 0 {
		return nil
	}
	var targets []*api.Target
	for _, s := range suspects {
		targets = append(targets, s.Target)
	}
	if _, _, err := c.api.ResolveTargets(ctx, targets, namespace); err != nil {
		return err
	}
	dry := c.WithClient(c.api.WithProgress(nil).DryRun())
	refused := make([]bool, len(suspects))
	indexes := make([]int, len(suspects))
	for i := range indexes {
		indexes[i] = i
	}
	err := api.ForEach(ctx, indexes, func(ctx context.Context, i int) error {
		refused[i] = dry.isRejected(ctx, suspects[i])
		return nil
	})
	if err != nil {
		return err
	}
	e := &ValidationError{}
	for i, s := range suspects {
		if refused[i] {
			e.Objects = append(e.Objects, s.invalid())
		}
	}
	if len(e.Objects) > 0 {
		return e
	}
	return nil
}

func (s *candidate) invalid() InvalidObject {
	return InvalidObject{Object: s.String(), Source: s.Source, From: s.From, Fields: fieldErrors(s.problems)}
}

// isRejected reports whether the server would not create the object. It answers that an object
// exists only after validation. If the dry run fails for another reason, such as a missing
// permission or namespace, the schema decides for built-in kinds.
func (c *Applier) isRejected(ctx context.Context, s *candidate) bool {
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

// candidates returns the objects that are about to be written, in that order.
func candidates(steps []plan.Step, r Request) ([]*candidate, error) {
	var out []*candidate
	hooks, err := api.ParseTargets(r.Running)
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
			t.Namespace, t.From = s.Namespace, s.Object
			out = append(out, &candidate{Target: t})
		}
	}
	return out, nil
}

// crdKinds returns the kinds that the CRDs among objects define, as "GROUP KIND".
func crdKinds(objects []*manifest.Object) map[string]bool {
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

// Hint returns advice for the user of the command line if all problems are unknown fields, else
// "".
func (e *ValidationError) Hint() string {
	if !e.Unknown() {
		return ""
	}
	return "--disable-openapi-validation leaves it to the API server, which then only warns of fields that it does " +
		"not know, and drops them"
}
