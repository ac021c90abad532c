// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"slices"
)

// AnnotationCRDs is the annotation of Chart.yaml that says what becomes of the definitions in
// crds/ of the chart and of its subcharts: one of [CRDPolicies].
const AnnotationCRDs = "moonhelm.github.io/crds"

// CRDPolicies returns the values of [AnnotationCRDs]: "create" has an install create missing
// definitions, "upgrade" has an install and an upgrade create and update them, and "skip" leaves
// crds/ alone.
func CRDPolicies() []string { return []string{"create", "upgrade", "skip"} }

// CRDPolicy returns the value of [AnnotationCRDs], or "" if there is none. It returns an
// [*InvalidError] for an unknown value.
func (m *Metadata) CRDPolicy() (string, error) {
	policy, ok := m.Annotations[AnnotationCRDs]
	if !ok || slices.Contains(CRDPolicies(), policy) {
		return policy, nil
	}
	return "", &InvalidError{File: FileMetadata, Field: "annotations." + AnnotationCRDs,
		Problem: fmt.Sprintf("is %q, must be create, upgrade or skip", policy)}
}
