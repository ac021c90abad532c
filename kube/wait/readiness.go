// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// rollout contains the readiness rules for objects of a release.
type rollout struct {
	jobs    bool          // jobs must have completed
	silence time.Duration // see [Grace]
	begun   time.Time
}

// evaluate returns the result of [status] with these differences from kstatus: of pods it checks
// more than the phase, a workload or Ready condition of an older generation counts as not
// observed, and paused or suspended workloads are ready.
func (r rollout) evaluate(t *api.Target, o map[string]any) verdict {
	if v, decided := r.common(t, o); decided {
		return v
	}
	switch {
	case t.Is("", "ReplicationController"):
		return count(api.Int(o, "status", "readyReplicas"), api.Replicas(o), "pods ready")
	case t.Is("batch", "Job"):
		return r.job(t, o)
	case r.isUnobserved(t, o):
		return verdict{missing: notObserved, again: r.silence}
	}
	return status(t, o)
}

const notObserved = "its controller has not seen the change yet"

// common applies the rules that both strategies share.
func (r rollout) common(t *api.Target, o map[string]any) (v verdict, decided bool) {
	switch {
	case api.String(o, "metadata", "deletionTimestamp") != "":
		return verdict{missing: "is being deleted"}, true
	case isStale(t, o):
		return verdict{missing: notObserved}, true
	case t.Is("apps", "Deployment") && api.Bool(o, "spec", "paused"):
		return verdict{ready: true}, true
	case t.Is("batch", "Job") && api.Bool(o, "spec", "suspend"):
		return verdict{ready: true}, true
	case t.IsPod():
		return podReady(o), true
	}
	return verdict{}, false
}

// isStale reports whether the status is of an older generation of the object.
func isStale(t *api.Target, o map[string]any) bool {
	generation := api.Int(o, "metadata", "generation")
	if generation == 0 {
		return false
	}
	if observed, ok := api.Field(o, "status", "observedGeneration").(int64); ok {
		return observed != generation
	}
	if t.Group() == "apps" && t.HasPods() || t.Is("", "ReplicationController") || t.Is("policy", "PodDisruptionBudget") {
		return true // the controllers of these kinds always set observedGeneration
	}
	for _, c := range api.ConditionsOf(o) {
		if observed, ok := c["observedGeneration"].(int64); ok && c["type"] == "Ready" && observed < generation {
			return true
		}
	}
	return false
}

// isUnobserved reports whether o is a custom resource so new that its controller may not have
// observed it. It is true only for a short time, because the resource may have no controller.
func (r rollout) isUnobserved(t *api.Target, o map[string]any) bool {
	if isBuiltIn(t.Group()) || api.Field(o, "status") != nil || time.Since(r.begun) > r.silence {
		return false
	}
	created, err := time.Parse(time.RFC3339, api.String(o, "metadata", "creationTimestamp"))
	return err == nil && time.Since(created) < time.Minute
}

// isBuiltIn reports whether a group is one of Kubernetes' own. The suffix .k8s.io is not enough,
// because other projects use it too.
func isBuiltIn(group string) bool {
	switch strings.TrimSuffix(group, ".k8s.io") {
	case "", "apps", "batch", "autoscaling", "policy", "extensions", "networking", "rbac.authorization", "storage",
		"scheduling", "node", "certificates", "coordination", "discovery", "events", "resource", "authentication",
		"authorization", "admissionregistration", "apiextensions", "apiregistration", "flowcontrol.apiserver",
		"storagemigration":
		return true
	}
	return false
}

func (r rollout) job(t *api.Target, o map[string]any) verdict {
	ok, missing, err := isFinished(t, o)
	switch failed, _ := err.(*FailedError); {
	case failed != nil:
		return verdict{failed: failed.Reason}
	case ok, !r.jobs && api.String(o, "status", "startTime") != "":
		return verdict{ready: true}
	}
	return verdict{missing: missing}
}

// podReady requires a pod to be ready or to have succeeded.
func podReady(o map[string]any) verdict {
	switch phase := api.String(o, "status", "phase"); phase {
	case "Succeeded":
		return verdict{ready: true}
	case "Failed":
		return verdict{failed: podFailure(o)}
	case "Running":
		for _, c := range api.ConditionsOf(o) {
			if c["type"] == "Ready" && c["status"] == "True" {
				return verdict{ready: true}
			}
		}
		return verdict{missing: "running, not ready"}
	case "":
		return verdict{missing: "to be scheduled"}
	default:
		return verdict{missing: strings.ToLower(phase)}
	}
}

func podFailure(o map[string]any) string {
	state, _ := o["status"].(map[string]any)
	if why := api.Reason(state); why != "" {
		return why
	}
	return "its containers ended with an error"
}

// shortLine returns the first line of s, truncated to 160 characters.
func shortLine(s string) string { return truncate.Line(s, 160, "…") }

func isEstablished(t *api.Target, o map[string]any) (bool, string, error) {
	state, _ := o["status"].(map[string]any)
	for _, c := range api.Conditions(state) {
		switch {
		case c["type"] == "Established" && c["status"] == "True":
			return true, "", nil
		case c["type"] == "NamesAccepted" && c["status"] == "False":
			return false, "", &FailedError{Object: t.String(), Reason: api.Reason(c)}
		}
	}
	return false, "to be established", nil
}
