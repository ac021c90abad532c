// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// errHookName is returned for a hook without a name.
var errHookName = errors.New("a hook needs metadata.name: with a generated name, " +
	"its object could not be found again")

// hookWrite is the way in which an object of a hook is written.
type hookWrite int

const (
	hookCreate  hookWrite = iota // the object does not exist
	hookReplace                  // the existing object is deleted first
	hookUpdate                   // the existing object is updated
)

// hookItem is one object of a hook.
type hookItem struct {
	*manifest.Object
	place apply.HookPlace
	live  liveObject
	write hookWrite
	// uid is the uid of the object that this run has created, or "".
	uid string
}

// hookItems returns the objects of h, with List objects flattened to their items.
func hookItems(h *release.Hook) ([]*hookItem, error) {
	objects, err := manifest.Parse(h.Path, h.Manifest)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("the hook's manifest has %d objects, want one", len(objects))
	}
	if objects, err = manifest.Flatten(objects); err != nil {
		return nil, err
	}
	out := make([]*hookItem, len(objects))
	for i, o := range objects {
		out[i] = &hookItem{Object: o}
	}
	return out, nil
}

// locate sets the place and the live object of it.
func (r *hookRunner) locate(ctx context.Context, rel *release.Release, item *hookItem) (err error) {
	if item.place, err = r.Cluster.PlaceHook(ctx, item.Object, rel.Namespace); err != nil || !item.place.Served {
		return err // creating the object returns the error of a kind that is not served
	}
	if item.live.object, err = r.Cluster.LiveHook(ctx, item.Object, rel.Namespace); err != nil {
		return fmt.Errorf("check whether it exists: %w", err)
	}
	return nil
}

// clearExisting chooses how each object of a hook is written, and deletes the existing objects
// that are to be replaced. It deletes nothing if there is a conflict.
//
// The policy before-hook-creation deletes existing objects. Without that policy, objects of an
// earlier run of the release are not a conflict: a Job or Pod, and a hook with the policy
// hook-succeeded, is replaced; any other hook is updated, as Helm 4 does. An object that is not
// a hook is replaced only with before-hook-creation, and with a warning.
func (r *hookRunner) clearExisting(ctx context.Context, rel *release.Release, h *release.Hook, all []*hookItem) error {
	refused := &HookConflictError{Release: rel.Name}
	for _, item := range all {
		if item.Name == "" {
			return errHookName
		}
		if err := r.locate(ctx, rel, item); err != nil {
			return err
		}
		reason, err := r.chooseWrite(ctx, rel, h, item)
		if err != nil {
			return err
		}
		if reason != "" {
			refused.Conflicts = append(refused.Conflicts, HookConflict{Object: item.displayName(), Reason: reason})
		}
	}
	if len(refused.Conflicts) > 0 {
		return refused
	}
	for _, item := range slices.Backward(all) {
		if item.write != hookReplace {
			continue
		}
		if err := r.Cluster.DeleteHook(ctx, item.Object, rel.Namespace, item.live.uid()); err != nil {
			return fmt.Errorf("delete the one of an earlier run: %w", err)
		}
		if err := r.Cluster.WaitHookGone(ctx, item.Object, rel.Namespace, item.live.uid()); err != nil {
			return fmt.Errorf("delete the one of an earlier run: %w", err)
		}
	}
	return nil
}

// chooseWrite sets it.write, or returns the reason why the existing object cannot be replaced.
func (r *hookRunner) chooseWrite(ctx context.Context, rel *release.Release, h *release.Hook, item *hookItem) (
	reason string, err error) {
	if item.live.object == nil || item.place.Definition {
		return "", nil // existing CRDs are not changed
	}
	if !r.takeOwnership {
		if reason, err = r.ownershipConflict(ctx, rel, item); reason != "" || err != nil {
			return reason, err
		}
	}
	before := h.Deletes(release.BeforeHookCreation)
	known := item.live.annotation(release.HookAnnotation) != "" || item.live.annotation(release.NameAnnotation) != "" ||
		item.live.isHookOf(rel)
	switch {
	case before && !known:
		r.Progress.Send(progress.Event{Kind: progress.Warning, Object: item.String(),
			Text: "it exists and is not a hook; it is replaced, as the hook's delete policy says"})
		item.write = hookReplace
	case before:
		item.write = hookReplace
	case !known && !r.takeOwnership:
		return "it is not a hook, and the hook's delete policy does not say " + string(release.BeforeHookCreation), nil
	case runsToCompletion(item.Kind) && !item.live.isHookOf(rel) && !item.live.isFinished() && !r.takeOwnership:
		return "it is a hook that still runs, and may be another release's", nil
	case runsToCompletion(item.Kind), h.Deletes(release.HookSucceeded):
		// The policy deletes only objects that this run has created.
		item.write = hookReplace
	default:
		item.write = hookUpdate
	}
	return "", nil
}

// checkConflicts returns a [*HookConflictError] if existing objects that are not the release's
// hooks have the names of hooks. It ignores objects that it cannot read: running the hook
// returns the error.
func (r *hookRunner) checkConflicts(ctx context.Context, rel *release.Release, hooks []*release.Hook) error {
	if r.takeOwnership {
		return nil
	}
	all := slices.DeleteFunc(allHookItems(hooks), func(item *hookItem) bool { return item.Name == "" })
	reasons := make([]string, len(all))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for i, item := range all {
		group.Go(func() (err error) {
			if r.locate(gctx, rel, item) == nil && item.live.object != nil && !item.place.Definition {
				reasons[i], err = r.ownershipConflict(gctx, rel, item)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	refused := &HookConflictError{Release: rel.Name}
	for i, item := range all {
		if c := (HookConflict{Object: item.displayName(), Reason: reasons[i]}); c.Reason != "" &&
			!slices.Contains(refused.Conflicts, c) {
			refused.Conflicts = append(refused.Conflicts, c)
		}
	}
	if len(refused.Conflicts) > 0 {
		return refused
	}
	return nil
}

// parallelReads is the number of objects that are read concurrently.
const parallelReads = 8

// allHookItems returns the objects of hooks. It skips hooks that cannot be parsed: running
// them returns the error.
func allHookItems(hooks []*release.Hook) []*hookItem {
	var out []*hookItem
	for _, h := range hooks {
		if all, err := hookItems(h); err == nil {
			out = append(out, all...)
		}
	}
	return out
}

// A HookConflict is an existing object with the name of a hook's object.
type HookConflict struct {
	Object string
	// Reason says to what the existing object belongs.
	Reason string
}

// A HookConflictError is returned if existing objects have the names of hooks, and are not the
// release's hooks.
type HookConflictError struct {
	Release   string
	Conflicts []HookConflict
}

func (e *HookConflictError) Error() string {
	if len(e.Conflicts) == 1 {
		return fmt.Sprintf("%s already exists: %s", e.Conflicts[0].Object, e.Conflicts[0].Reason)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d objects of hooks already exist, and are not hooks of release %q", len(e.Conflicts),
		e.Release)
	for _, c := range e.Conflicts {
		fmt.Fprintf(&b, "\n  %s: %s", c.Object, c.Reason)
	}
	return b.String()
}

// displayName returns the name of an object in errors, with its namespace if it has one.
func (i *hookItem) displayName() string {
	if i.place.Namespace == "" {
		return i.String()
	}
	return fmt.Sprintf("%s in namespace %s", i, i.place.Namespace)
}

// runsToCompletion reports whether objects of a kind run to completion.
func runsToCompletion(kind string) bool { return kind == "Job" || kind == "Pod" }

// annotateHook returns o with the annotation that names the release of the hook.
func annotateHook(o *manifest.Object, rel *release.Release) (*manifest.Object, error) {
	object, err := o.Map()
	if err != nil {
		return nil, err
	}
	meta, ok := object["metadata"].(map[string]any)
	annotations, isMap := meta["annotations"].(map[string]any)
	if !ok || !isMap && meta["annotations"] != nil {
		return o, nil // the server returns a better error for invalid metadata
	}
	object, meta, annotations = maps.Clone(object), maps.Clone(meta), maps.Clone(annotations)
	if annotations == nil { // an item of a List
		annotations = map[string]any{}
	}
	annotations[release.HookOfAnnotation] = rel.Namespace + "/" + rel.Name + "/" + strconv.Itoa(rel.Revision)
	meta["annotations"], object["metadata"] = annotations, meta
	text, err := manifest.Edit(o.Raw, object)
	if err != nil {
		return nil, fmt.Errorf("annotate the hook: %w", err)
	}
	objs, err := manifest.Parse(o.Source, text)
	if err != nil {
		return nil, err
	}
	if len(objs) != 1 {
		return nil, fmt.Errorf("annotate the hook: the result has %d objects, want one", len(objs))
	}
	return objs[0], nil
}
