// SPDX-License-Identifier: Apache-2.0

package release

import "strings"

// The label and the annotations that say which release an object belongs to.
const (
	ManagedByLabel      = "app.kubernetes.io/managed-by"
	ManagedByHelm       = "Helm" // the label's value
	NameAnnotation      = "meta.helm.sh/release-name"
	NamespaceAnnotation = "meta.helm.sh/release-namespace"
)

// PolicyAnnotation is the annotation that keeps an object when its release is uninstalled or no
// longer contains it.
const PolicyAnnotation = "helm.sh/resource-policy"

// ReplaceAnnotation is the annotation whose value "true" permits to delete and recreate an object
// that cannot be updated.
const ReplaceAnnotation = "helm.sh/replace"

// IsKeepPolicy reports whether a value of [PolicyAnnotation] keeps the object.
func IsKeepPolicy(value string) bool { return strings.EqualFold(strings.TrimSpace(value), "keep") }

// Ownership is the metadata of an object that says which release it belongs to. Empty fields are
// not set on the object.
type Ownership struct {
	// ManagedBy is the value of ManagedByLabel.
	ManagedBy string `json:"managedBy,omitempty"`
	// Release and Namespace are the values of NameAnnotation and NamespaceAnnotation.
	Release   string `json:"release,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// OwnedBy returns the ownership metadata of the objects of a release.
func OwnedBy(name, namespace string) Ownership {
	return Ownership{ManagedBy: ManagedByHelm, Release: name, Namespace: namespace}
}

// OwnershipOf returns the ownership metadata in the labels and annotations of an object.
func OwnershipOf(labels, annotations map[string]string) Ownership {
	return Ownership{labels[ManagedByLabel], annotations[NameAnnotation], annotations[NamespaceAnnotation]}
}
