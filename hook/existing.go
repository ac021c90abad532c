// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// MarkAnnotation stands on the objects of hooks and says whose they are:
// namespace, name and revision of the release, "shop/web/3". With it, what a
// run left behind that was ended in the middle can be told from what somebody
// else has made. It is not part of the release's record.
const MarkAnnotation = "moonhelm.github.io/hook-of"

// The marks of objects that belong to a release.
const (
	ownerName      = "meta.helm.sh/release-name"
	ownerNamespace = "meta.helm.sh/release-namespace"
)

// OccupiedError tells that an object exists where a hook is to be created, and
// that nothing allows to replace it.
type OccupiedError struct{ Reason string }

func (e *OccupiedError) Error() string {
	return fmt.Sprintf("an object of that name exists: %s; delete it, or give the hook another name", e.Reason)
}

// errNoName tells that nobody would know what a hook's object is called.
var errNoName = errors.New("a hook needs metadata.name: of a name that the server generates nobody knows which object it is")

// putting creates or changes an object.
type putting = func(ctx context.Context, o *manifest.Object, namespace string) error

// makeRoom sees to what stands in the place of o, the object of h, and returns
// how o is to be written.
//
// The policy before-hook-creation removes it. Without that policy, what an
// earlier run of the release has left is no obstacle either: a Job or Pod, and
// what was to go when it succeeded, is removed; any other hook is changed, as
// Helm 4 does. What belongs to another release is never touched, and what is no
// hook only by before-hook-creation, with a warning.
func (r Responder) makeRoom(ctx context.Context, rel *release.Release, h *release.Hook, o *manifest.Object) (putting, error) {
	switch {
	case o.Kind == kindCRD:
		return r.Cluster.CreateHook, nil
	case strings.HasSuffix(o.Kind, "List"): // stands in no place of its own
		if deletes(h, release.BeforeHookCreation) {
			return r.afterDelete(ctx, rel, o)
		}
		return r.Cluster.CreateHook, nil
	case o.Name == "":
		return nil, errNoName
	}
	live, err := r.Cluster.LiveHook(ctx, o, rel.Namespace)
	if err != nil {
		return nil, fmt.Errorf("look whether it exists: %w", err)
	}
	if live == nil {
		return r.Cluster.CreateHook, nil
	}
	found := existing{live}
	if owner := found.otherRelease(rel); owner != "" {
		return nil, &OccupiedError{Reason: "it belongs to release " + owner}
	}
	before := deletes(h, release.BeforeHookCreation)
	known := found.annotation(Annotation) != "" || found.annotation(ownerName) != ""
	switch {
	case before && !known:
		r.Progress.Send(progress.Event{Kind: progress.Warning, Object: h.Kind + "/" + h.Name,
			Text: "it exists and is no hook; it is replaced, as the hook's delete policy says"})
	case before:
	case !known:
		return nil, &OccupiedError{Reason: "it is no hook, and the hook's delete policy does not say " + string(release.BeforeHookCreation)}
	case runs(h.Kind) && !found.leftBy(rel) && !found.ended():
		return nil, &OccupiedError{Reason: "it is a hook that still runs, and not of this release"}
	case !runs(h.Kind) && !(found.leftBy(rel) && h.Deletes(release.HookSucceeded)):
		return r.Cluster.UpdateHook, nil
	}
	return r.afterDelete(ctx, rel, o)
}

// afterDelete removes what is there, so that o can be created.
func (r Responder) afterDelete(ctx context.Context, rel *release.Release, o *manifest.Object) (putting, error) {
	if err := r.Cluster.DeleteHook(ctx, o, rel.Namespace); err != nil {
		return nil, fmt.Errorf("delete the one of an earlier run: %w", err)
	}
	return r.Cluster.CreateHook, nil
}

// runs tells whether objects of a kind run and come to an end.
func runs(kind string) bool { return kind == "Job" || kind == "Pod" }

// existing is an object as the cluster has it.
type existing struct{ object map[string]any }

func (e existing) annotation(key string) string {
	meta, _ := e.object["metadata"].(map[string]any)
	all, _ := meta["annotations"].(map[string]any)
	text, _ := all[key].(string)
	return text
}

// otherRelease is the release, not rel, that the object is a part of.
func (e existing) otherRelease(rel *release.Release) string {
	name, namespace := e.annotation(ownerName), e.annotation(ownerNamespace)
	if name == "" || name == rel.Name && (namespace == rel.Namespace || namespace == "") {
		return ""
	}
	return fmt.Sprintf("%q in namespace %q", name, namespace)
}

// leftBy tells whether a hook of rel, in any of its revisions, made the object.
func (e existing) leftBy(rel *release.Release) bool {
	mark := e.annotation(MarkAnnotation)
	at := strings.LastIndexByte(mark, '/')
	return at >= 0 && mark[:at] == rel.Namespace+"/"+rel.Name
}

// ended tells whether a Job or Pod will do nothing more.
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

// marked is o with the mark of rel.
func marked(o *manifest.Object, rel *release.Release) (*manifest.Object, error) {
	object, err := o.Map()
	if err != nil {
		return nil, err
	}
	meta, _ := object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	object, meta, annotations = maps.Clone(object), maps.Clone(meta), maps.Clone(annotations)
	if meta == nil || annotations == nil {
		return o, nil // the server says better what is wrong with it
	}
	annotations[MarkAnnotation] = rel.Namespace + "/" + rel.Name + "/" + strconv.Itoa(rel.Revision)
	meta["annotations"], object["metadata"] = annotations, meta
	text, err := manifest.Edit(o.Raw, object)
	if err != nil {
		return nil, fmt.Errorf("mark it as the release's: %w", err)
	}
	objs, err := manifest.Parse(o.Source, text)
	if err != nil {
		return nil, err
	}
	return objs[0], nil
}
