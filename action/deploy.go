// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Waiting says what an operation waits for.
type Waiting struct {
	// Wait waits until objects are ready, Jobs for jobs to complete too.
	Wait, Jobs bool
	// Legacy asks again and again, by Helm 3's rules, instead of watching.
	Legacy bool
	// Timeout bounds each wait; 0 is five minutes.
	Timeout time.Duration
}

// Writing says how objects are written.
type Writing struct {
	// ServerSide leaves merging to the API server; nil does as the last
	// revision did, and merges here where there was none.
	ServerSide *bool
	// Conflicts says what becomes of fields that other managers have set to other
	// values, with server-side apply; "" fails.
	Conflicts plan.Resolution
	// ReportConflicts has a plan say which conflicts there are, and warn of rights that are
	// missing, instead of failing.
	ReportConflicts bool
	// Replace has objects replaced instead of merged: what an object has and
	// the release does not say goes. One that the API server refuses to replace
	// is deleted and created again.
	Replace       bool
	TakeOwnership bool
}

// Validate returns a [*WritingError] where w combines what excludes each other.
func (w Writing) Validate() error { return w.validate("") }

// validate is Validate for a release whose last revision was written in the
// given way.
func (w Writing) validate(last string) error {
	serverSide := w.serverSide(last)
	switch {
	case w.Conflicts == plan.Take && w.ServerSide != nil && !serverSide:
		return &WritingError{Text: "forceConflicts enabled when serverSideApply disabled"}
	case w.Conflicts != "" && w.ServerSide != nil && !serverSide:
		return &WritingError{Text: "a policy for conflicts set when serverSideApply disabled"}
	case w.Replace && serverSide:
		return &WritingError{Replace: true, Text: "cannot use server-side apply and force replace together"}
	}
	return nil
}

func (w Writing) serverSide(last string) bool {
	if w.ServerSide != nil {
		return *w.ServerSide
	}
	return last == release.ApplyServerSide
}

// unheeded says that a policy for conflicts has no effect on a release whose last revision
// was written in the given way, "" where it has. Taking fields is what a merge on this side
// does anyway, and pipelines for Helm 4 ask for it.
func (w Writing) unheeded(last string) string {
	if w.Conflicts == "" || w.Conflicts == plan.Take || w.serverSide(last) {
		return ""
	}
	return fmt.Sprintf("--conflicts=%s has no effect: the release is merged on helm's side, where the chart's values win; "+
		"--server-side=true has the API server merge it", w.Conflicts)
}

// Preview says what [Upgrade.Plan] and [Install.Plan] leave out and assume. The zero
// value leaves nothing out. Run takes no notice of it.
type Preview struct {
	// KubeVersion and APIVersions change what templates see as capabilities.
	KubeVersion string
	APIVersions []string
	// Recorded leaves the objects of the cluster unread: [Change.Plan] and
	// [Change.CRDs] are nil. [Compare] returns what differs from the record.
	Recorded bool
	// NoLookup has templates' lookup find nothing.
	NoLookup bool
}

// Deployer is what writing a revision's objects needs of a cluster.
type Deployer interface {
	Changer
	Waiter
	Deleter
}

// verb is what an install, an upgrade and a rollback do differently.
type verb interface {
	// prepare makes the new revision, d.release, and its objects, d.scene. Nothing is
	// written.
	prepare(ctx context.Context) error
	// before and after are the events of the verb.
	before() event.Event
	after() event.Event
	// confirmUndo asks what undoing the deployment, where it fails, would ask about hooks.
	confirmUndo(ctx context.Context) error
	// prerequisites returns the step that writes what the objects need to exist, nil for
	// none.
	prerequisites() step
	// recordPending writes the pending record.
	recordPending(ctx context.Context) error
	// failed is what the record of a deployment says that ended with err.
	failed(err error) string
	// recover does what the request wants done after a failure, and returns the error
	// with what became of it.
	recover(ctx context.Context, cause error) error
	// complete is what the record says once all is done.
	complete() string
}

// deployment is the work on one new revision of a release.
type deployment struct {
	*Config
	verb verb
	name string // of the release
	// doing is what the lock and the events call it: "upgrade".
	doing  string
	dryRun bool
	// revert is set where the deployment undoes another one, which has the lock.
	revert bool

	events  lifecycle
	hooks   hooks
	lock    lock.Lock
	history *history
	release *release.Release
	scene   event.Scene
	crds    crdWork
	// coming are the kinds that are yet to be defined.
	coming map[string]bool

	objects []*manifest.Object
	wait    Waiting
	write   Writing
	noHooks bool
	predict bool
	preview Preview
	// keepHistory is how many revisions may stay, 0 for any number.
	keepHistory int

	plan *plan.Plan
	// batches are the objects in the order that the charts ask for, nil for none.
	batches [][]*manifest.Object
	// partial reports whether the plan lacks objects of kinds that are yet to be
	// defined.
	partial bool
	// recorded reports whether the records know of the revision.
	recorded bool
}

// deploy brings a release to a new revision. An install, an upgrade and a rollback take
// these steps, in this order; they differ in how they prepare the revision. An error
// comes together with the revision once that is recorded.
func (d *deployment) deploy(ctx context.Context) (*release.Release, error) {
	ctx, err := d.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer d.close()
	err = inOrder(ctx, d.readHistory, d.verb.prepare)
	if err != nil {
		return nil, err
	}
	err = orLockLost(ctx, d.execute(ctx))
	if err == nil {
		return d.release, d.succeed(ctx, d.verb.complete())
	}
	if !d.recorded {
		return nil, err
	}
	d.fail(ctx, d.verb.failed(err))
	return d.release, d.verb.recover(ctx, err)
}

// execute brings the prepared revision into the records and the cluster. The steps of
// the core answer the event behind the scripts and handlers, which so have the last
// word on objects and none on whether these are valid.
func (d *deployment) execute(ctx context.Context) error {
	before := d.verb.before()
	err := inOrder(ctx,
		d.events.emit(before),
		d.events.respond(before, event.ObjectValidation, d.validate(before)),
		d.events.respond(before, event.Rights, d.checkHooks()),
		d.events.respond(before, event.CRDs, d.verb.prerequisites()),
		d.events.respond(before, event.Record, d.verb.recordPending),
		d.runHooks(before),
		d.apply,
		d.awaitAll,
	)
	if err != nil {
		return err
	}
	after := d.verb.after()
	return inOrder(ctx, d.events.emit(after), d.runHooks(after))
}

// dry does what deploy does, up to where that would write.
func (d *deployment) dry(ctx context.Context) error {
	d.dryRun, d.lock = true, nil
	d.events, d.hooks = d.begin(false), d.newHooks(d.noHooks, d.wait.Timeout, d.write.TakeOwnership)
	defer d.events.close()
	if err := inOrder(ctx, d.readHistory, d.verb.prepare); err != nil {
		return err
	}
	before := d.verb.before()
	err := inOrder(ctx, d.events.emit(before), d.events.respond(before, event.ObjectValidation, d.validate(before)))
	d.release.Info.Description = "Dry run complete"
	return err
}

// step is one step of a sequence.
type step = func(context.Context) error

// inOrder takes steps until one fails. A step that is nil is left out.
func inOrder(ctx context.Context, steps ...step) error {
	for _, take := range steps {
		if take == nil {
			continue
		}
		if err := take(ctx); err != nil {
			return err
		}
	}
	return nil
}

// emit has scripts and handlers answer e.
func (l lifecycle) emit(e event.Event) step {
	return func(ctx context.Context) error { return l.Emit(ctx, e) }
}

// respond has the core answer e with a step of its own, nil for none.
func (l lifecycle) respond(e event.Event, who event.Responder, answer step) step {
	if answer == nil {
		return nil
	}
	return func(ctx context.Context) error { return l.Respond(ctx, e, who, answer) }
}

// acquire takes the lock of the release, unless the deployment undoes one that has it.
// The context ends when the lock is lost.
func (d *deployment) acquire(ctx context.Context) (context.Context, error) {
	if err := CheckName(d.name); err != nil {
		return nil, err
	}
	if !d.revert {
		var err error
		if ctx, d.lock, err = d.Config.lock(ctx, d.name, d.doing); err != nil {
			return nil, err
		}
		d.hooks = d.newHooks(d.noHooks, d.wait.Timeout, d.write.TakeOwnership)
	}
	d.events = d.begin(d.revert)
	return ctx, nil
}

func (d *deployment) close() {
	d.events.close()
	if !d.revert {
		d.lock.Unlock()
	}
}

// readHistory reads what has become of the release so far.
func (d *deployment) readHistory(ctx context.Context) (err error) {
	if err := CheckName(d.name); err != nil {
		return err
	}
	if d.Releases == nil {
		d.history = &history{name: d.name}
		return nil
	}
	d.history, err = loadHistory(ctx, d.Releases, d.lock, d.name, d.Progress)
	return err
}

// validate makes the objects that scripts have left those of the revision, and plans
// what becomes of them. Nothing has been written.
func (d *deployment) validate(before event.Event) step {
	return func(ctx context.Context) error {
		all, hooks, objects := split(before.At().Objects)
		d.scene.Objects = all
		d.release.Manifest, d.release.Hooks = manifest.Format(objects), hooks
		return d.makePlan(ctx, objects)
	}
}

// checkHooks refuses hooks that could not run, those of a rollback that a failure would
// lead to among them.
func (d *deployment) checkHooks() step {
	if !d.hooks.enabled() {
		return nil
	}
	return func(ctx context.Context) error {
		stored := d.doing == "rollback"
		if err := d.hooks.check(ctx, d.release, hooksAt(d.release, d.hookEvents()...), stored); err != nil {
			return err
		}
		return d.verb.confirmUndo(ctx)
	}
}

// persist puts into the record what later operations need of the tree c: its
// scripts, and what it says about the order of objects.
func (d *deployment) persist(c *chart.Chart) error {
	if err := d.release.SetScripts(c); err != nil {
		return err
	}
	order, err := plan.OrderOf(c)
	if err != nil || order == nil {
		return err
	}
	d.release.Order, err = json.Marshal(order)
	return err
}

// makePlan plans the change to objects, which are those of the release from now on: the
// items of lists each by itself. It writes nothing.
func (d *deployment) makePlan(ctx context.Context, objects []*manifest.Object) error {
	var err error
	if d.objects, err = manifest.Flatten(objects); err != nil {
		return err
	}
	d.release.ApplyMethod = release.ApplyClientSide
	if d.write.serverSide(d.history.method()) {
		d.release.ApplyMethod = release.ApplyServerSide
	}
	if err := d.write.validate(d.history.method()); err != nil {
		return err
	}
	if d.Cluster == nil || d.preview.Recorded {
		return nil
	}
	if text := d.write.unheeded(d.history.method()); text != "" {
		d.warn(text)
	}
	if d.batches, err = ordered(d.release, d.objects, d.Progress); err != nil {
		return err
	}
	known := without(d.objects, d.coming)
	d.partial = len(known) < len(d.objects)
	if err := d.compute(ctx, known, false); err != nil || !d.partial {
		return err
	}
	return d.planUndefined(known)
}

// compute plans the change to objects of known kinds. checked is set where they
// were checked before.
func (d *deployment) compute(ctx context.Context, known []*manifest.Object, checked bool) error {
	old, err := d.history.objects()
	if err != nil {
		return err
	}
	hooks, err := hookObjects(d.release)
	if err != nil {
		return err
	}
	running, err := objectsOf(d.release, d.running(d.hookEvents()...))
	if err != nil {
		return err
	}
	d.plan, err = d.Cluster.Plan(ctx, kube.ChangeRequest{
		Owner:           d.owner(),
		New:             manifest.ApplyOrder(known),
		Hooks:           hooks,
		Running:         running,
		HooksFirst:      len(d.running(d.hookEvents()[:1]...)) > 0,
		Definitions:     d.crds.written(),
		Checked:         checked,
		Old:             old,
		Orphans:         d.history.orphans(),
		TakeOwnership:   d.write.TakeOwnership,
		ServerSide:      d.release.ApplyMethod == release.ApplyServerSide,
		Conflicts:       d.write.Conflicts,
		ReportConflicts: d.write.ReportConflicts,
		Replace:         d.write.Replace,
		Predict:         d.predict,
		Also:            d.recording(),
	})
	if err != nil {
		return err
	}
	d.release.Orphans = nil
	for _, s := range d.plan.Steps {
		if s.Action == plan.Delete {
			d.release.Orphans = append(d.release.Orphans, release.Orphan(s.Ref))
		}
	}
	return nil
}

// hookEvents are the events before and after which hooks run.
func (d *deployment) hookEvents() []release.HookEvent {
	return []release.HookEvent{release.HookEvent("pre-" + d.doing), release.HookEvent("post-" + d.doing)}
}

// running are the hooks of the release that run at one of the events.
func (d *deployment) running(events ...release.HookEvent) []*release.Hook {
	if !d.hooks.enabled() {
		return nil
	}
	return hooksAt(d.release, events...)
}

// hooksAt are the hooks of a release that name one of the events.
func hooksAt(rel *release.Release, events ...release.HookEvent) []*release.Hook {
	var out []*release.Hook
	for _, h := range rel.Hooks {
		if slices.ContainsFunc(events, h.On) {
			out = append(out, h)
		}
	}
	return out
}

// runHooks runs the hooks that name e.
func (d *deployment) runHooks(e event.Event) step {
	if !d.hooks.enabled() {
		return nil
	}
	return d.events.respond(e, event.AnnotationHooks, func(ctx context.Context) error {
		return d.hooks.run(ctx, d.release, d.release.Hooks, release.HookEvent(e.Name()))
	})
}

// recording are the permissions for what the deployment does to records.
func (d *deployment) recording() []kube.Right {
	verbs := []string{"create", "update"}
	if d.keepHistory > 0 && len(d.history.revisions) >= d.keepHistory {
		verbs = append(verbs, "delete")
	}
	return recordRights(d.Releases, d.release.Namespace, verbs...)
}

func (d *deployment) owner() kube.Owner {
	return kube.Owner{Release: d.release.Name, Namespace: d.release.Namespace}
}

// create writes the pending record. Of two who create one revision, one gets it.
func (d *deployment) create(ctx context.Context) error {
	if !release.ValidRevision(d.release.Revision) {
		return &RevisionsError{Name: d.release.Name, Revision: d.release.Revision - 1}
	}
	if d.lock != nil {
		d.release.Holder = d.lock.Holder()
	}
	if err := d.Releases.Create(ctx, d.release); errors.Is(err, storage.ErrExists) {
		return &OvertakenError{Name: d.release.Name, Revision: d.release.Revision}
	} else if err != nil {
		return fmt.Errorf("record revision %d of release %s: %w", d.release.Revision, d.release.Name, err)
	}
	d.recorded = true
	if d.lock != nil {
		d.lock.Guard(d.release.Revision)
	}
	return d.history.close(ctx, d.Releases)
}

// apply writes the objects, and removes those that are not part of the release any more.
func (d *deployment) apply(ctx context.Context) error {
	again, err := d.hooked()
	if err != nil {
		return err
	}
	if d.partial || again {
		// Kinds that CRDs have defined meanwhile, and objects that hooks have put in
		// the place of others, can be planned only now.
		if err := d.compute(ctx, d.objects, true); err != nil {
			return err
		}
	}
	if err := d.writeObjects(ctx); err != nil {
		return err
	}
	var gone []plan.Step
	for _, s := range d.plan.Steps {
		if s.Action == plan.Delete || s.Action == plan.Keep {
			gone = append(gone, s)
		}
	}
	if len(gone) > 0 {
		if err := d.Cluster.Execute(ctx, d.plan, gone); err != nil {
			return err
		}
	}
	return nil
}

// awaitAll waits for all objects, where that is asked for.
func (d *deployment) awaitAll(ctx context.Context) error {
	if !d.wait.Wait {
		return nil
	}
	return d.await(ctx, d.objects)
}

// hooked reports whether hooks of the release make objects that the plan is about.
func (d *deployment) hooked() (bool, error) {
	hooks, err := hookObjects(d.release)
	if err != nil || len(hooks) == 0 {
		return false, err
	}
	names := make(map[string]bool, len(hooks))
	for _, o := range hooks {
		names[o.String()] = o.Name != ""
	}
	return slices.ContainsFunc(d.plan.Steps, func(s plan.Step) bool { return names[s.String()] }), nil
}

// writeObjects executes what creates and updates, batch by batch where the
// charts ask for an order.
func (d *deployment) writeObjects(ctx context.Context) error {
	batches := d.batches
	if len(batches) == 0 {
		batches = [][]*manifest.Object{d.objects}
	}
	steps := map[*manifest.Object][]plan.Step{}
	for _, s := range d.plan.Steps {
		if s.Object != nil {
			steps[s.Object] = append(steps[s.Object], s)
		}
	}
	d.Progress.Send(progress.Event{Kind: progress.Step, Text: tally(d.plan)})
	d.tellConflicts()
	for i, batch := range batches {
		var due []plan.Step
		for _, o := range manifest.ApplyOrder(batch) {
			due = append(due, steps[o]...)
		}
		if err := d.Cluster.Execute(ctx, d.plan, due); err != nil {
			return err
		}
		if i == len(batches)-1 {
			break // what comes last is awaited only where that is asked for
		}
		d.Progress.Send(progress.Event{Kind: progress.Step, Text: fmt.Sprintf("waiting until part %d of %d is ready, on which the next depends", i+1, len(batches))})
		if err := d.await(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// tellConflicts names the fields that other managers keep, and those that are taken
// from them: but for what an object's own annotation says.
func (d *deployment) tellConflicts() {
	for _, s := range d.plan.Steps {
		for _, c := range s.Conflicts {
			kind := progress.Warning
			if strings.HasPrefix(c.Reason, "annotation ") {
				kind = progress.Step
			}
			d.Progress.Send(progress.Event{Kind: kind, Text: s.String() + ": " + c.Sentence() + ": " + c.Outcome()})
		}
	}
}

// tally says in a line what a plan comes to.
func tally(p *plan.Plan) string {
	count := map[plan.Action]int{}
	for _, s := range p.Steps {
		count[s.Action]++
	}
	var parts []string
	for i, a := range []plan.Action{plan.Create, plan.Update, plan.Replace, plan.Delete, plan.Keep, plan.Unchanged} {
		if n := count[a]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, []string{"to create", "to change", "to replace", "to delete", "kept", "unchanged"}[i]))
		}
	}
	if len(parts) == 0 {
		return "no objects"
	}
	return "objects: " + strings.Join(parts, ", ")
}

func (d *deployment) await(ctx context.Context, objects []*manifest.Object) error {
	ctx, cancel := context.WithTimeout(ctx, orDefault(d.wait.Timeout))
	defer cancel()
	return d.Cluster.Await(ctx, kube.WaitRequest{Objects: objects, Namespace: d.release.Namespace, Jobs: d.wait.Jobs, Legacy: d.wait.Legacy})
}

// ordered parts objects into the batches that the charts of a release ask for.
func ordered(rel *release.Release, objects []*manifest.Object, report progress.Func) ([][]*manifest.Object, error) {
	var order *plan.Order
	if rel.Order != nil {
		order = &plan.Order{}
		if err := json.Unmarshal(rel.Order, order); err != nil {
			return nil, fmt.Errorf("read the order of objects of release %s: %w", rel.Name, err)
		}
	}
	batches, warnings, err := order.Batches(objects)
	for _, w := range warnings {
		report.Send(progress.Event{Kind: progress.Warning, Text: w})
	}
	return batches, err
}

// succeed writes the last word of a deployment that went well: first that this
// revision is deployed, then that others are not. A client that is killed in
// between leaves two that are, of which the newer counts.
func (d *deployment) succeed(ctx context.Context, description string) error {
	// All is done: an interrupt that comes now must not leave it pending.
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	rel := d.release
	rel.Info.Status, rel.Info.Description = release.Deployed, description
	rel.Holder, rel.Orphans = "", nil
	d.finish()
	if err := d.Releases.Update(ctx, rel); err != nil {
		return fmt.Errorf("record release %s as deployed: %w", rel.Name, err)
	}
	if err := d.supersedeOthers(ctx); err != nil {
		return err
	}
	return d.prune(ctx)
}

// supersedeOthers marks what was deployed before as superseded.
func (d *deployment) supersedeOthers(ctx context.Context) error {
	for _, old := range d.history.revisions {
		if old.Unsupported() == nil && old.Status == release.Deployed && old.Revision != d.release.Revision {
			if err := d.supersede(ctx, old.Revision, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// supersede marks an older revision as superseded. Where another client has
// changed its record since it was read, the change stays, and so does a status
// that it says now.
func (d *deployment) supersede(ctx context.Context, revision int, description string) error {
	var old *release.Release
	for _, rel := range d.history.applied {
		if rel.Revision == revision {
			old = rel
		}
	}
	read := func() (err error) {
		old, err = d.Releases.Get(ctx, d.release.Name, revision)
		return err
	}
	var err error
	if old == nil {
		err = read()
	}
	if err == nil {
		was := old.Info.Status
		err = d.setSuperseded(ctx, old, description)
		if errors.Is(err, storage.ErrChanged) {
			if err = read(); err == nil && old.Info.Status == was {
				err = d.setSuperseded(ctx, old, description)
			}
		}
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, release.ErrUnsupported) {
		return fmt.Errorf("record revision %d of release %s as superseded: %w", revision, d.release.Name, err)
	}
	return nil
}

func (d *deployment) setSuperseded(ctx context.Context, old *release.Release, description string) error {
	old.Info.Status = release.Superseded
	if description != "" {
		old.Info.Description = description
	}
	return d.Releases.Update(ctx, old)
}

// fail records that the deployment has failed, and why, even where it was
// cancelled: a record that stays pending would be a lie.
func (d *deployment) fail(ctx context.Context, description string) {
	if !d.recorded || lost(ctx) {
		return // without the lock the record is another client's to write
	}
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	rel := d.release
	rel.Info.Status, rel.Info.Description, rel.Holder = release.Failed, description, ""
	d.finish()
	if err := d.Releases.Update(ctx, rel); err != nil {
		d.Progress.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf("release %s could not be recorded as failed: %s", rel.Name, err)})
		return
	}
	if err := d.prune(ctx); err != nil {
		d.Progress.Send(progress.Event{Kind: progress.Warning, Text: err.Error()})
	}
}

// finish tells the lock that the record gets its last state.
func (d *deployment) finish() {
	if d.lock != nil {
		d.lock.Finish()
	}
}

// prune keeps the history as short as asked, and never drops what is deployed,
// or what was last where nothing is: a rollback needs it. What failed revisions may have
// left behind stays known: the newest revision has it among its orphans.
func (d *deployment) prune(ctx context.Context) error {
	if d.keepHistory <= 0 {
		return nil
	}
	good := d.history.good()
	if d.release.Info.Status == release.Deployed {
		good = d.release.Revision
	}
	err := d.Releases.Prune(ctx, d.release.Name, d.keepHistory, func(r storage.Record) bool {
		return r.Revision == good || r.Revision == d.release.Revision
	})
	if err != nil {
		return fmt.Errorf("shorten the history of release %s: %w", d.release.Name, err)
	}
	return nil
}

// removeCreated deletes what this deployment has created, after it failed.
func (d *deployment) removeCreated(ctx context.Context) error {
	if d.plan == nil {
		return nil
	}
	var created []*manifest.Object
	for _, s := range d.plan.Steps {
		if s.Action == plan.Create && s.Object != nil {
			created = append(created, s.Object)
		}
	}
	if len(created) == 0 {
		return nil
	}
	d.Progress.Send(progress.Event{Kind: progress.Step, Text: "deleting what it has created"})
	manifest.SortUninstall(created)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), orDefault(d.wait.Timeout))
	defer cancel()
	return d.Cluster.Delete(ctx, created, d.owner(), kube.Background)
}

// A WritingError is returned for ways of writing objects that exclude each other.
type WritingError struct {
	// Replace is set where it is Replace that excludes server-side apply, and not
	// set where it is Conflicts that needs it.
	Replace bool
	Text    string
}

func (e *WritingError) Error() string {
	if e.Replace {
		return "invalid operation: " + e.Text
	}
	return "invalid client update option(s): " + e.Text
}

// A RevisionsError is returned when no revision can follow the newest one.
type RevisionsError struct {
	Name     string
	Revision int // the newest
}

func (e *RevisionsError) Error() string {
	return fmt.Sprintf("release %q: no revision can follow revision %d, the last number that there is", e.Name, e.Revision)
}

// An OvertakenError is returned when another client has created the revision that was to
// be created: where a release cannot be locked, that decides.
type OvertakenError struct {
	Name     string
	Revision int
}

func (e *OvertakenError) Error() string {
	return fmt.Sprintf("release %q is being changed by somebody else, who has just created revision %d: try again once that is done", e.Name, e.Revision)
}

// Is makes the error an [storage.ErrExists].
func (e *OvertakenError) Is(target error) bool { return target == storage.ErrExists }
