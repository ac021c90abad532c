// SPDX-License-Identifier: Apache-2.0

package api

import "github.com/moonhelm/moonhelm/manifest"

// Field returns the value at a path of maps, or nil if there is none.
func Field(o map[string]any, path ...string) any {
	var v any = o
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// String returns the string at a path, or "" if there is none.
func String(o map[string]any, path ...string) string { s, _ := Field(o, path...).(string); return s }

// Bool returns the boolean at a path, or false if there is none.
func Bool(o map[string]any, path ...string) bool { b, _ := Field(o, path...).(bool); return b }

// Int returns the integer at a path, or 0 if there is none.
func Int(o map[string]any, path ...string) int64 { n, _ := Field(o, path...).(int64); return n }

// Replicas returns spec.replicas of o; the API's default is one.
func Replicas(o map[string]any) int64 {
	if n, ok := Field(o, "spec", "replicas").(int64); ok {
		return n
	}
	return 1
}

// ConditionsOf returns the conditions in the status of o.
func ConditionsOf(o map[string]any) []map[string]any {
	state, _ := o["status"].(map[string]any)
	return Conditions(state)
}

// Conditions returns the conditions in a status.
func Conditions(state map[string]any) []map[string]any {
	list, _ := state["conditions"].([]any)
	var out []map[string]any
	for _, c := range list {
		if m, ok := c.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// Reason joins the reason and the message of a condition or status.
func Reason(m map[string]any) string {
	why, _ := m["reason"].(string)
	message, _ := m["message"].(string)
	switch {
	case why == "":
		return message
	case message == "":
		return why
	}
	return why + ": " + message
}

// Group returns the API group of the target's kind, "" for the core group.
func (t *Target) Group() string { return manifest.Group(t.Resource.APIVersion) }

// Is reports whether the target is of the given group and kind.
func (t *Target) Is(group, kind string) bool { return t.Kind == kind && t.Group() == group }

// IsPod reports whether the target is a pod.
func (t *Target) IsPod() bool { return t.Is("", "Pod") }

// HasPods reports whether the target's kind is a workload whose controller creates pods.
func (t *Target) HasPods() bool {
	switch t.Kind {
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet":
		return t.Group() == "apps"
	case "Job":
		return t.Group() == "batch"
	case "ReplicationController":
		return t.Group() == ""
	}
	return false
}

// The group and kind of CRDs.
const (
	CRDGroup = "apiextensions.k8s.io"
	CRDKind  = "CustomResourceDefinition"
)
