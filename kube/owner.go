// SPDX-License-Identifier: Apache-2.0

package kube

// Owner identifies the release that owns an object.
type Owner struct {
	Release   string
	Namespace string
}

// ObjectName formats the name of an object for messages: "ConfigMap/web in namespace prod".
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
