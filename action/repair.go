// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// Repair undoes the drift of a release: it sets changed and missing fields to what is installed,
// creates missing objects, and removes added fields. It writes nothing else.
type Repair struct{ *Config }

// A RepairRequest is the request of a repair. Name is required.
type RepairRequest struct {
	Name string
	plan.DriftOptions
	// InPlace changes the objects and records nothing. By default the repair is a new revision.
	InPlace     bool
	Description string // replaces "Drift repaired" in the record
	WaitOptions
	// MaxHistory is the number of revisions to keep, or 0 for all.
	MaxHistory int
}

// repairOperation is one repair.
type repairOperation struct {
	*deployment
	req   RepairRequest
	drift ReleaseDrift // that was found under the lock
}

// errNoDrift ends a repair that has nothing to do.
var errNoDrift = errors.New("nothing has drifted")

// Run repairs the release, under its lock and by its record alone: hooks and scripts do not run. It
// returns the drift that it has found, with the revision of the release afterwards. Without drift, and
// without an earlier repair to complete, it writes nothing. It returns a [*RepairStateError] if the
// newest revision is not deployed, and else the errors of [Rollback.Run].
func (r Repair) Run(ctx context.Context, req RepairRequest) (*ReleaseDrift, error) {
	w := r.operation(req)
	var err error
	if req.InPlace {
		err = w.repairInPlace(ctx)
	} else {
		var rel *release.Release
		if rel, err = w.deploy(ctx); rel != nil {
			w.drift.Revision = rel.Revision
		}
	}
	if errors.Is(err, errNoDrift) {
		err = nil
	}
	return &w.drift, w.advise(err)
}

// Plan returns the drift of the release, and what Run would write, which is nil if that is nothing. It
// asks the API server with a dry run, and writes nothing. Errors are those of Run before its first
// write.
func (r Repair) Plan(ctx context.Context, req RepairRequest) (*ReleaseDrift, *Change, error) {
	w := r.operation(req)
	w.serverDryRun = true
	err := w.runDry(ctx)
	if errors.Is(err, errNoDrift) {
		return &w.drift, nil, nil
	}
	if err != nil {
		return &w.drift, nil, w.advise(err)
	}
	change, err := newChange(w.history.deployed, w.release, w.plan, nil)
	return &w.drift, change, err
}

// advise returns err with a hint if it is that objects do not belong to the release.
func (w *repairOperation) advise(err error) error {
	if _, foreign := errors.AsType[*apply.ConflictError](err); !foreign {
		return err
	}
	return hint.With(err, fmt.Sprintf("--ignore KIND/NAME leaves it as it is; helm disown %[1]s KIND/NAME takes it "+
		"out of the release; helm upgrade %[1]s CHART --take-ownership takes it back", w.req.Name))
}

func (r Repair) operation(req RepairRequest) *repairOperation {
	w := &repairOperation{req: req, deployment: &deployment{
		config: r.forOperation(), name: req.Name, doing: "repair", wait: req.WaitOptions, noHooks: true,
		maxHistory: req.MaxHistory, restore: &restoring{drift: req.DriftOptions, inPlace: req.InPlace},
	}}
	w.config.Scripts = nil
	w.op = w
	return w
}

// repairInPlace repairs the objects, and records nothing.
func (w *repairOperation) repairInPlace(ctx context.Context) error {
	if err := w.config.require(w.doing); err != nil {
		return err
	}
	ctx, err := w.acquire(ctx)
	if err != nil {
		return err
	}
	defer w.end()
	if err := runSteps(ctx, w.readHistory, w.prepare); err != nil {
		return err
	}
	interrupted := func(ctx context.Context) error { return w.history.failInterrupted(ctx, w.config.Releases) }
	err = orLockLost(ctx, runSteps(ctx, w.validate(w.preEvent()), interrupted, w.apply, w.waitStep()))
	return w.waitError(w.config.interrupted(ctx, w.begun, err))
}

// prepare finds the drift, and sets the new revision to a copy of the deployed one.
func (w *repairOperation) prepare(ctx context.Context) error {
	h := w.history
	if h.last == nil {
		_, err := w.config.Releases.Get(ctx, w.req.Name, 0) // returns storage.ErrNotFound with the namespace
		return err
	}
	if err := checkRepairable(h); err != nil {
		return err
	}
	if err := w.findDrift(ctx); err != nil {
		return err
	}
	if w.drift.Unfinished = h.last != h.deployed; !w.drift.Drifted() && !w.drift.Unfinished {
		w.release = h.deployed
		if w.dryRun {
			return errNoDrift
		}
		if err := w.supersedeOthers(ctx); err != nil { // a client killed at its last write has left two
			return err
		}
		return errNoDrift
	}
	now := w.config.now()
	rel := h.deployed.Clone()
	rel.Revision = h.nextRevision()
	if w.req.InPlace {
		rel.Revision = h.deployed.Revision
	}
	rel.Holder, rel.PendingDeletions = "", nil
	rel.Info = release.Info{
		FirstDeployed: h.firstDeployed(now), LastDeployed: now, Status: release.PendingRollback,
		Description: w.successDescription(), Notes: h.deployed.Info.Notes,
	}
	w.release = rel
	w.config.step(fmt.Sprintf("repairing the drift of release %s from revision %d", rel.Name, h.deployed.Revision))
	return w.preparePayload(ctx)
}

// checkRepairable returns a [*RepairStateError] if there may be objects of another revision than the
// deployed one. An earlier repair that was interrupted or has failed has the same objects.
func checkRepairable(h *history) error {
	for _, rel := range h.applied {
		if h.deployed == nil || rel.Manifest != h.deployed.Manifest {
			return &RepairStateError{Name: h.name, Revision: rel.Revision, Status: rel.Info.Status,
				Deployed: h.lastSuccessful()}
		}
	}
	if h.deployed == nil {
		return &NotInstalledError{Name: h.name, Status: h.newest().Status}
	}
	return nil
}

// findDrift sets w.drift.
func (w *repairOperation) findDrift(ctx context.Context) error {
	rel := w.history.deployed
	w.drift = ReleaseDrift{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision,
		Installed: rel.Info.LastDeployed}
	request, err := w.history.driftRequest()
	if err != nil {
		return err
	}
	objects, err := w.config.Cluster.FindDrift(ctx, []apply.DriftRequest{request}, w.req.DriftOptions)
	if err == nil {
		w.drift.Objects = objects[0]
	}
	return err
}

// preparePayload sets the payload of the events: the recorded objects.
func (w *repairOperation) preparePayload(ctx context.Context) (err error) {
	rel := w.release
	op := newOperation("rollback", w.dryRun,
		engine.Release{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision, Service: releaseService,
			IsUpgrade: true}, nil, lookupIn(ctx, w.config.Cluster))
	w.payload = event.Payload{Operation: op, Release: rel}
	w.payload.Objects, err = storedObjects(rel)
	return err
}

func (w *repairOperation) preEvent() event.Event { return &event.PreRollback{Payload: w.payload} }

func (w *repairOperation) postEvent() event.Event { return &event.PostRollback{Payload: w.payload} }

func (w *repairOperation) confirmUndo(context.Context) error { return nil }

func (w *repairOperation) recordPending(ctx context.Context) error { return w.createRecord(ctx) }

func (w *repairOperation) successDescription() string {
	return cmp.Or(w.req.Description, "Drift repaired")
}

func (w *repairOperation) failureDescription(err error) string {
	return fmt.Sprintf("Repair of %q failed: %s", w.req.Name, summaryOf(err))
}

func (w *repairOperation) afterFailure(_ context.Context, cause error) error { return cause }

// A RepairStateError is returned if a release cannot be repaired because a revision after the
// deployed one may have changed its objects.
type RepairStateError struct {
	Name     string
	Revision int
	Status   release.Status
	Deployed int // the last successful revision, or 0
}

func (e *RepairStateError) Error() string {
	return fmt.Sprintf("release %q cannot be repaired: its revision %d is %s, and may have changed objects", e.Name,
		e.Revision, e.Status)
}

// Hint says how to get a deployed revision.
func (e *RepairStateError) Hint() string {
	if e.Deployed == 0 {
		return "upgrade or uninstall the release first"
	}
	return fmt.Sprintf("upgrade the release first, or roll it back: helm rollback %s %d", e.Name, e.Deployed)
}
