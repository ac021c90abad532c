// SPDX-License-Identifier: Apache-2.0

package kube

import "strings"

// field is the value at a path of maps, nil where there is none.
func field(o map[string]any, path ...string) any {
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

func str(o map[string]any, path ...string) string { s, _ := field(o, path...).(string); return s }

func flag(o map[string]any, path ...string) bool { b, _ := field(o, path...).(bool); return b }

func integer(o map[string]any, path ...string) int64 { n, _ := field(o, path...).(int64); return n }

// replicas is how many pods o shall have; the API's default is one.
func replicas(o map[string]any) int64 {
	if n, ok := field(o, "spec", "replicas").(int64); ok {
		return n
	}
	return 1
}

// conditionsOf are the conditions in the status of o.
func conditionsOf(o map[string]any) []map[string]any {
	state, _ := o["status"].(map[string]any)
	return conditions(state)
}

func conditions(state map[string]any) []map[string]any {
	list, _ := state["conditions"].([]any)
	var out []map[string]any
	for _, c := range list {
		if m, ok := c.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// reason joins the reason and the message of a condition or status.
func reason(m map[string]any) string {
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

// group is the API group of the target's kind, "" for the core's.
func (t *target) group() string {
	group, _, ok := strings.Cut(t.res.apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}

func (t *target) is(group, kind string) bool { return t.kind == kind && t.group() == group }

func (t *target) isPod() bool { return t.is("", "Pod") }

// makesPods reports whether the target's kind is one whose controller makes pods.
func (t *target) makesPods() bool {
	switch t.kind {
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet":
		return t.group() == "apps"
	case "Job":
		return t.group() == "batch"
	case "ReplicationController":
		return t.group() == ""
	}
	return false
}

const (
	crdGroup = "apiextensions.k8s.io"
	crdKind  = "CustomResourceDefinition"
)
