// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// The marks of objects that belong to a release, and the label that says which
// program manages an object.
const (
	ownerName      = "meta.helm.sh/release-name"
	ownerNamespace = "meta.helm.sh/release-namespace"
	managedByLabel = "app.kubernetes.io/managed-by"
	managedByHelm  = "Helm"
)

// Records and locks of releases have names of their own, and a label that says which
// program keeps them.
const (
	recordPrefix = "sh.helm.release.v"
	leasePrefix  = "moonhelm.v1."
	keeperLabel  = "owner"
	releaseLabel = "name"
)

// foreign returns why the object in the place of it is not a hook of rel to
// replace, "" where it is. In this order:
//
//   - The record or the lock of a release, this one's included, is never a hook: without its
//     record a release's objects are no one's.
//   - What bears a release's ownership labels is that release's, whatever else it
//     says; what bears the mark of a hook is that release's hook. A mark of a
//     release of this namespace that is no more says nothing: no one would ever
//     remove the object.
//   - What a controller manages is the controller's. What is not a hook, and labelled as
//     managed by another program, is that program's.
//   - In the release's namespace, the rest belongs to no one. Helm marks the
//     objects of hooks with nothing: what its last run has left is among these.
//   - Elsewhere it may be replaced where it is a hook that a record of the release
//     says it has run, which is how Helm's are recognized there.
func (r *hookRunner) foreign(ctx context.Context, rel *release.Release, it *hookItem) (reason string, err error) {
	live := it.live
	if kept := live.keeps(it.Name); kept != "" {
		return "it is " + kept, nil
	}
	if owner := live.owner(); owner != "" {
		if owner == releaseID(rel) {
			return "", nil
		}
		return "it belongs to release " + owner, nil
	}
	if namespace, name := live.maker(); name != "" {
		if namespace == rel.Namespace && name == rel.Name {
			return "", nil
		}
		if gone, err := r.gone(ctx, rel, namespace, name); !gone || err != nil {
			return "it is a hook of release " + identify(namespace, name), err
		}
	}
	if controller := live.controller(); controller != "" {
		return "it is controlled by " + controller, nil
	}
	hooked := live.annotation(release.HookAnnotation) != ""
	switch manager := live.label(managedByLabel); {
	case hooked, manager == "", manager == managedByHelm, manager == it.Labels[managedByLabel]:
	default:
		return fmt.Sprintf("its label %s is %q", managedByLabel, manager), nil
	}
	if it.place.Namespace != "" && it.place.Namespace == rel.Namespace {
		return "", nil
	}
	if hooked {
		known, err := r.hasRun(ctx, rel, it)
		if known || err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("it does not bear the marks of a hook of release %s, and is not in the release's namespace",
		releaseID(rel)), nil
}

// gone reports whether a release of rel's namespace has no record any more.
func (r *hookRunner) gone(ctx context.Context, rel *release.Release, namespace, name string) (bool, error) {
	if r.Releases == nil || namespace != rel.Namespace {
		return false, nil
	}
	_, err := r.Releases.Revisions(ctx, name)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return false, fmt.Errorf("look whether release %s exists: %w", identify(namespace, name), err)
	}
	return err != nil, nil
}

// hasRun reports whether a record of rel says that a hook has made the object in
// the place of it.
func (r *hookRunner) hasRun(ctx context.Context, rel *release.Release, it *hookItem) (bool, error) {
	if r.Releases == nil {
		return false, nil
	}
	hooks, err := r.recorded(ctx, rel.Name)
	if err != nil {
		return false, fmt.Errorf("read which hooks release %s has run: %w", rel.Name, err)
	}
	for _, h := range hooks {
		if h.LastRun.StartedAt.IsZero() {
			continue
		}
		for _, was := range allHookItems([]*release.Hook{h}) {
			inPlace := it.place.Namespace == "" || it.place.Namespace == was.Namespace
			if inPlace && was.Kind == it.Kind && was.Name == it.Name && apiGroup(was.APIVersion) == apiGroup(it.APIVersion) {
				return true, nil
			}
		}
	}
	return false, nil
}

// lastRevisions is how many revisions say which hooks a release has run: as many as
// are kept unless the user says otherwise.
const lastRevisions = 10

// recorded returns the hooks that the newest records of a release hold. A revision that
// cannot be read, or is deleted meanwhile, has none.
func (r *hookRunner) recorded(ctx context.Context, name string) ([]*release.Hook, error) {
	revisions, err := r.Releases.Revisions(ctx, name)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*release.Hook
	for _, listed := range slices.Backward(revisions[max(0, len(revisions)-lastRevisions):]) {
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

func apiGroup(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// releaseID names a release in messages.
func releaseID(rel *release.Release) string { return identify(rel.Namespace, rel.Name) }

func identify(namespace, name string) string {
	return fmt.Sprintf("%q in namespace %q", name, namespace)
}

// liveObject is an object as the cluster has it, nothing where it has none.
type liveObject struct{ object map[string]any }

func (e liveObject) text(field, key string) string {
	meta, _ := e.object["metadata"].(map[string]any)
	all, _ := meta[field].(map[string]any)
	text, _ := all[key].(string)
	return text
}

func (e liveObject) annotation(key string) string { return e.text("annotations", key) }
func (e liveObject) label(key string) string      { return e.text("labels", key) }

func (e liveObject) uid() string {
	meta, _ := e.object["metadata"].(map[string]any)
	uid, _ := meta["uid"].(string)
	return uid
}

// keeps says what the object keeps of a release, "" for nothing: "a record of release web".
func (e liveObject) keeps(name string) string {
	keeper, of := e.label(keeperLabel), fmt.Sprintf(" of release %q", e.label(releaseLabel))
	switch {
	case strings.HasPrefix(name, recordPrefix) && (keeper == "helm" || keeper == "moonhelm"):
		return "a record" + of
	case strings.HasPrefix(name, leasePrefix) && keeper == "moonhelm":
		return "the lock" + of
	}
	return ""
}

// owner is the release that the object is a part of, "" for none.
func (e liveObject) owner() string {
	name, namespace := e.annotation(ownerName), e.annotation(ownerNamespace)
	if name == "" && namespace == "" {
		return ""
	}
	if namespace == "" {
		meta, _ := e.object["metadata"].(map[string]any)
		namespace, _ = meta["namespace"].(string)
	}
	return identify(namespace, name)
}

// maker is the release whose hook made the object, "" where that is not known.
func (e liveObject) maker() (namespace, name string) {
	namespace, rest, _ := strings.Cut(e.annotation(release.HookOfAnnotation), "/")
	at := strings.LastIndexByte(rest, '/')
	if at < 0 {
		return "", ""
	}
	return namespace, rest[:at]
}

// madeBy reports whether a hook of rel, in any of its revisions, made the object.
func (e liveObject) madeBy(rel *release.Release) bool {
	namespace, name := e.maker()
	return namespace == rel.Namespace && name == rel.Name
}

// controller is the object whose controller manages this one, "" for none.
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

// ended reports whether a Job or Pod will do nothing more.
func (e liveObject) ended() bool {
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
