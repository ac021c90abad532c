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

// errHookName is returned for a hook of which the server would choose the name.
var errHookName = errors.New("a hook needs metadata.name: of a name that the server generates no one " +
	"knows which object it is")

// hookWrite is how an object of a hook comes to be what the hook says.
type hookWrite int

const (
	hookCreate  hookWrite = iota // nothing is in its place
	hookReplace                  // what is there is deleted first
	hookUpdate                   // what is there is changed
)

// hookItem is one object of a hook.
type hookItem struct {
	*manifest.Object
	place apply.HookPlace
	live  liveObject
	how   hookWrite
	// uid names the object that this run has made, "" where it has made none.
	uid string
}

// hookItems are the objects of h, those of lists each by itself.
func hookItems(h *release.Hook) ([]*hookItem, error) {
	objects, err := manifest.Parse(h.Path, h.Manifest)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("the hook's manifest holds %d objects, not one", len(objects))
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

// locate finds the place of it, and what is there.
func (r *hookRunner) locate(ctx context.Context, rel *release.Release, it *hookItem) (err error) {
	if it.place, err = r.Cluster.PlaceHook(ctx, it.Object, rel.Namespace); err != nil || !it.place.Served {
		return err // to create what is not served is an error that says more
	}
	if it.live.object, err = r.Cluster.LiveHook(ctx, it.Object, rel.Namespace); err != nil {
		return fmt.Errorf("look whether it exists: %w", err)
	}
	return nil
}

// makeRoom sees to what is in the places of a hook's objects, and decides how
// each of them is written. Nothing is deleted where one of them is a conflict.
//
// The policy before-hook-creation deletes what is there. Without that policy, what
// an earlier run of the release has left is not an obstacle either: a Job or Pod, and
// what was to go when it succeeded, is replaced; any other hook is changed, as Helm
// 4 does. What is not a hook is replaced only by before-hook-creation, with a warning.
func (r *hookRunner) makeRoom(ctx context.Context, rel *release.Release, h *release.Hook, all []*hookItem) error {
	refused := &HookConflictError{Release: rel.Name}
	for _, it := range all {
		if it.Name == "" {
			return errHookName
		}
		if err := r.locate(ctx, rel, it); err != nil {
			return err
		}
		reason, err := r.decide(ctx, rel, h, it)
		if err != nil {
			return err
		}
		if reason != "" {
			refused.Conflicts = append(refused.Conflicts, HookConflict{Object: it.label(), Reason: reason})
		}
	}
	if len(refused.Conflicts) > 0 {
		return refused
	}
	for _, it := range slices.Backward(all) {
		if it.how != hookReplace {
			continue
		}
		if err := r.Cluster.DeleteHook(ctx, it.Object, rel.Namespace, it.live.uid()); err != nil {
			return fmt.Errorf("delete the one of an earlier run: %w", err)
		}
		if err := r.Cluster.WaitHookGone(ctx, it.Object, rel.Namespace, it.live.uid()); err != nil {
			return fmt.Errorf("delete the one of an earlier run: %w", err)
		}
	}
	return nil
}

// decide chooses how it is written, or returns why it cannot be.
func (r *hookRunner) decide(ctx context.Context, rel *release.Release, h *release.Hook, it *hookItem) (reason string,
	err error) {
	if it.live.object == nil || it.place.Definition {
		return "", nil // a definition that is there stays as it is
	}
	if !r.takeOwnership {
		if reason, err = r.foreign(ctx, rel, it); reason != "" || err != nil {
			return reason, err
		}
	}
	before := h.Deletes(release.BeforeHookCreation)
	known := it.live.annotation(release.HookAnnotation) != "" || it.live.annotation(ownerName) != "" || it.live.madeBy(rel)
	switch {
	case before && !known:
		r.Progress.Send(progress.Event{Kind: progress.Warning, Object: it.String(),
			Text: "it exists and is not a hook; it is replaced, as the hook's delete policy says"})
		it.how = hookReplace
	case before:
		it.how = hookReplace
	case !known && !r.takeOwnership:
		return "it is not a hook, and the hook's delete policy does not say " + string(release.BeforeHookCreation), nil
	case runsToEnd(it.Kind) && !it.live.madeBy(rel) && !it.live.ended() && !r.takeOwnership:
		return "it is a hook that still runs, and may be another release's", nil
	case runsToEnd(it.Kind), h.Deletes(release.HookSucceeded):
		// The policy deletes only what this run has made.
		it.how = hookReplace
	default:
		it.how = hookUpdate
	}
	return "", nil
}

// checkConflicts refuses, before anything is written, hooks in whose place there
// are objects that are not theirs to replace. What cannot be read now is decided
// when the hook runs.
func (r *hookRunner) checkConflicts(ctx context.Context, rel *release.Release, hooks []*release.Hook) error {
	if r.takeOwnership {
		return nil
	}
	all := slices.DeleteFunc(allHookItems(hooks), func(it *hookItem) bool { return it.Name == "" })
	reasons := make([]string, len(all))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for i, it := range all {
		group.Go(func() (err error) {
			if r.locate(gctx, rel, it) == nil && it.live.object != nil && !it.place.Definition {
				reasons[i], err = r.foreign(gctx, rel, it)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	refused := &HookConflictError{Release: rel.Name}
	for i, it := range all {
		if c := (HookConflict{Object: it.label(), Reason: reasons[i]}); c.Reason != "" &&
			!slices.Contains(refused.Conflicts, c) {
			refused.Conflicts = append(refused.Conflicts, c)
		}
	}
	if len(refused.Conflicts) > 0 {
		return refused
	}
	return nil
}

// parallelReads is how many objects are read at once.
const parallelReads = 8

// allHookItems are the objects of hooks. A hook that cannot be read has none: running
// it says what is wrong.
func allHookItems(hooks []*release.Hook) []*hookItem {
	var out []*hookItem
	for _, h := range hooks {
		if all, err := hookItems(h); err == nil {
			out = append(out, all...)
		}
	}
	return out
}

// HookConflict is one object that is in the place of a hook's.
type HookConflict struct {
	Object string
	// Reason says what it is instead.
	Reason string
}

// A HookConflictError lists the objects that exist where hooks are to be created, and
// that are not the release's hooks to replace.
type HookConflictError struct {
	Release   string
	Conflicts []HookConflict
}

func (e *HookConflictError) Error() string {
	if len(e.Conflicts) == 1 {
		return fmt.Sprintf("%s already exists: %s", e.Conflicts[0].Object, e.Conflicts[0].Reason)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d objects of hooks already exist, and are not those of hooks of release %q", len(e.Conflicts),
		e.Release)
	for _, c := range e.Conflicts {
		fmt.Fprintf(&b, "\n  %s: %s", c.Object, c.Reason)
	}
	return b.String()
}

// label names an object in errors: with its namespace, where it has one.
func (it *hookItem) label() string {
	if it.place.Namespace == "" {
		return it.String()
	}
	return fmt.Sprintf("%s in namespace %s", it, it.place.Namespace)
}

// runsToEnd reports whether objects of a kind run and come to an end.
func runsToEnd(kind string) bool { return kind == "Job" || kind == "Pod" }

// markedHook is o with the annotation that says whose hook made it.
func markedHook(o *manifest.Object, rel *release.Release) (*manifest.Object, error) {
	object, err := o.Map()
	if err != nil {
		return nil, err
	}
	meta, ok := object["metadata"].(map[string]any)
	annotations, isMap := meta["annotations"].(map[string]any)
	if !ok || !isMap && meta["annotations"] != nil {
		return o, nil // the server says better what is wrong with it
	}
	object, meta, annotations = maps.Clone(object), maps.Clone(meta), maps.Clone(annotations)
	if annotations == nil { // an item of a list
		annotations = map[string]any{}
	}
	annotations[release.HookOfAnnotation] = rel.Namespace + "/" + rel.Name + "/" + strconv.Itoa(rel.Revision)
	meta["annotations"], object["metadata"] = annotations, meta
	text, err := manifest.Edit(o.Raw, object)
	if err != nil {
		return nil, fmt.Errorf("mark it as the release's: %w", err)
	}
	objs, err := manifest.Parse(o.Source, text)
	if err != nil {
		return nil, err
	}
	if len(objs) != 1 {
		return nil, fmt.Errorf("mark it as the release's: it has become %d objects", len(objs))
	}
	return objs[0], nil
}
