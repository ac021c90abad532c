// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strconv"
	"strings"
)

// legacy is Helm 3's idea of ready, as its documentation and its behaviour have
// it. It differs from kstatus in that rollouts may miss as many pods as they may
// do without (maxUnavailable), load balancers need an address, and custom
// resources are ready when they exist. Unlike Helm 3, what has failed for good
// ends the wait, and a pod that has ended well is ready.
func (r rollout) legacy(t *target, o map[string]any) verdict {
	if v, decided := r.common(t, o); decided {
		return v
	}
	switch {
	case t.is("apps", "Deployment"):
		return legacyDeployment(o)
	case t.is("apps", "StatefulSet"):
		return legacyStatefulSet(o)
	case t.is("apps", "DaemonSet"):
		return legacyDaemonSet(o)
	case t.is("apps", "ReplicaSet"), t.is("", "ReplicationController"):
		return count(integer(o, "status", "readyReplicas"), replicas(o), "pods ready")
	case t.is("batch", "Job"):
		return r.job(t, o)
	case t.is("", "PersistentVolumeClaim"):
		phase := str(o, "status", "phase")
		return verdict{ready: phase == "Bound", missing: "to be bound: it is " + phase}
	case t.is("", "Service"):
		return legacyService(o)
	case t.is("apiextensions.k8s.io", crdKind):
		ok, missing, err := established(t, o)
		if err != nil {
			return verdict{failed: err.(*FailedError).Reason}
		}
		return verdict{ready: ok, missing: missing}
	}
	return verdict{ready: true}
}

// legacyDeployment wants enough of the newest pods ready. A Deployment says how
// many of its pods are ready, not how many of the newest: all old ones count as
// ready, which is what they are while a rollout goes well.
func legacyDeployment(o map[string]any) verdict {
	for _, c := range conditionsOf(o) {
		if c["type"] == "Progressing" && c["reason"] == "ProgressDeadlineExceeded" {
			return verdict{shaky: brief(reason(c)), missing: "rollout over its deadline"}
		}
	}
	want := replicas(o)
	updated := min(integer(o, "status", "updatedReplicas"), want)
	old := max(0, integer(o, "status", "replicas")-updated)
	ready := max(0, min(updated, integer(o, "status", "readyReplicas")-old))
	mayMiss := int64(0)
	if kind := str(o, "spec", "strategy", "type"); kind == "RollingUpdate" || kind == "" {
		few, more := field(o, "spec", "strategy", "rollingUpdate", "maxUnavailable"), field(o, "spec", "strategy", "rollingUpdate", "maxSurge")
		mayMiss = share(few, want, false)
		if few != nil && mayMiss == 0 && share(more, want, true) == 0 {
			mayMiss = 1 // as the controller has it: else nothing could move
		}
	}
	return count(ready, want-mayMiss, "pods ready")
}

func legacyStatefulSet(o map[string]any) verdict {
	if str(o, "spec", "updateStrategy", "type") == "OnDelete" {
		return verdict{ready: true} // new pods come when the old ones are deleted
	}
	want, partition := replicas(o), integer(o, "spec", "updateStrategy", "rollingUpdate", "partition")
	if v := count(integer(o, "status", "updatedReplicas"), want-partition, "pods updated"); !v.ready {
		return v
	}
	if v := count(integer(o, "status", "readyReplicas"), want, "pods ready"); !v.ready {
		return v
	}
	same := str(o, "status", "currentRevision") == str(o, "status", "updateRevision")
	return verdict{ready: partition > 0 || same, missing: "old pods to go"}
}

func legacyDaemonSet(o map[string]any) verdict {
	if kind := str(o, "spec", "updateStrategy", "type"); kind != "RollingUpdate" && kind != "" {
		return verdict{ready: true}
	}
	want := integer(o, "status", "desiredNumberScheduled")
	if v := count(integer(o, "status", "updatedNumberScheduled"), want, "pods updated"); !v.ready {
		return v
	}
	mayMiss := share(field(o, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable"), want, true)
	return count(integer(o, "status", "numberReady"), want-mayMiss, "pods ready")
}

func legacyService(o map[string]any) verdict {
	switch kind := str(o, "spec", "type"); {
	case kind == "ExternalName":
		return verdict{ready: true}
	case str(o, "spec", "clusterIP") == "":
		return verdict{missing: "to get a cluster address"}
	case kind == "LoadBalancer":
		given, _ := field(o, "spec", "externalIPs").([]any)
		got, _ := field(o, "status", "loadBalancer", "ingress").([]any)
		return verdict{ready: len(given)+len(got) > 0, missing: "to get the load balancer's address"}
	}
	return verdict{ready: true}
}

// share is a number of pods, or a percentage of all.
func share(v any, all int64, up bool) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		percent, err := strconv.ParseInt(strings.TrimSuffix(v, "%"), 10, 64)
		if err != nil {
			return 0
		}
		if up {
			return (all*percent + 99) / 100
		}
		return all * percent / 100
	}
	return 0
}
