// SPDX-License-Identifier: Apache-2.0

package kube

// Owner is the release that objects belong to.
type Owner struct {
	Release   string
	Namespace string
}

// ObjectName names an object as messages do: "ConfigMap/web in namespace prod".
func ObjectName(kind, namespace, name string) string {
	s := kind
	if name != "" {
		s += "/" + name
	}
	if namespace != "" {
		s += " in namespace " + namespace
	}
	return s
}
