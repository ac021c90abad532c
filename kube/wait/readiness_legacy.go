// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// legacy applies Helm 3's documented and observed readiness rules (see docs/adr/0024). They differ from kstatus
// in that maxUnavailable pods of a rollout may be missing, load balancers need an address,
// and custom resources are ready when they exist. Unlike in Helm 3, a permanent failure ends
// the wait, and a pod that has succeeded is ready.
func (r rollout) legacy(t *api.Target, o map[string]any) verdict {
	if v, decided := r.common(t, o); decided {
		return v
	}
	switch {
	case t.Is("apps", "Deployment"):
		return legacyDeployment(o)
	case t.Is("apps", "StatefulSet"):
		return legacyStatefulSet(o)
	case t.Is("apps", "DaemonSet"):
		return legacyDaemonSet(o)
	case t.Is("apps", "ReplicaSet"), t.Is("", "ReplicationController"):
		return count(api.Int(o, "status", "readyReplicas"), api.Replicas(o), "pods ready")
	case t.Is("batch", "Job"):
		return r.job(t, o)
	case t.Is("", "PersistentVolumeClaim"):
		return claimStatus(o)
	case t.Is("", "Service"):
		return legacyService(o)
	case t.Is("apiextensions.k8s.io", api.CRDKind):
		ok, missing, err := isEstablished(t, o)
		if err != nil {
			return verdict{failed: err.(*FailedError).Reason}
		}
		return verdict{ready: ok, missing: missing}
	}
	return verdict{ready: true}
}

// legacyDeployment requires that all pods of the latest revision but maxUnavailable are ready.
// The status does not count ready pods by revision, so every pod of an older revision is
// taken for ready and subtracted from readyReplicas.
func legacyDeployment(o map[string]any) verdict {
	if v, over := overDeadline(o); over {
		return v
	}
	want := api.Replicas(o)
	updated := min(api.Int(o, "status", "updatedReplicas"), want)
	old := max(0, api.Int(o, "status", "replicas")-updated)
	ready := max(0, min(updated, api.Int(o, "status", "readyReplicas")-old))
	maxUnavailable := int64(0)
	if s := api.String(o, "spec", "strategy", "type"); s == "RollingUpdate" || s == "" {
		given := api.Field(o, "spec", "strategy", "rollingUpdate", "maxUnavailable")
		surge := scaledValue(api.Field(o, "spec", "strategy", "rollingUpdate", "maxSurge"), want, true)
		maxUnavailable = scaledValue(given, want, false)
		if given != nil && maxUnavailable == 0 && surge == 0 {
			maxUnavailable = 1 // as the controller does, because otherwise it could not replace any pod
		}
	}
	return count(ready, want-maxUnavailable, "pods ready")
}

func legacyStatefulSet(o map[string]any) verdict {
	if api.String(o, "spec", "updateStrategy", "type") == "OnDelete" {
		return verdict{ready: true} // new pods come when the old ones are deleted
	}
	want, partition := api.Replicas(o), api.Int(o, "spec", "updateStrategy", "rollingUpdate", "partition")
	if v := count(api.Int(o, "status", "updatedReplicas"), want-partition, "pods updated"); !v.ready {
		return v
	}
	if v := count(api.Int(o, "status", "readyReplicas"), want, "pods ready"); !v.ready {
		return v
	}
	same := api.String(o, "status", "currentRevision") == api.String(o, "status", "updateRevision")
	return verdict{ready: partition > 0 || same, missing: "old pods to go"}
}

func legacyDaemonSet(o map[string]any) verdict {
	if s := api.String(o, "spec", "updateStrategy", "type"); s != "RollingUpdate" && s != "" {
		return verdict{ready: true} // OnDelete: the controller waits for the old pods' deletion
	}
	want := api.Int(o, "status", "desiredNumberScheduled")
	if v := count(api.Int(o, "status", "updatedNumberScheduled"), want, "pods updated"); !v.ready {
		return v
	}
	maxUnavailable := scaledValue(api.Field(o, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable"), want, true)
	return count(api.Int(o, "status", "numberReady"), want-maxUnavailable, "pods ready")
}

func legacyService(o map[string]any) verdict {
	switch serviceType := api.String(o, "spec", "type"); {
	case serviceType == "ExternalName":
		return verdict{ready: true}
	case api.String(o, "spec", "clusterIP") == "":
		return verdict{missing: "to get a cluster address"}
	case serviceType == "LoadBalancer":
		external, _ := api.Field(o, "spec", "externalIPs").([]any)
		ingress, _ := api.Field(o, "status", "loadBalancer", "ingress").([]any)
		return verdict{ready: len(external)+len(ingress) > 0, missing: "to get the load balancer's address"}
	}
	return verdict{ready: true}
}

// scaledValue returns v, a number of pods or a percentage of all. It rounds a percentage up if
// up is set, and returns 0 for other values.
func scaledValue(v any, all int64, up bool) int64 {
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
