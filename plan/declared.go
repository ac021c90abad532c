// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/release"
)

// lastAppliedAnnotation is the annotation in which "kubectl apply" keeps the manifest.
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// Declared returns the manifest of a live object: what of it a user may have written, with the
// values that the object has now. It leaves out the status, what the server and its controllers
// have set, ownership metadata, and the fields of built-in kinds that have the server's default,
// unless the object was made with "kubectl apply" from a manifest that has them. removed are the
// paths of the fields that are left out, sorted, with [] for the items of lists.
func Declared(live map[string]any) (object map[string]any, removed []string) {
	d := declaring{object: cloneTree(live).(map[string]any), seen: map[string]bool{}}
	d.readLastApplied()
	for _, path := range serverFields() {
		d.drop(path, nil)
	}
	d.cleanMetadata()
	kind, _ := live["kind"].(string)
	if builtIn(live) {
		for _, path := range serverFieldsOf(kind) {
			d.drop(path, nil)
		}
		d.dropDefaults(kind)
	}
	for path := range d.seen {
		removed = append(removed, path)
	}
	slices.Sort(removed)
	return d.object, removed
}

// withoutDefaults returns a live object of a built-in kind without the fields that have the server's
// default, and those that the server chooses once and for all. The node ports of a Service stay:
// a client may choose others.
func withoutDefaults(live map[string]any) map[string]any {
	d := declaring{object: cloneTree(live).(map[string]any), seen: map[string]bool{}}
	kind, _ := live["kind"].(string)
	switch kind {
	case "Service":
		d.drop("spec.clusterIPs", nil)
		d.drop("spec.ipFamilies", nil)
	case "PersistentVolumeClaim", "StatefulSet", "Job":
		for _, path := range serverFieldsOf(kind) {
			d.drop(path, nil)
		}
	}
	d.dropDefaults(kind)
	return d.object
}

// declaring is one call of [Declared].
type declaring struct {
	object  map[string]any
	applied map[string]any // the manifest of "kubectl apply", or nil
	seen    map[string]bool
}

func (d *declaring) readLastApplied() {
	annotations, _ := metadata(d.object)["annotations"].(map[string]any)
	text, _ := annotations[lastAppliedAnnotation].(string)
	var applied map[string]any
	if text != "" && json.Unmarshal([]byte(text), &applied) == nil {
		d.applied = applied
	}
}

// cloneTree returns a deep copy of a decoded value.
func cloneTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = cloneTree(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneTree(e)
		}
		return out
	}
	return v
}

// serverFields are the fields that the server sets on every object.
func serverFields() []string {
	return []string{
		"status", "metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp",
		"metadata.managedFields", "metadata.selfLink", "metadata.ownerReferences", "metadata.deletionTimestamp",
		"metadata.deletionGracePeriodSeconds", "metadata.generateName",
		"spec.template.metadata.creationTimestamp", "spec.jobTemplate.metadata.creationTimestamp",
		"spec.jobTemplate.spec.template.metadata.creationTimestamp",
	}
}

// serverFieldsOf returns the fields that the server or a controller sets on objects of a built-in
// kind.
func serverFieldsOf(kind string) []string {
	switch kind {
	case "Service":
		return []string{"spec.clusterIPs", "spec.ipFamilies", "spec.healthCheckNodePort", "spec.ports[].nodePort"}
	case "PersistentVolumeClaim":
		return []string{"spec.volumeName", "spec.storageClassName"}
	case "PersistentVolume":
		return []string{"spec.claimRef"}
	case "ServiceAccount":
		return []string{"secrets"}
	case "Namespace":
		return []string{"spec"}
	case "Pod":
		return []string{"spec.nodeName", "spec.priority", "spec.tolerations"}
	case "StatefulSet":
		return []string{"spec.volumeClaimTemplates[].status", "spec.volumeClaimTemplates[].metadata.creationTimestamp",
			"spec.volumeClaimTemplates[].apiVersion", "spec.volumeClaimTemplates[].kind"}
	case "Job":
		return []string{"spec.selector", "spec.template.metadata.labels.controller-uid",
			"spec.template.metadata.labels.job-name", "spec.template.metadata.labels[batch.kubernetes.io/controller-uid]",
			"spec.template.metadata.labels[batch.kubernetes.io/job-name]"}
	}
	return nil
}

// isServerKey reports whether a label, an annotation or a finalizer is set by the server, a
// controller or a client that records what it did.
func isServerKey(key string) bool {
	switch key {
	case release.ManagedByLabel, release.NameAnnotation, release.NamespaceAnnotation,
		release.HookOfAnnotation, lastAppliedAnnotation, "deployment.kubernetes.io/revision",
		"deprecated.daemonset.template.generation", "control-plane.alpha.kubernetes.io/leader",
		"endpoints.kubernetes.io/last-change-trigger-time", "kubernetes.io/metadata.name":
		return true
	}
	return strings.HasPrefix(key, "pv.kubernetes.io/") || strings.HasPrefix(key, "volume.kubernetes.io/") ||
		strings.HasPrefix(key, "volume.beta.kubernetes.io/storage-prov")
}

func (d *declaring) cleanMetadata() {
	meta := metadata(d.object)
	for _, field := range []string{"labels", "annotations"} {
		m, _ := meta[field].(map[string]any)
		for key := range m {
			if isServerKey(key) {
				delete(m, key)
				d.seen[FieldPath("metadata."+field, key)] = true
			}
		}
		if m != nil && len(m) == 0 {
			delete(meta, field)
		}
	}
	finalizers, listed := meta["finalizers"].([]any)
	finalizers = slices.DeleteFunc(finalizers, func(f any) bool {
		name, _ := f.(string)
		return strings.HasPrefix(name, "kubernetes.io/") || strings.HasPrefix(name, "foreground") || name == "orphan"
	})
	if !listed {
		return
	}
	if len(finalizers) == 0 {
		delete(meta, "finalizers")
		d.seen["metadata.finalizers"] = true
	} else {
		meta["finalizers"] = finalizers
	}
}

// drop removes the fields at path whose value isDefault, unless the user has applied them. A nil
// isDefault removes any.
func (d *declaring) drop(path string, isDefault func(v any, parent map[string]any) bool) {
	keys := declaredKeys(path)
	if d.applied != nil && has(d.applied, keys) && isDeclarable(path) {
		return
	}
	if dropAt(d.object, keys, isDefault) {
		d.seen[path] = true
	}
}

// isDeclarable reports whether a manifest can set a field: the server ignores the others.
func isDeclarable(path string) bool {
	return !slices.Contains(serverFields(), path) && !strings.HasSuffix(path, ".status")
}

// declaredKeys splits a path into keys; "[]" stands for every item of a list, and "[key]" for a key
// with dots.
func declaredKeys(path string) []string {
	var keys []string
	for path != "" {
		switch {
		case path[0] == '.':
			path = path[1:]
		case path[0] == '[':
			end := strings.IndexByte(path, ']')
			if key := path[1:end]; key == "" {
				keys = append(keys, "[]")
			} else {
				keys = append(keys, key)
			}
			path = path[end+1:]
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			keys = append(keys, path[:end])
			path = path[end:]
		}
	}
	return keys
}

func has(v any, keys []string) bool {
	if len(keys) == 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		e, ok := v[keys[0]]
		return ok && has(e, keys[1:])
	case []any:
		return keys[0] == "[]" && slices.ContainsFunc(v, func(e any) bool { return has(e, keys[1:]) })
	}
	return false
}

func dropAt(v any, keys []string, isDefault func(v any, parent map[string]any) bool) bool {
	switch v := v.(type) {
	case []any:
		if keys[0] != "[]" || len(keys) == 1 {
			return false
		}
		dropped := false
		for _, e := range v {
			dropped = dropAt(e, keys[1:], isDefault) || dropped
		}
		return dropped
	case map[string]any:
		e, ok := v[keys[0]]
		if !ok {
			return false
		}
		if len(keys) > 1 {
			return dropAt(e, keys[1:], isDefault)
		}
		if isDefault != nil && !isDefault(e, v) {
			return false
		}
		delete(v, keys[0])
		return true
	}
	return false
}

// sameDefault reports whether two decoded values are equal, integers whatever their type.
func sameDefault(a, b any) bool { return reflect.DeepEqual(a, b) || equal(a, b) }

// is returns a test for a value.
func is(want any) func(any, map[string]any) bool {
	return func(v any, _ map[string]any) bool { return sameDefault(v, want) }
}

// equals returns a test for the value of another field of the same map.
func equals(key string) func(any, map[string]any) bool {
	return func(v any, parent map[string]any) bool { return sameDefault(v, parent[key]) }
}

// dropDefaults removes the fields of a built-in kind that have the server's default.
func (d *declaring) dropDefaults(kind string) {
	for _, f := range defaultsOf(kind) {
		d.drop(f.path, f.isDefault)
	}
	switch kind {
	case "Pod":
		d.dropPodDefaults("spec.")
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job":
		d.dropPodDefaults("spec.template.spec.")
	case "CronJob":
		d.dropPodDefaults("spec.jobTemplate.spec.template.spec.")
	}
}

// defaultField is a field with the test for the server's default.
type defaultField struct {
	path      string
	isDefault func(v any, parent map[string]any) bool
}

// defaultsOf returns the defaults of a built-in kind apart from those of its pods.
func defaultsOf(kind string) []defaultField {
	type tree = map[string]any
	history := defaultField{"spec.revisionHistoryLimit", is(int64(10))}
	switch kind {
	case "Deployment":
		rolling := tree{"type": "RollingUpdate", "rollingUpdate": tree{"maxSurge": "25%", "maxUnavailable": "25%"}}
		return []defaultField{history, {"spec.progressDeadlineSeconds", is(int64(600))}, {"spec.strategy", is(rolling)}}
	case "StatefulSet":
		rolling := tree{"type": "RollingUpdate", "rollingUpdate": tree{"partition": int64(0)}}
		retain := tree{"whenDeleted": "Retain", "whenScaled": "Retain"}
		return []defaultField{history, {"spec.podManagementPolicy", is("OrderedReady")}, {"spec.updateStrategy", is(rolling)},
			{"spec.persistentVolumeClaimRetentionPolicy", is(retain)},
			{"spec.volumeClaimTemplates[].spec.volumeMode", is("Filesystem")}}
	case "DaemonSet":
		rolling := tree{"type": "RollingUpdate", "rollingUpdate": tree{"maxSurge": int64(0), "maxUnavailable": int64(1)}}
		return []defaultField{history, {"spec.updateStrategy", is(rolling)}}
	case "Job":
		return jobDefaults("spec.")
	case "CronJob":
		return append(jobDefaults("spec.jobTemplate.spec."), defaultField{"spec.concurrencyPolicy", is("Allow")},
			defaultField{"spec.suspend", is(false)}, defaultField{"spec.successfulJobsHistoryLimit", is(int64(3))},
			defaultField{"spec.failedJobsHistoryLimit", is(int64(1))})
	case "Service":
		assigned := func(v any, _ map[string]any) bool { return v != "None" }
		return []defaultField{{"spec.clusterIP", assigned}, {"spec.ipFamilyPolicy", is("SingleStack")},
			{"spec.internalTrafficPolicy", is("Cluster")}, {"spec.sessionAffinity", is("None")}, {"spec.type", is("ClusterIP")},
			{"spec.externalTrafficPolicy", is("Cluster")}, {"spec.allocateLoadBalancerNodePorts", is(true)},
			{"spec.ports[].protocol", is("TCP")}, {"spec.ports[].targetPort", equals("port")}}
	case "PersistentVolumeClaim", "PersistentVolume":
		return []defaultField{{"spec.volumeMode", is("Filesystem")}}
	}
	return nil
}

func jobDefaults(at string) []defaultField {
	return []defaultField{{at + "backoffLimit", is(int64(6))}, {at + "completionMode", is("NonIndexed")},
		{at + "suspend", is(false)}, {at + "manualSelector", is(false)},
		{at + "podReplacementPolicy", is("TerminatingOrFailed")}, {at + "completions", is(int64(1))},
		{at + "parallelism", is(int64(1))}}
}

// dropPodDefaults removes the defaults of the pods whose spec is at a path, which ends in a dot.
func (d *declaring) dropPodDefaults(at string) {
	for _, f := range []defaultField{
		{"restartPolicy", is("Always")}, {"dnsPolicy", is("ClusterFirst")}, {"schedulerName", is("default-scheduler")},
		{"terminationGracePeriodSeconds", is(int64(30))}, {"securityContext", is(map[string]any{})},
		{"enableServiceLinks", is(true)}, {"preemptionPolicy", is("PreemptLowerPriority")},
		{"serviceAccount", equals("serviceAccountName")},
	} {
		d.drop(at+f.path, f.isDefault)
	}
	for _, volume := range []string{"configMap", "secret", "projected", "downwardAPI"} {
		d.drop(at+"volumes[]."+volume+".defaultMode", is(int64(420)))
	}
	d.drop(at+"volumes[].hostPath.type", is(""))
	for _, list := range []string{"containers[].", "initContainers[]."} {
		for _, f := range containerDefaults() {
			d.drop(at+list+f.path, f.isDefault)
		}
	}
}

func containerDefaults() []defaultField {
	out := []defaultField{
		{"imagePullPolicy", isDefaultPull}, {"terminationMessagePath", is("/dev/termination-log")},
		{"terminationMessagePolicy", is("File")}, {"resources", is(map[string]any{})}, {"ports[].protocol", is("TCP")},
		{"env[].valueFrom.fieldRef.apiVersion", is("v1")},
	}
	for _, probe := range []string{"livenessProbe.", "readinessProbe.", "startupProbe."} {
		out = append(out, defaultField{probe + "timeoutSeconds", is(int64(1))},
			defaultField{probe + "periodSeconds", is(int64(10))}, defaultField{probe + "successThreshold", is(int64(1))},
			defaultField{probe + "failureThreshold", is(int64(3))}, defaultField{probe + "httpGet.scheme", is("HTTP")})
	}
	return out
}

// isDefaultPull reports whether a container's pull policy is the default for its image.
func isDefaultPull(v any, container map[string]any) bool {
	image, _ := container["image"].(string)
	name := image[strings.LastIndexByte(image, '/')+1:]
	_, tag, tagged := strings.Cut(name, ":")
	if strings.Contains(name, "@") || tagged && tag != "latest" {
		return v == "IfNotPresent"
	}
	return v == "Always"
}
