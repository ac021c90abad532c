// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/release"
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
//   - The record or the lock of a release, this one's included, is no hook: without its
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
func (r Responder) foreign(ctx context.Context, rel *release.Release, it *item) (reason string, err error) {
	live := it.live
	if kept := live.keeps(it.Name); kept != "" {
		return "it is " + kept, nil
	}
	if owner := live.owner(); owner != "" {
		if owner == id(rel) {
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
	return fmt.Sprintf("it does not bear the marks of a hook of release %s, and is not in the release's namespace", id(rel)), nil
}

// gone reports whether a release of rel's namespace has no record any more.
func (r Responder) gone(ctx context.Context, rel *release.Release, namespace, name string) (bool, error) {
	if r.Records == nil || namespace != rel.Namespace {
		return false, nil
	}
	exists, err := r.Records.Exists(ctx, namespace, name)
	if err != nil {
		return false, fmt.Errorf("look whether release %s exists: %w", identify(namespace, name), err)
	}
	return !exists, nil
}

// hasRun reports whether a record of rel says that a hook has made the object in
// the place of it.
func (r Responder) hasRun(ctx context.Context, rel *release.Release, it *item) (bool, error) {
	if r.Records == nil {
		return false, nil
	}
	hooks, err := r.Records.Hooks(ctx, rel.Namespace, rel.Name)
	if err != nil {
		return false, fmt.Errorf("read which hooks release %s has run: %w", rel.Name, err)
	}
	for _, h := range hooks {
		if h.LastRun.StartedAt.IsZero() {
			continue
		}
		for _, was := range allItems([]*release.Hook{h}) {
			inPlace := it.place.Namespace == "" || it.place.Namespace == was.Namespace
			if inPlace && was.Kind == it.Kind && was.Name == it.Name && group(was.APIVersion) == group(it.APIVersion) {
				return true, nil
			}
		}
	}
	return false, nil
}

func group(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// id names a release in messages.
func id(rel *release.Release) string { return identify(rel.Namespace, rel.Name) }

func identify(namespace, name string) string {
	return fmt.Sprintf("%q in namespace %q", name, namespace)
}

// existing is an object as the cluster has it, nothing where it has none.
type existing struct{ object map[string]any }

func (e existing) text(field, key string) string {
	meta, _ := e.object["metadata"].(map[string]any)
	all, _ := meta[field].(map[string]any)
	text, _ := all[key].(string)
	return text
}

func (e existing) annotation(key string) string { return e.text("annotations", key) }
func (e existing) label(key string) string      { return e.text("labels", key) }

func (e existing) uid() string {
	meta, _ := e.object["metadata"].(map[string]any)
	uid, _ := meta["uid"].(string)
	return uid
}

// keeps says what the object keeps of a release, "" for nothing: "a record of release web".
func (e existing) keeps(name string) string {
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
func (e existing) owner() string {
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
func (e existing) maker() (namespace, name string) {
	namespace, rest, _ := strings.Cut(e.annotation(release.HookOfAnnotation), "/")
	at := strings.LastIndexByte(rest, '/')
	if at < 0 {
		return "", ""
	}
	return namespace, rest[:at]
}

// madeBy reports whether a hook of rel, in any of its revisions, made the object.
func (e existing) madeBy(rel *release.Release) bool {
	namespace, name := e.maker()
	return namespace == rel.Namespace && name == rel.Name
}

// controller is the object whose controller manages this one, "" for none.
func (e existing) controller() string {
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
func (e existing) ended() bool {
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
