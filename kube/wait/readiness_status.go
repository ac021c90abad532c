// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"fmt"
	"math"

	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// status determines from the status of o whether it is ready, by the rules of kstatus, which
// Helm and other tools use:
//
//   - A condition Reconciling or Stalled that is true decides, whatever the kind.
//   - Built-in kinds with a status of their own have a rule each.
//   - Any other object is ready if its condition Ready is true or missing.
//
// Jobs and Pods have stricter rules of their own, and [rollout.common] has compared the
// generations before.
func status(t *api.Target, o map[string]any) verdict {
	if v, decided := standard(o); decided {
		return v
	}
	switch {
	case t.Is("apps", "Deployment"):
		return deploymentStatus(o)
	case t.Is("apps", "StatefulSet"):
		return statefulSetStatus(o)
	case t.Is("apps", "DaemonSet"):
		return daemonSetStatus(o)
	case t.Is("apps", "ReplicaSet"):
		return replicaSetStatus(o)
	case t.Is("", "PersistentVolumeClaim"):
		return claimStatus(o)
	case t.Is("", "Service"):
		return serviceStatus(o)
	case t.Is(api.CRDGroup, api.CRDKind):
		return definitionStatus(o)
	}
	return readyCondition(o)
}

// standard evaluates the conditions that a controller of any kind may set while it is working
// and when it has given up: https://github.com/kubernetes-sigs/cli-utils, pkg/kstatus.
func standard(o map[string]any) (v verdict, decided bool) {
	for _, c := range api.ConditionsOf(o) {
		switch {
		case c["status"] != "True":
		case c["type"] == "Reconciling":
			// The condition Ready says more about what is not ready yet.
			if v := readyCondition(o); !v.ready {
				return v, true
			}
			return verdict{missing: reasonOr(c, "its controller is at work")}, true
		case c["type"] == "Stalled":
			why := reasonOr(c, "its controller has given up")
			return verdict{shaky: why, missing: why}, true
		}
	}
	return verdict{}, false
}

func readyCondition(o map[string]any) verdict {
	c := condition(o, "Ready")
	switch c["status"] {
	case "False", "Unknown":
		return verdict{missing: reasonOr(c, "its condition Ready is not true")}
	}
	return verdict{ready: true}
}

// deploymentStatus requires a complete rollout, as the Deployment controller reports it: all
// pods are of the latest revision and available.
func deploymentStatus(o map[string]any) verdict {
	if v, over := overDeadline(o); over {
		return v
	}
	want, all, updated := api.Replicas(o), api.Int(o, "status", "replicas"), api.Int(o, "status", "updatedReplicas")
	return firstMissing(
		count(all, want, "pods created"),
		count(updated, want, "pods updated"),
		noOldPods(all-want),
		count(api.Int(o, "status", "availableReplicas"), updated, "pods available"),
		count(api.Int(o, "status", "readyReplicas"), want, "pods ready"),
		reported(rolledOut(o), "the rollout complete"),
		reported(condition(o, "Available")["status"] == "True", "it available"),
	)
}

// overDeadline reports whether a Deployment has made no progress for as long as its
// progressDeadlineSeconds.
func overDeadline(o map[string]any) (verdict, bool) {
	c := condition(o, "Progressing")
	if c["reason"] != "ProgressDeadlineExceeded" {
		return verdict{}, false
	}
	return verdict{shaky: shortLine(api.Reason(c)), missing: "rollout over its deadline"}, true
}

// rolledOut reports whether the controller has reported the rollout of the latest ReplicaSet as
// complete.
func rolledOut(o map[string]any) bool {
	// Without a deadline the controller does not report progress.
	if n := api.Int(o, "spec", "progressDeadlineSeconds"); n == 0 || n == math.MaxInt32 {
		return true
	}
	c := condition(o, "Progressing")
	return c["status"] == "True" && c["reason"] == "NewReplicaSetAvailable"
}

// statefulSetStatus requires all pods to be ready and, from the partition on, updated.
func statefulSetStatus(o map[string]any) verdict {
	if api.String(o, "spec", "updateStrategy", "type") == "OnDelete" {
		return verdict{ready: true} // new pods come when the old ones are deleted
	}
	want, all := api.Replicas(o), api.Int(o, "status", "replicas")
	there := firstMissing(
		count(all, want, "pods created"),
		count(api.Int(o, "status", "readyReplicas"), want, "pods ready"),
		noOldPods(all-want),
	)
	switch partition, ok := api.Field(o, "spec", "updateStrategy", "rollingUpdate", "partition").(int64); {
	case !there.ready:
		return there
	case ok: // the API's default is 0
		return count(api.Int(o, "status", "updatedReplicas"), want-partition, "pods updated")
	}
	same := api.String(o, "status", "currentRevision") == api.String(o, "status", "updateRevision")
	return firstMissing(
		count(api.Int(o, "status", "currentReplicas"), want, "pods updated"),
		reported(same, "the rollout complete"),
	)
}

// daemonSetStatus requires an updated and available pod on each scheduled node.
func daemonSetStatus(o map[string]any) verdict {
	want, ok := api.Field(o, "status", "desiredNumberScheduled").(int64)
	if !ok {
		return verdict{missing: notObserved}
	}
	return firstMissing(
		count(api.Int(o, "status", "currentNumberScheduled"), want, "pods created"),
		count(api.Int(o, "status", "updatedNumberScheduled"), want, "pods updated"),
		count(api.Int(o, "status", "numberAvailable"), want, "pods available"),
		count(api.Int(o, "status", "numberReady"), want, "pods ready"),
	)
}

func replicaSetStatus(o map[string]any) verdict {
	if c := condition(o, "ReplicaFailure"); c["status"] == "True" {
		return verdict{missing: reasonOr(c, "its pods cannot be created")}
	}
	want := api.Replicas(o)
	return firstMissing(
		count(api.Int(o, "status", "fullyLabeledReplicas"), want, "pods created"),
		count(api.Int(o, "status", "availableReplicas"), want, "pods available"),
		count(api.Int(o, "status", "readyReplicas"), want, "pods ready"),
		noOldPods(api.Int(o, "status", "replicas")-want),
	)
}

func claimStatus(o map[string]any) verdict {
	switch phase := api.String(o, "status", "phase"); phase {
	case "Bound":
		return verdict{ready: true}
	case "":
		return verdict{missing: "not bound yet"}
	default:
		return verdict{missing: "not bound yet: it is " + phase}
	}
}

// serviceStatus requires a load balancer to have a cluster IP. It does not require an external
// address, because some clusters assign none.
func serviceStatus(o map[string]any) verdict {
	if api.String(o, "spec", "type") == "LoadBalancer" && api.String(o, "spec", "clusterIP") == "" {
		return verdict{missing: "to get a cluster address"}
	}
	return verdict{ready: true}
}

// definitionStatus requires a CRD to be established. A conflict of names may be temporary.
func definitionStatus(o map[string]any) verdict {
	for _, c := range api.ConditionsOf(o) {
		switch {
		case c["type"] == "Established" && c["status"] == "True":
			return verdict{ready: true}
		case c["type"] == "NamesAccepted" && c["status"] == "False",
			c["type"] == "Established" && c["status"] == "False" && c["reason"] != "Installing":
			return verdict{shaky: reasonOr(c, "its names are not accepted"), missing: "to be established"}
		}
	}
	return verdict{missing: "to be established"}
}

// condition returns the condition of o with the given type, or nil.
func condition(o map[string]any, kind string) map[string]any {
	for _, c := range api.ConditionsOf(o) {
		if c["type"] == kind {
			return c
		}
	}
	return nil
}

// reasonOr returns the reason and message of a condition, or other if it has none.
func reasonOr(c map[string]any, other string) string {
	if why := shortLine(api.Reason(c)); why != "" {
		return why
	}
	return other
}

// firstMissing returns the first verdict that is not ready, or a ready one.
func firstMissing(all ...verdict) verdict {
	for _, v := range all {
		if !v.ready {
			return v
		}
	}
	return verdict{ready: true}
}

// count returns a verdict that is ready if have is at least want.
func count(have, want int64, of string) verdict {
	return verdict{ready: have >= want, missing: fmt.Sprintf("%d of %d %s", have, want, of)}
}

// noOldPods returns a verdict that is ready if old is 0.
func noOldPods(old int64) verdict {
	if old == 1 {
		return verdict{missing: "1 old pod to go"}
	}
	return verdict{ready: old <= 0, missing: fmt.Sprintf("%d old pods to go", old)}
}

// reported returns a verdict that is ready if ok: a controller updates the conditions after the
// counts.
func reported(ok bool, what string) verdict {
	return verdict{ready: ok, missing: "its controller has not reported " + what + " yet"}
}
