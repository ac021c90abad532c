// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/planfile"
	"github.com/moonhelm/moonhelm/release"
)

// Apply does exactly what a plan says that was kept ([Preview.Keep]), in the sequence of the
// operation that was planned.
//
//	doc, err := planfile.Decode(data)
//	...
//	applied, err := action.Apply{Config: config}.Run(ctx, action.ApplyRequest{Plan: doc})
type Apply struct{ *Config }

// An ApplyRequest is the request to apply a plan. Plan is required; a sealed one must have been
// opened ([planfile.Document.Open]).
type ApplyRequest struct {
	Plan *planfile.Document
	// Chart, Values, ValueOrigins and the patches are those of the plan if its payload was left out:
	// the chart is rendered again. They are ignored for other plans, as is ResetPatches for all.
	Chart        *chart.Chart
	Values       map[string]any
	ValueOrigins OriginsFunc
	PatchOptions
	LookupHost func(host string) string
	// Watch reports logs and events of what is waited for, as in [WaitOptions]. It is not in a plan.
	Watch *wait.Watch
}

// Applied is the result of a plan: a new revision, or what was uninstalled.
type Applied struct {
	Release     *release.Release
	Uninstalled *Uninstalled
}

// Run applies the plan. Before its first write it compares what the plan rests on with the release
// and the cluster as they are now, and returns a [*StaleError] if the plan would do something else if
// it were made now. An object that another client changes later than that is not written, and the
// operation fails with an [*apply.StaleError].
//
// Further errors: an [*ExpiredError], a [*planfile.SealedError], a [*ChartNeededError], and those of
// the operation.
func (a Apply) Run(ctx context.Context, req ApplyRequest) (*Applied, error) {
	if err := a.check(req); err != nil {
		return nil, err
	}
	if expires := req.Plan.Expires; req.Plan.ExpiredAt(a.now()) {
		return nil, &ExpiredError{Expires: *expires, Now: a.now()}
	}
	if req.Plan.Operation == planfile.Uninstall {
		out, err := Uninstall(a).runHeld(ctx, req.Plan, req.Watch)
		if out == nil {
			return nil, err
		}
		return &Applied{Release: out.Release, Uninstalled: out}, err
	}
	d, err := a.operation(req)
	if err != nil {
		return nil, err
	}
	rel, err := d.deploy(ctx)
	if rel == nil {
		return nil, err
	}
	return &Applied{Release: rel}, err
}

// Check compares the plan with the release and the cluster as they are now, as Run does, and writes
// nothing.
func (a Apply) Check(ctx context.Context, req ApplyRequest) error {
	if err := a.check(req); err != nil {
		return err
	}
	if expires := req.Plan.Expires; req.Plan.ExpiredAt(a.now()) {
		return &ExpiredError{Expires: *expires, Now: a.now()}
	}
	if req.Plan.Operation == planfile.Uninstall {
		_, err := Uninstall(a).planHeld(ctx, req.Plan, false)
		return err
	}
	d, err := a.operation(req)
	if err != nil {
		return err
	}
	d.applyOptions.ReportConflicts = true // a user who may only read can check too
	return d.runDry(ctx)
}

// Rebase returns what the objects of the plan would change now, with a plan to apply in its place as
// [Change.Kept]. It writes nothing, and accepts a plan that no longer holds or has expired.
// A plan whose payload was left out is rendered again. The plan of a request for either
// ([Preview.OrInstall]) becomes an upgrade if the release exists by now, and an install if it is gone.
// For others the errors are [*NameInUseError] and [*NoReleaseError].
func (a Apply) Rebase(ctx context.Context, req ApplyRequest) (*Change, error) {
	if err := a.check(req); err != nil {
		return nil, err
	}
	if req.Plan.Operation == planfile.Uninstall {
		return Uninstall(a).planHeld(ctx, req.Plan, true)
	}
	change, err := a.rebaseDeployment(ctx, req)
	if other := otherOperation(req.Plan, err); other != nil {
		req.Plan = other
		return a.rebaseDeployment(ctx, req)
	}
	return change, err
}

// otherOperation returns doc with the operation that does what was asked for after err, or nil.
func otherOperation(doc *planfile.Document, err error) *planfile.Document {
	var inUse *NameInUseError
	var missing *NoReleaseError
	other := *doc
	switch {
	case !doc.Options.Install:
		return nil
	case doc.Operation == planfile.Install && errors.As(err, &inUse):
		other.Operation, other.Options.Replace = planfile.Upgrade, false
	case doc.Operation == planfile.Upgrade && errors.As(err, &missing):
		other.Operation, other.Options.Replace = planfile.Install, true
	default:
		return nil
	}
	return &other
}

func (a Apply) rebaseDeployment(ctx context.Context, req ApplyRequest) (*Change, error) {
	d, err := a.operation(req)
	if err != nil {
		return nil, err
	}
	d.rebase, d.keep = true, true
	d.applyOptions.ReportConflicts = true
	if err := d.runDry(ctx); err != nil {
		return nil, err
	}
	crds, err := d.crds.preview()
	if err != nil {
		return nil, err
	}
	from := d.history.current()
	if d.doing == planfile.Install {
		from = nil
	}
	change, err := newChange(from, d.release, d.plan, crds)
	if err != nil {
		return nil, err
	}
	change.Kept, err = d.keptDocument()
	if change.Kept != nil && change.Kept.Digests.Chart == "" {
		change.Kept.Digests.Chart = req.Plan.Digests.Chart
	}
	return change, err
}

func (a Apply) check(req ApplyRequest) error {
	if req.Plan == nil {
		return &RequestError{Operation: "apply", Field: "Plan"}
	}
	if err := a.require("apply"); err != nil {
		return err
	}
	if req.Plan.Sealed != "" {
		return &planfile.SealedError{}
	}
	return a.checkNamespace(req.Plan.Release.Namespace, "apply")
}

// operation returns the deployment that holds to the plan.
func (a Apply) operation(req ApplyRequest) (*deployment, error) {
	doc := req.Plan
	if doc.Operation == planfile.Rollback {
		waiting, writing := requestOptions(doc.Options)
		waiting.Watch = req.Watch
		w := Rollback(a).operation(RollbackRequest{
			Name: doc.Release.Name, Revision: doc.Release.Target, Description: doc.Options.Description, WaitOptions: waiting,
			ApplyOptions: writing, NoHooks: doc.Options.NoHooks, CleanupOnFail: doc.Options.CleanupOnFail, UndoCancelled: true,
			MaxHistory: doc.Options.MaxHistory,
		})
		w.held = doc
		return w.deployment, nil
	}
	deploy := deployRequest(doc)
	deploy.Watch = req.Watch
	var rel *release.Release
	if doc.Redacted {
		if req.Chart == nil {
			return nil, &ChartNeededError{Operation: doc.Operation, Chart: doc.Release.Chart}
		}
		deploy.Chart, deploy.Values, deploy.ValueOrigins, deploy.LookupHost = req.Chart, req.Values, req.ValueOrigins,
			req.LookupHost
		deploy.Patches, deploy.AllowMissing = req.Patches, req.AllowMissing
	} else {
		var err error
		if rel, err = readPayload(doc); err != nil {
			return nil, err
		}
		if deploy.Chart, err = rel.Chart(); err != nil {
			return nil, err
		}
		deploy.Values = rel.Config
	}
	var d *deployment
	var op operation
	var checkName func() error
	if doc.Operation == planfile.Install {
		w := Install(a).operation(deploy)
		d, op, checkName = w.deployment, w, w.checkName
	} else {
		w := Upgrade(a).operation(deploy)
		d, op, checkName = w.deployment, w, w.checkExists
	}
	if d.held = doc; rel != nil {
		d.op, d.source = &restoredOperation{operation: op, deployment: d, record: rel, checkName: checkName}, nil
	}
	return d, nil
}

// readPayload returns the record of the plan's payload.
func readPayload(doc *planfile.Document) (*release.Release, error) {
	rel, err := release.Decode([]byte(doc.Payload.Record))
	if err != nil {
		return nil, &planfile.FormatError{Err: fmt.Errorf("read its record: %w", err)}
	}
	if rel.Name != doc.Release.Name || rel.Namespace != doc.Release.Namespace {
		return nil, &planfile.FormatError{Err: fmt.Errorf("it is for release %s in namespace %s, and its record for %s in %s",
			doc.Release.Name, doc.Release.Namespace, rel.Name, rel.Namespace)}
	}
	return rel, nil
}

// restoredOperation is an install or an upgrade whose revision comes from a plan, and not from
// templates.
type restoredOperation struct {
	operation
	deployment *deployment
	record     *release.Release
	checkName  func() error
}

// prepare sets the revision and its objects to those of the plan.
func (r *restoredOperation) prepare(ctx context.Context) error {
	d := r.deployment
	if err := r.checkName(); err != nil && d.rebase {
		return err
	}
	now := d.config.now()
	rel := r.record.Clone()
	rel.Revision, rel.Labels = d.history.nextRevision(), d.held.Payload.Labels
	rel.Info = release.Info{
		FirstDeployed: now, LastDeployed: now, Status: release.PendingInstall, Description: "Initial install underway",
		Notes: r.record.Info.Notes,
	}
	if d.doing == planfile.Upgrade {
		rel.Info.FirstDeployed = d.history.firstDeployed(now)
		rel.Info.Status, rel.Info.Description = release.PendingUpgrade, "Preparing upgrade"
	}
	d.release = rel
	if err := d.checkBase(); err != nil {
		return err
	}
	if err := d.restoreCRDs(ctx); err != nil {
		return err
	}
	return r.preparePayload(ctx)
}

// restored reports whether the revision comes from the payload of a plan.
func (d *deployment) restored() bool { return d.held != nil && d.held.Payload != nil }

// restoreCRDs reads which of the definitions in the plan exist.
func (d *deployment) restoreCRDs(ctx context.Context) error {
	d.crds = crdWork{install: d.doing == planfile.Install, dryRun: d.dryRun}
	if !d.held.Options.TakeOwnership {
		d.crds.owner = d.owner()
	}
	for _, part := range []struct {
		policy CRDPolicy
		text   string
	}{{CRDUpgrade, d.held.Payload.UpgradedCRDs}, {CRDCreate, d.held.Payload.CRDs}} {
		objects, err := manifest.ParseManifest(part.text)
		if err != nil {
			return &planfile.FormatError{Err: fmt.Errorf("read its definitions: %w", err)}
		}
		for _, o := range objects {
			d.crds.definitions = append(d.crds.definitions, definition{Object: o, policy: part.policy})
		}
	}
	if err := d.crds.planDefinitions(ctx, d.config.Cluster); err != nil {
		return err
	}
	d.crds.addUpcoming(nil)
	return nil
}

// preparePayload sets the payload of the events, and starts the scripts of the record.
func (r *restoredOperation) preparePayload(ctx context.Context) error {
	d := r.deployment
	caps, err := capabilities(ctx, d.config.Cluster, "", nil)
	if err != nil {
		return err
	}
	op := newOperation(d.doing, d.dryRun, engine.Release{
		Name: d.release.Name, Namespace: d.release.Namespace, Service: releaseService, Revision: d.release.Revision,
		IsInstall: d.doing == planfile.Install, IsUpgrade: d.doing == planfile.Upgrade,
	}, caps, lookupIn(ctx, d.config.Cluster))
	scripts, err := d.release.Scripts()
	if err != nil {
		return err
	}
	if scripts == nil {
		if scripts, err = d.release.Chart(); err != nil {
			return err
		}
	}
	d.payload = event.Payload{Operation: op, Chart: scripts, Values: d.held.Payload.Values}
	if text := d.held.Payload.Rendered; text != "" {
		d.payload.Objects, err = manifest.ParseManifest(text)
	} else {
		d.payload.Objects, err = storedObjects(d.release)
	}
	if err != nil {
		return err
	}
	return emitResolved(ctx, d.events.Bus, &event.ChartResolved{Payload: d.payload})
}

// checkBase returns a [*StaleError] if the release is not the one that the plan starts from.
func (d *deployment) checkBase() error {
	if d.held == nil || d.rebase {
		return nil
	}
	now := newDocument(d.config, d.doing, d.release, d.history)
	return newStaleError(d.held, d.held.BaseDifferences(now))
}

// checkHeld returns the step that compares the plan to hold to with the one that was just made, or
// nil if there is none.
func (d *deployment) checkHeld() step {
	if d.held == nil || d.rebase {
		return nil
	}
	return func(context.Context) error {
		now, err := d.document()
		if err != nil {
			return err
		}
		if now.Digests.Chart == "" {
			now.Digests.Chart = d.held.Digests.Chart
		}
		d.adoptReplacements(now)
		return newStaleError(d.held, d.held.Differences(now))
	}
}

// adoptReplacements has objects replaced that the plan replaces because a dry run has shown that they
// cannot be updated.
func (d *deployment) adoptReplacements(now *planfile.Document) {
	for i := range d.plan.Steps {
		s := &d.plan.Steps[i]
		was, is := d.held.Find(s.Ref), now.Find(s.Ref)
		if was == nil || is == nil || was.Action != plan.Replace || is.Action != plan.Update {
			continue
		}
		is.Action, is.Reason = plan.Replace, was.Reason
		s.Action, s.Reason = plan.Replace, was.Reason
	}
}

// recheckHeld compares the plan that was computed once more, after definitions were written or hooks
// have run, with the one to hold to. Objects that hooks have written are left out.
func (d *deployment) recheckHeld(context.Context) error {
	if d.held == nil {
		return nil
	}
	hooks, err := hookObjects(d.release)
	if err != nil {
		return err
	}
	touched := map[string]bool{}
	for _, o := range hooks {
		touched[o.String()] = true
	}
	now, err := d.document()
	if err != nil {
		return err
	}
	d.adoptReplacements(now)
	var list []planfile.Difference
	for _, diff := range d.held.ObjectDifferences(now) {
		if !touched[diff.Subject] {
			list = append(list, diff)
		}
	}
	return newStaleError(d.held, list)
}

// asStale returns the error of planning as a [*StaleError] if there is a plan to hold to and the error
// is that other clients have created its objects or have taken over its fields.
func (d *deployment) asStale(ctx context.Context, req apply.Request, err error) error {
	if d.held == nil || d.rebase {
		return err
	}
	var foreign *apply.ConflictError
	if errors.As(err, &foreign) {
		var list []planfile.Difference
		for _, c := range foreign.Conflicts {
			list = append(list, planfile.Difference{Subject: c.Object, Then: []string{"create"},
				Now: []string{"exists: " + c.Reason}})
		}
		return newStaleError(d.held, list)
	}
	var fields *apply.FieldConflictError
	if !errors.As(err, &fields) {
		return err
	}
	req.ReportConflicts = true
	p, reported := d.config.Cluster.Plan(ctx, req)
	if reported != nil {
		return err
	}
	d.plan = p
	now, reported := d.document()
	if reported != nil {
		return err
	}
	if stale := newStaleError(d.held, d.held.ObjectDifferences(now)); stale != nil {
		return stale
	}
	return err
}

// newStaleError returns an error for differences, or nil if there are none.
func newStaleError(doc *planfile.Document, list []planfile.Difference) error {
	if len(list) == 0 {
		return nil
	}
	return &StaleError{Operation: doc.Operation, Release: doc.Release.Name, Created: doc.Created, Differences: list}
}

// A StaleError is returned if a plan that was kept would do something else if it were made now, or
// rests on something that has changed. Unless a hook or a definition was written before, nothing was.
type StaleError struct {
	Operation, Release string
	Created            time.Time
	Differences        []planfile.Difference
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("the plan of %s to %s release %q no longer holds; - is the plan, + is now:\n%s",
		e.Created.Format(time.RFC3339), e.Operation, e.Release,
		strings.TrimSuffix(planfile.FormatDifferences(e.Differences), "\n"))
}

// Hint says how to go on.
func (e *StaleError) Hint() string {
	return "--rebase plans again, shows what would change now, and asks; or make a new plan for review"
}

// An ExpiredError is returned for a plan that must not be applied any more.
type ExpiredError struct{ Expires, Now time.Time }

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("the plan expired at %s, %s ago", e.Expires.Format(time.RFC3339),
		e.Now.Sub(e.Expires).Round(time.Second))
}

// Hint says how to go on.
func (e *ExpiredError) Hint() string {
	return "make a new plan, or use --rebase, which plans again and asks"
}

// A ChartNeededError is returned for a plan whose payload was left out, without the chart to render
// again.
type ChartNeededError struct{ Operation, Chart string }

func (e *ChartNeededError) Error() string {
	return fmt.Sprintf("the plan to %s was saved with --redact: it needs the chart %s and the values to render again",
		e.Operation, e.Chart)
}

// Hint says how to give them.
func (e *ChartNeededError) Hint() string {
	return "helm apply FILE CHART, with the -f and --set of the plan; what they render is compared with the plan's digests"
}
