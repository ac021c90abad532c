// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"maps"
)

// put makes the step one that replaces the live object.
func (s *Step) put() error {
	object := normal(s.New)
	if m := mergerOf(s.Item); m.builtIn {
		object = m.clean(object).(map[string]any)
	}
	object = inPlaceOf(object, s.Live)
	s.Type = Put
	var err error
	if s.Patch, err = json.Marshal(object); err != nil {
		return err
	}
	s.After = asKept(object, s.Live)
	return nil
}

// revisionAnnotation is where the controller of Deployments keeps count. It
// would write it again at once.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// inPlaceOf is object as it is sent in the place of live: for that very object
// in the state that was read, and with the controllers' own notes. Those are no
// part of what a chart says: a load balancer whose finalizer goes is never
// cleaned up.
func inPlaceOf(object, live map[string]any) map[string]any {
	meta := maps.Clone(metadata(object))
	for _, key := range []string{"uid", "resourceVersion"} {
		if v, ok := metadata(live)[key]; ok {
			meta[key] = v
		}
	}
	if v, ok := metadata(live)["finalizers"]; ok && meta["finalizers"] == nil {
		meta["finalizers"] = v
	}
	if count := annotation(live, revisionAnnotation); count != "" && annotation(object, revisionAnnotation) == "" {
		annotations, _ := meta["annotations"].(map[string]any)
		annotations = maps.Clone(annotations)
		if annotations == nil {
			annotations = map[string]any{}
		}
		annotations[revisionAnnotation] = count
		meta["annotations"] = annotations
	}
	object = maps.Clone(object)
	object["metadata"] = meta
	return object
}

// asKept is an object that was sent in the place of live with what only the
// server writes.
func asKept(object, live map[string]any) map[string]any {
	object = maps.Clone(object)
	meta := maps.Clone(metadata(object))
	for _, key := range []string{"creationTimestamp", "generation", "managedFields"} {
		if v, ok := metadata(live)[key]; ok {
			meta[key] = v
		}
	}
	object["metadata"] = meta
	delete(object, "status")
	if v, ok := live["status"]; ok {
		object["status"] = v
	}
	return object
}

// bound reports whether a controller binds objects of the kind to others by
// fields that no chart sets: without them the API server refuses a volume
// claim, and a volume loses its claim. They are merged.
func bound(it Item) bool { return it.Kind == "PersistentVolumeClaim" || it.Kind == "PersistentVolume" }
