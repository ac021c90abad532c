// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"
)

// oldAPI is a deprecated API of Kubernetes 1.x. The versions are from the Kubernetes
// deprecation guide and the lifecycle markers of the API types (k8s.io/api 0.37).
type oldAPI struct {
	apiVersion string
	kinds      string // separated by blanks
	deprecated int    // minor version
	removed    int    // minor version, or 0 if not planned
	// replacement is the apiVersion to use, followed by the kind if it is different.
	replacement string
	// warned is set if Helm warns of it. For other APIs lint reports an Info.
	warned bool
}

// oldAPIs are the deprecated APIs. A kind includes its list kind.
var oldAPIs = [...]oldAPI{
	{"admissionregistration.k8s.io/v1alpha1",
		"MutatingAdmissionPolicy MutatingAdmissionPolicyBinding", 35, 38, "admissionregistration.k8s.io/v1", true},
	{"admissionregistration.k8s.io/v1alpha1",
		"ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding", 29, 32, "admissionregistration.k8s.io/v1", true},
	{"admissionregistration.k8s.io/v1beta1",
		"MutatingAdmissionPolicy MutatingAdmissionPolicyBinding", 37, 40, "admissionregistration.k8s.io/v1", true},
	{"admissionregistration.k8s.io/v1beta1",
		"MutatingWebhookConfiguration ValidatingWebhookConfiguration", 16, 22, "admissionregistration.k8s.io/v1", true},
	{"admissionregistration.k8s.io/v1beta1",
		"ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding", 31, 34, "admissionregistration.k8s.io/v1", true},
	{"apps/v1beta1", "ControllerRevision Deployment StatefulSet", 8, 16, "apps/v1", true},
	{"apps/v1beta1", "DeploymentRollback", 8, 16, "", true},
	{"apps/v1beta1", "Scale", 8, 16, "autoscaling/v1", true},
	{"apps/v1beta2", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", 9, 16, "apps/v1", true},
	{"apps/v1beta2", "Scale", 9, 16, "autoscaling/v1", true},
	{"authentication.k8s.io/v1alpha1", "SelfSubjectReview", 29, 32, "authentication.k8s.io/v1", true},
	{"authentication.k8s.io/v1beta1", "SelfSubjectReview", 30, 33, "authentication.k8s.io/v1", true},
	{"authentication.k8s.io/v1beta1", "TokenReview", 19, 22, "authentication.k8s.io/v1", true},
	{"authorization.k8s.io/v1beta1",
		"LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
		19, 22, "authorization.k8s.io/v1", true},
	{"batch/v1beta1", "CronJob", 21, 25, "batch/v1", true},
	{"certificates.k8s.io/v1alpha1", "ClusterTrustBundle", 34, 37, "certificates.k8s.io/v1", true},
	{"certificates.k8s.io/v1beta1", "CertificateSigningRequest", 19, 22, "certificates.k8s.io/v1", true},
	{"certificates.k8s.io/v1beta1", "ClusterTrustBundle PodCertificateRequest", 37, 40, "certificates.k8s.io/v1", true},
	{"coordination.k8s.io/v1alpha2", "LeaseCandidate", 35, 38, "", true},
	{"coordination.k8s.io/v1beta1", "Lease", 19, 22, "coordination.k8s.io/v1", true},
	{"coordination.k8s.io/v1beta1", "LeaseCandidate", 36, 39, "", true},
	{"discovery.k8s.io/v1beta1", "EndpointSlice", 21, 25, "discovery.k8s.io/v1", true},
	{"events.k8s.io/v1beta1", "Event", 22, 25, "events.k8s.io/v1", true},
	{"extensions/v1beta1", "DaemonSet Deployment ReplicaSet", 8, 16, "apps/v1", true},
	{"extensions/v1beta1", "DeploymentRollback", 8, 16, "", true},
	{"extensions/v1beta1", "Ingress", 14, 22, "networking.k8s.io/v1", true},
	{"extensions/v1beta1", "NetworkPolicy", 9, 16, "networking.k8s.io/v1", true},
	{"extensions/v1beta1", "Scale", 2, 16, "", true},
	{"flowcontrol.apiserver.k8s.io/v1beta1",
		"FlowSchema PriorityLevelConfiguration", 23, 26, "flowcontrol.apiserver.k8s.io/v1beta3", true},
	{"flowcontrol.apiserver.k8s.io/v1beta2",
		"FlowSchema PriorityLevelConfiguration", 26, 29, "flowcontrol.apiserver.k8s.io/v1beta3", true},
	{"flowcontrol.apiserver.k8s.io/v1beta3",
		"FlowSchema PriorityLevelConfiguration", 29, 32, "flowcontrol.apiserver.k8s.io/v1", true},
	{"lifecycle.k8s.io/v1alpha1", "Eviction EvictionRequest", 40, 43, "", true},
	{"networking.k8s.io/v1beta1", "IPAddress ServiceCIDR", 34, 37, "networking.k8s.io/v1", true},
	{"networking.k8s.io/v1beta1", "Ingress IngressClass", 19, 22, "networking.k8s.io/v1", true},
	{"node.k8s.io/v1beta1", "RuntimeClass", 22, 25, "node.k8s.io/v1", true},
	{"policy/v1beta1", "Eviction", 22, 25, "policy/v1", true},
	{"policy/v1beta1", "PodDisruptionBudget", 21, 25, "policy/v1", true},
	{"rbac.authorization.k8s.io/v1beta1",
		"ClusterRole ClusterRoleBinding Role RoleBinding", 17, 22, "rbac.authorization.k8s.io/v1", true},
	{"resource.k8s.io/v1alpha3", "DeviceTaintRule", 36, 39, "resource.k8s.io/v1", true},
	{"resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest", 39, 42, "", true},
	{"resource.k8s.io/v1beta1",
		"DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 35, 38, "resource.k8s.io/v1", true},
	{"resource.k8s.io/v1beta2",
		"DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 36, 39, "resource.k8s.io/v1", true},
	{"resource.k8s.io/v1beta2", "DeviceTaintRule", 39, 42, "resource.k8s.io/v1", true},
	{"scheduling.k8s.io/v1beta1", "PodGroup Workload", 40, 43, "", true},
	{"scheduling.k8s.io/v1beta1", "PriorityClass", 14, 22, "scheduling.k8s.io/v1", true},
	{"storage.k8s.io/v1alpha1", "CSIStorageCapacity", 21, 24, "storage.k8s.io/v1beta1", true},
	{"storage.k8s.io/v1alpha1", "VolumeAttachment", 21, 24, "storage.k8s.io/v1", true},
	{"storage.k8s.io/v1alpha1", "VolumeAttributesClass", 32, 35, "storage.k8s.io/v1", true},
	{"storage.k8s.io/v1beta1", "CSIDriver StorageClass VolumeAttachment", 19, 22, "storage.k8s.io/v1", true},
	{"storage.k8s.io/v1beta1", "CSINode", 17, 22, "storage.k8s.io/v1", true},
	{"storage.k8s.io/v1beta1", "CSIStorageCapacity", 24, 27, "storage.k8s.io/v1", true},
	{"storage.k8s.io/v1beta1", "VolumeAttributesClass", 34, 37, "storage.k8s.io/v1", true},
	{"storagemigration.k8s.io/v1beta1", "StorageVersionMigration", 37, 40, "storagemigration.k8s.io/v1", true},
	{"v1", "ComponentStatus", 19, 0, "", true},
	{"v1", "Endpoints", 33, 0, "discovery.k8s.io/v1 EndpointSlice", true},

	{"autoscaling/v2beta1", "HorizontalPodAutoscaler", 22, 25, "autoscaling/v2", false},
	{"autoscaling/v2beta2", "HorizontalPodAutoscaler", 23, 26, "autoscaling/v2", false},
	{"policy/v1beta1", "PodSecurityPolicy", 21, 25, "", false},
	{"extensions/v1beta1", "PodSecurityPolicy", 10, 16, "", false},
	{"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 16, 22, "apiextensions.k8s.io/v1", false},
	{"apiregistration.k8s.io/v1beta1", "APIService", 19, 22, "apiregistration.k8s.io/v1", false},
}

// deprecated warns of an API that is deprecated or removed in the target Kubernetes version.
func (o *objects) deprecated(d *document, h *head) {
	if a := oldAPIOf(h, o.kube); a != nil {
		o.add(a.severity(o.kube, o.schemas), d.lineOf("apiVersion"), "%s", a.sentence(h.Kind))
	}
}

// oldAPIOf returns the entry for an object's API, or nil if the API is not deprecated.
func oldAPIOf(h *head, kube KubeVersion) *oldAPI {
	for i := range oldAPIs {
		a := &oldAPIs[i]
		if a.apiVersion == h.APIVersion && (kube.Major != 1 || kube.Minor >= a.deprecated) && a.hasKind(h.Kind) {
			return a
		}
	}
	return nil
}

// severity returns Error for an API that the version does not serve if objects must match its
// schemas.
func (a *oldAPI) severity(kube KubeVersion, schemas *Schemas) Severity {
	switch {
	case schemas != nil && a.removed > 0 && kube.Minor >= a.removed:
		return Error
	case a.warned:
		return Warning
	}
	return Info
}

func (a *oldAPI) hasKind(kind string) bool {
	kinds := strings.Fields(a.kinds)
	if slices.Contains(kinds, kind) {
		return true
	}
	single, isList := strings.CutSuffix(kind, "List")
	return isList && slices.Contains(kinds, single)
}

func (a *oldAPI) sentence(kind string) string {
	text := fmt.Sprintf("%s %s is deprecated in v1.%d+", a.apiVersion, kind, a.deprecated)
	if a.removed > 0 {
		text += fmt.Sprintf(", unavailable in v1.%d+", a.removed)
	}
	switch {
	case a.replacement == "":
		return text
	case strings.Contains(a.replacement, " "):
		return text + "; use " + a.replacement
	}
	return text + "; use " + a.replacement + " " + kind
}
