// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/moonhelm/moonhelm/manifest"
)

// Compare compares two manifests without a cluster: an object of the old one is used as the
// live object. Objects without a namespace belong to the given one. An object that only
// changes its API version is updated. The steps have no patches. They are in the order of current,
// followed by deletions in the order of [manifest.SortUninstall]. Compare returns an error if
// an object is not a YAML map.
func Compare(old, current []*manifest.Object, namespace string) ([]Step, error) {
	former := map[Ref]*manifest.Object{}
	for _, o := range old {
		if !o.Empty {
			former[refOf(o, namespace).Identity()] = o
		}
	}
	var steps []Step
	seen := map[Ref]bool{}
	for _, o := range current {
		key := refOf(o, namespace).Identity()
		if o.Empty || seen[key] {
			continue
		}
		seen[key] = true
		after, err := o.Map()
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", o, err)
		}
		s := Step{Item: Item{Ref: refOf(o, namespace), Source: o.Source, New: after, Object: o}, Action: Create,
			After: normalize(after)}
		if f := former[key]; f != nil {
			if err := s.compare(f); err != nil {
				return nil, err
			}
		}
		steps = append(steps, s)
	}
	var deleted []*manifest.Object
	for key, o := range former {
		if !seen[key] {
			deleted = append(deleted, o)
		}
	}
	slices.SortFunc(deleted, func(a, b *manifest.Object) int { // the map has no order
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Namespace, b.Namespace))
	})
	manifest.SortUninstall(deleted)
	for _, o := range deleted {
		before, err := o.Map()
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", o, err)
		}
		item := Item{Ref: refOf(o, namespace), Source: o.Source, Old: []map[string]any{before}, Live: normalize(before),
			Former: o}
		steps = append(steps, deleteStep(item, Options{}))
	}
	return steps, nil
}

// compare sets the action and the old state of s, for an update from a former object.
func (s *Step) compare(former *manifest.Object) error {
	before, err := former.Map()
	if err != nil {
		return fmt.Errorf("compare %s: %w", former, err)
	}
	s.Live, s.Old, s.Former = normalize(before), []map[string]any{before}, former
	s.Action = Update
	m := mergerOf(s.Item)
	m.builtIn = false // manifests are compared literally, without the API's defaults
	if m.sameValue("", "", withoutNamespace(s.After), withoutNamespace(s.Live)) {
		s.Action = Unchanged
	}
	return nil
}

// withoutNamespace returns an object without its namespace, which one manifest may set and the
// other leave to the release.
func withoutNamespace(object map[string]any) map[string]any {
	meta := metadata(object)
	if _, has := meta["namespace"]; !has {
		return object
	}
	object = maps.Clone(object)
	object["metadata"] = without(meta, "namespace")
	return object
}

func refOf(o *manifest.Object, namespace string) Ref {
	r := Ref{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name}
	if !isClusterScoped(o) {
		r.Namespace = cmp.Or(o.Namespace, namespace)
	}
	return r
}

// isClusterScoped reports whether an object is of a built-in cluster-scoped kind. It returns
// false for all other kinds.
func isClusterScoped(o *manifest.Object) bool {
	switch o.Kind {
	case "Namespace", "Node", "PersistentVolume":
		return o.APIVersion == "v1"
	case "ClusterRole", "ClusterRoleBinding":
		return manifest.Group(o.APIVersion) == "rbac.authorization.k8s.io"
	case "StorageClass", "CSIDriver", "CSINode", "VolumeAttachment", "VolumeAttributesClass":
		return manifest.Group(o.APIVersion) == "storage.k8s.io"
	case "PriorityClass":
		return manifest.Group(o.APIVersion) == "scheduling.k8s.io"
	case "IngressClass", "IPAddress", "ServiceCIDR":
		return manifest.Group(o.APIVersion) == "networking.k8s.io"
	case "RuntimeClass":
		return manifest.Group(o.APIVersion) == "node.k8s.io"
	case "CustomResourceDefinition":
		return manifest.Group(o.APIVersion) == "apiextensions.k8s.io"
	case "APIService":
		return manifest.Group(o.APIVersion) == "apiregistration.k8s.io"
	case "FlowSchema", "PriorityLevelConfiguration":
		return manifest.Group(o.APIVersion) == "flowcontrol.apiserver.k8s.io"
	case "CertificateSigningRequest", "ClusterTrustBundle":
		return manifest.Group(o.APIVersion) == "certificates.k8s.io"
	case "DeviceClass", "ResourceSlice", "DeviceTaintRule":
		return manifest.Group(o.APIVersion) == "resource.k8s.io"
	}
	return manifest.Group(o.APIVersion) == "admissionregistration.k8s.io"
}
