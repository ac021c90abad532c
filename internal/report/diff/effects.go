// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// An effectKind is a kind of consequence that the change of an object has.
type effectKind string

// The kinds, in the order of output.
const (
	fails     effectKind = "fail"     // the API server refuses the change
	losesData effectKind = "loseData" // data is deleted
	recreates effectKind = "recreate" // the object is deleted and created again
	restarts  effectKind = "restart"  // pods are replaced, or their containers restarted
	stops     effectKind = "stop"     // pods are deleted
	starts    effectKind = "start"    // pods are created
	defers    effectKind = "defer"    // pods are changed by a later event
)

// effect is a consequence of the change of an object.
type effect struct {
	Kind effectKind `json:"effect"`
	plan.Ref
	// Pods is the number of pods that restart, stop or start, nil if it is unknown.
	Pods   *int64 `json:"pods,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// effects returns the consequences of the objects' changes, in the order of the objects,
// followed by those for objects that depend on them. Two releases have no effect on each other.
func (d Diff) effects(o Options) []effect {
	if d.other != "" {
		return nil
	}
	var out []effect
	for _, object := range d.Objects {
		w := effectWriter{object: object}
		if object.Renamed != nil {
			w.addLoss()
			w.addPods(stops, object.Before, "")
			w.addPods(starts, object.After, "")
			out = append(out, w.out...)
			continue
		}
		w.addFailure(d, o)
		switch object.Action {
		case plan.Create:
			if object.Existed {
				break
			}
			w.addPods(starts, object.After, "")
		case plan.Update:
			w.addUpdate()
		case plan.Replace:
			w.addLoss()
			w.add(recreates, nil, object.Reason)
			w.addPods(restarts, object.Before, "is deleted and created again")
		case plan.Delete:
			w.addLoss()
			w.addPods(stops, object.Before, "")
		}
		out = append(out, w.out...)
	}
	return append(out, d.staleEnvironments(out)...)
}

// effectWriter collects the effects of one object.
type effectWriter struct {
	object Object
	out    []effect
}

func (w *effectWriter) add(kind effectKind, pods *int64, reason string) {
	w.out = append(w.out, effect{Kind: kind, Ref: w.object.Ref, Pods: pods, Reason: reason})
}

// addPods adds an effect on all pods of the object in the given state, if it has any.
func (w *effectWriter) addPods(kind effectKind, state map[string]any, reason string) {
	if n, ok := podsOf(w.object.Ref, state); ok && (n == nil || *n > 0) {
		w.add(kind, n, reason)
	}
}

// addFailure adds the immutable fields that the change sets.
func (w *effectWriter) addFailure(d Diff, o Options) {
	if fields := o.Refused[kube.ObjectName(w.object.Kind, w.object.Namespace, w.object.Name)]; len(fields) > 0 {
		w.add(fails, nil, cannotChange(fields))
		return
	}
	if w.object.Action != plan.Update || w.object.Note != "" || !d.Stored && !o.Unvalidated {
		return // the API server has been asked, or will not be
	}
	if fields := immutableChanges(w.object); len(fields) == 0 {
		return
	} else if isReplaceable(w.object.After) {
		w.object.Action, w.object.Reason = plan.Replace, cannotChange(fields)
		w.addLoss()
		w.add(recreates, nil, w.object.Reason)
		w.addPods(restarts, w.object.Before, "is deleted and created again")
	} else {
		w.add(fails, nil, cannotChange(fields))
	}
}

// isReplaceable reports whether the object's annotation permits to replace it.
func isReplaceable(object map[string]any) bool {
	return plan.Replaceable(plan.Step{Item: plan.Item{New: object}})
}

func cannotChange(fields []string) string { return strings.Join(fields, ", ") + " cannot be changed" }

// addLoss adds the data that is deleted with the object.
func (w *effectWriter) addLoss() {
	switch r := w.object.Ref; {
	case r.Kind == "PersistentVolumeClaim" && r.APIVersion == "v1":
		w.add(losesData, nil, "the volume too, unless its reclaim policy is Retain")
	case r.Kind == "PersistentVolume" && r.APIVersion == "v1":
		w.add(losesData, nil, "the volume")
	case r.Kind == "Namespace" && r.APIVersion == "v1":
		w.add(losesData, nil, "all objects in the namespace")
	case r.Kind == "CustomResourceDefinition":
		kind, _ := field(w.object.Before, "spec", "names", "kind").(string)
		w.add(losesData, nil, strings.TrimSpace("all objects of the kind "+kind))
	case isKind(r, "apps", "StatefulSet") && retention(w.object.Before, "whenDeleted") == "Delete":
		w.add(losesData, nil, "its claims: persistentVolumeClaimRetentionPolicy.whenDeleted is Delete")
	}
}

func retention(set map[string]any, when string) any {
	return field(set, "spec", "persistentVolumeClaimRetentionPolicy", when)
}

// addUpdate adds what an update does to pods.
func (w *effectWriter) addUpdate() {
	if len(w.out) > 0 { // it fails, or replaces the object
		return
	}
	r, before, after := w.object.Ref, w.object.Before, w.object.After
	if changed := w.templateChanges(); len(changed) > 0 {
		w.addRollout(changed)
	}
	had, known := podsOf(r, before)
	has, _ := podsOf(r, after)
	if !known || had == nil || has == nil || r.Kind == "Pod" {
		return
	}
	switch n := *has - *had; {
	case n > 0:
		w.add(starts, &n, fmt.Sprintf("spec.replicas: %d to %d", *had, *has))
	case n < 0:
		n = -n
		w.add(stops, &n, fmt.Sprintf("spec.replicas: %d to %d", *had, *has))
		if isKind(r, "apps", "StatefulSet") && retention(after, "whenScaled") == "Delete" {
			w.add(losesData, nil, "the claims of the pods that stop: persistentVolumeClaimRetentionPolicy.whenScaled is Delete")
		}
	}
}

// templateChanges returns the fields of the object's pod template that change.
func (w *effectWriter) templateChanges() []string {
	path := []string{"spec", "template"}
	switch r := w.object.Ref; {
	case isKind(r, "", "Pod"):
		return podChanges(w.object)
	case isKind(r, "batch", "CronJob"):
		path = []string{"spec", "jobTemplate", "spec", "template"}
	case !isWorkload(r):
		return nil
	}
	before, _ := field(w.object.Before, path...).(map[string]any)
	after, _ := field(w.object.After, path...).(map[string]any)
	var out []string
	for _, c := range fieldChanges(before, after, false) {
		if !isEmpty(c.Before) || !isEmpty(c.After) {
			out = append(out, strings.TrimPrefix(c.Path, "spec."))
		}
	}
	return out
}

// podChanges returns the images that change, which restarts containers in their pod.
func podChanges(o Object) []string {
	var out []string
	before, _ := o.Before["spec"].(map[string]any)
	after, _ := o.After["spec"].(map[string]any)
	for _, c := range fieldChanges(before, after, false) {
		if strings.HasSuffix(c.Path, ".image") {
			out = append(out, c.Path)
		}
	}
	return out
}

// addRollout adds what the change of a pod template does.
func (w *effectWriter) addRollout(changed []string) {
	r, after := w.object.Ref, w.object.After
	reason := shortList(changed)
	strategy := cmp.Or(asText(field(after, "spec", "updateStrategy", "type")), "RollingUpdate")
	switch {
	case r.Kind == "CronJob":
		w.add(defers, nil, "from its next run: "+reason)
		return
	case r.Kind == "ReplicaSet" || r.Kind == "ReplicationController":
		w.add(defers, nil, "its pods stay as they are until they are deleted: "+reason)
		return
	case r.Kind == "Deployment" && field(after, "spec", "paused") == true:
		w.add(defers, nil, "when it is resumed, it is paused: "+reason)
		return
	case r.Kind != "Deployment" && r.Kind != "Pod" && strategy == "OnDelete":
		w.add(defers, nil, "when its pods are deleted, its updateStrategy is OnDelete: "+reason)
		return
	case r.Kind == "Deployment" && asText(field(after, "spec", "strategy", "type")) == "Recreate":
		reason += "; all stop first, its strategy is Recreate"
	}
	if n := w.restarted(); n == nil || *n > 0 {
		w.add(restarts, n, reason)
	}
}

// restarted returns the number of pods that a rollout replaces, nil if it is unknown.
func (w *effectWriter) restarted() *int64 {
	had, _ := podsOf(w.object.Ref, w.object.Before)
	has, _ := podsOf(w.object.Ref, w.object.After)
	if had == nil || has == nil {
		return had
	}
	n := min(*had, *has)
	if w.object.Kind == "StatefulSet" { // the pods below the partition stay
		first, _ := number(field(w.object.After, "spec", "ordinals", "start"))
		partition, _ := number(field(w.object.After, "spec", "updateStrategy", "rollingUpdate", "partition"))
		n = min(n, max(int64(first)+n-int64(partition), 0))
	}
	return &n
}

// podsOf returns the number of pods that a workload in the given state has, nil if it is unknown,
// and reports whether it is one that keeps pods running.
func podsOf(r plan.Ref, object map[string]any) (*int64, bool) {
	n, ok := number(field(object, "spec", "replicas"))
	switch {
	case object == nil:
		return nil, false
	case isKind(r, "", "Pod"):
		n = 1
	case isKind(r, "apps", "DaemonSet"):
		if n, ok = number(field(object, "status", "desiredNumberScheduled")); !ok {
			return nil, true
		}
	case !isWorkload(r):
		return nil, false
	case !ok:
		n = 1 // the default of the API
	}
	pods := int64(n)
	return &pods, true
}

// isWorkload reports whether objects of the kind keep pods running.
func isWorkload(r plan.Ref) bool {
	return isKind(r, "apps", "Deployment") || isKind(r, "apps", "StatefulSet") || isKind(r, "apps", "DaemonSet") ||
		isKind(r, "apps", "ReplicaSet") || isKind(r, "", "ReplicationController")
}

func isKind(r plan.Ref, group, kind string) bool {
	return r.Kind == kind && manifest.Group(r.APIVersion) == group
}

// field returns the value at a path, or nil.
func field(object map[string]any, path ...string) any {
	for _, key := range path[:len(path)-1] {
		object, _ = object[key].(map[string]any)
	}
	return object[path[len(path)-1]]
}

func asText(v any) string {
	s, _ := v.(string)
	return s
}

// isEmpty reports whether a value is the same as none.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// shortList joins the first items of a list.
func shortList(list []string) string {
	const enough = 3
	if len(list) > enough+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:enough], ", "), len(list)-enough)
	}
	return strings.Join(list, ", ")
}
