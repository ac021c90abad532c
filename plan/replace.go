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
	object = putBody(object, s.Live)
	s.Type = Put
	var err error
	if s.Patch, err = json.Marshal(object); err != nil {
		return err
	}
	s.After = afterPut(object, s.Live)
	return nil
}

// revisionAnnotation is set by the Deployment controller, which would set it again if a
// replacement removed it.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// putBody returns object for a PUT that replaces live: with live's UID and resourceVersion as
// preconditions, and with the metadata that controllers have set. A load balancer without its
// finalizer would never be cleaned up.
func putBody(object, live map[string]any) map[string]any {
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

// afterPut returns the object that exists after object has replaced live: with the fields that
// only the server sets.
func afterPut(object, live map[string]any) map[string]any {
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
func isVolume(item Item) bool {
	return item.Kind == "PersistentVolumeClaim" || item.Kind == "PersistentVolume"
}
