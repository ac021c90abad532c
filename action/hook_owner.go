// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// ownershipConflict returns the reason why the live object of it must not be replaced by a hook
// of rel, or "" if it may be. It checks, in this order:
//
//   - The record or the lock of a release, this one included, is never replaced: without a
//     record, a release's objects would have no owner.
//   - An object with a release's ownership labels belongs to that release, and an object with
//     the annotation [release.HookOfAnnotation] is a hook of the release that it names. If
//     that release was in this namespace and is uninstalled, the annotation is ignored:
//     otherwise no release could ever replace the object.
//   - An object with a controller belongs to the controller. An object that is not a hook,
//     and that another program manages according to its label, belongs to that program.
//   - Any other object in the release's namespace may be replaced. These include the hooks
//     that Helm has created, which have no annotation that names their release.
//   - In other namespaces, an object may be replaced if it is a hook that has run according
//     to a record of the release, which is how hooks that Helm has created are recognized.
func (r *hookRunner) ownershipConflict(ctx context.Context, rel *release.Release, item *hookItem) (
	reason string, err error) {
	live := item.live
	if data := live.releaseData(item.Name); data != "" {
		return "it is " + data, nil
	}
	if owner := live.owner(); owner != "" {
		if owner == releaseName(rel) {
			return "", nil
		}
		return "it belongs to release " + owner, nil
	}
	if namespace, name := live.hookRelease(); name != "" {
		if namespace == rel.Namespace && name == rel.Name {
			return "", nil
		}
		if uninstalled, err := r.isUninstalled(ctx, rel, namespace, name); !uninstalled || err != nil {
			return "it is a hook of release " + formatRelease(namespace, name), err
		}
	}
	if controller := live.controller(); controller != "" {
		return "it is controlled by " + controller, nil
	}
	hooked := live.annotation(release.HookAnnotation) != ""
	switch manager := live.label(release.ManagedByLabel); {
	case hooked, manager == "", manager == release.ManagedByHelm, manager == item.Labels[release.ManagedByLabel]:
	default:
		return fmt.Sprintf("its label %s is %q", release.ManagedByLabel, manager), nil
	}
	if item.place.Namespace != "" && item.place.Namespace == rel.Namespace {
		return "", nil
	}
	if hooked {
		known, err := r.hasRun(ctx, rel, item)
		if known || err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("it is not known to be a hook of release %s, and is not in the release's namespace",
		releaseName(rel)), nil
}

// isUninstalled reports whether a release in rel's namespace has no record.
func (r *hookRunner) isUninstalled(ctx context.Context, rel *release.Release, namespace, name string) (bool, error) {
	if r.Releases == nil || namespace != rel.Namespace {
		return false, nil
	}
	_, err := r.Releases.Revisions(ctx, name)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return false, fmt.Errorf("check whether release %s exists: %w", formatRelease(namespace, name), err)
	}
	return err != nil, nil
}

// hasRun reports whether a recorded hook of rel has created the live object of it.
func (r *hookRunner) hasRun(ctx context.Context, rel *release.Release, item *hookItem) (bool, error) {
	if r.Releases == nil {
		return false, nil
	}
	hooks, err := r.recordedHooks(ctx, rel.Name)
	if err != nil {
		return false, fmt.Errorf("read which hooks release %s has run: %w", rel.Name, err)
	}
	for _, h := range hooks {
		if h.LastRun.StartedAt.IsZero() {
			continue
		}
		for _, was := range allHookItems([]*release.Hook{h}) {
			inPlace := item.place.Namespace == "" || item.place.Namespace == was.Namespace
			if inPlace && was.Kind == item.Kind && was.Name == item.Name &&
				manifest.Group(was.APIVersion) == manifest.Group(item.APIVersion) {
				return true, nil
			}
		}
	}
	return false, nil
}

// maxHookRevisions is the number of revisions that are read for hooks that have run: the
// default number of revisions to keep.
const maxHookRevisions = 10

// recordedHooks returns the hooks in the newest records of a release. It skips records that
// cannot be read or have been deleted.
func (r *hookRunner) recordedHooks(ctx context.Context, name string) ([]*release.Hook, error) {
	revisions, err := r.Releases.Revisions(ctx, name)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*release.Hook
	for _, listed := range slices.Backward(revisions[max(0, len(revisions)-maxHookRevisions):]) {
		old, err := r.Releases.Get(ctx, name, listed.Revision)
		var unreadable *storage.UnreadableError
		var incomplete *storage.PartError
		if errors.Is(err, storage.ErrNotFound) || errors.As(err, &unreadable) || errors.As(err, &incomplete) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, old.Hooks...)
	}
	return out, nil
}

// releaseName returns the name of a release in messages.
func releaseName(rel *release.Release) string { return formatRelease(rel.Namespace, rel.Name) }

func formatRelease(namespace, name string) string {
	return fmt.Sprintf("%q in namespace %q", name, namespace)
}

// liveObject is a live object, or the zero value if it does not exist.
type liveObject struct{ object map[string]any }

// texts returns the labels or annotations.
func (e liveObject) texts(field string) map[string]string {
	meta, _ := e.object["metadata"].(map[string]any)
	all, _ := meta[field].(map[string]any)
	texts := make(map[string]string, len(all))
	for key, v := range all {
		texts[key], _ = v.(string)
	}
	return texts
}

func (e liveObject) annotation(key string) string { return e.texts("annotations")[key] }
func (e liveObject) label(key string) string      { return e.texts("labels")[key] }

func (e liveObject) uid() string {
	meta, _ := e.object["metadata"].(map[string]any)
	uid, _ := meta["uid"].(string)
	return uid
}

// releaseData returns which data of a release the object stores, such as "a record of release
// web", or "".
func (e liveObject) releaseData(name string) string {
	labels := e.texts("labels")
	if of, ok := storage.RecordOf(name, labels); ok {
		return fmt.Sprintf("a record of release %q", of)
	}
	if of, ok := lock.LeaseOf(name, labels); ok {
		return fmt.Sprintf("the lock of release %q", of)
	}
	return ""
}

// owner returns the release that the object belongs to, or "".
func (e liveObject) owner() string {
	name, namespace := e.annotation(release.NameAnnotation), e.annotation(release.NamespaceAnnotation)
	if name == "" && namespace == "" {
		return ""
	}
	if namespace == "" {
		meta, _ := e.object["metadata"].(map[string]any)
		namespace, _ = meta["namespace"].(string)
	}
	return formatRelease(namespace, name)
}

// isOwnedBy reports whether the object has the ownership labels of a release.
func (e liveObject) isOwnedBy(owner kube.Owner) bool {
	is := release.OwnershipOf(e.texts("labels"), e.texts("annotations"))
	return is == release.OwnedBy(owner.Release, owner.Namespace)
}

// hookRelease returns the release whose hook created the object, or "" if that is not known.
func (e liveObject) hookRelease() (namespace, name string) {
	namespace, rest, _ := strings.Cut(e.annotation(release.HookOfAnnotation), "/")
	i := strings.LastIndexByte(rest, '/')
	if i < 0 {
		return "", ""
	}
	return namespace, rest[:i]
}

// isHookOf reports whether a hook of rel, of any revision, created the object.
func (e liveObject) isHookOf(rel *release.Release) bool {
	namespace, name := e.hookRelease()
	return namespace == rel.Namespace && name == rel.Name
}

// controller returns the kind and name of the controlling owner reference, or "".
func (e liveObject) controller() string {
	meta, _ := e.object["metadata"].(map[string]any)
	owners, _ := meta["ownerReferences"].([]any)
	for _, o := range owners {
		if m, _ := o.(map[string]any); m["controller"] == true {
			return fmt.Sprintf("%q", fmt.Sprint(m["kind"], "/", m["name"]))
		}
	}
	return ""
}

// isFinished reports whether a Job or Pod has finished.
func (e liveObject) isFinished() bool {
	status, _ := e.object["status"].(map[string]any)
	switch status["phase"] {
	case "Succeeded", "Failed":
		return true
	}
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if m, _ := c.(map[string]any); m["status"] == "True" && (m["type"] == "Complete" || m["type"] == "Failed") {
			return true
		}
	}
	return false
}
