// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"maps"
)

// setPutBody makes s a replacement of the live object.
func (s *Step) setPutBody() error {
	object := normalize(s.New)
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

// revisionAnnotation is set by the Deployment controller, which would write it again at
// once.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// inPlaceOf returns object as it is sent to replace live: with the UID and resourceVersion
// that were read as preconditions, and with what controllers have noted in the metadata. A
// load balancer that loses its finalizer is never cleaned up.
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

// asKept returns the object that the server keeps after object has replaced live: with the
// fields that only the server writes.
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

// isVolume reports whether a controller binds the object to another one by fields that no
// chart sets. A replacement without them is rejected (PersistentVolumeClaim), or unbinds the
// volume.
func isVolume(it Item) bool {
	return it.Kind == "PersistentVolumeClaim" || it.Kind == "PersistentVolume"
}
