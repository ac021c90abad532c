// SPDX-License-Identifier: Apache-2.0

package op

// grouped is the text of a ConfigMap of a resource group, which may wait for
// another.
func grouped(name, group string, after ...string) string {
	annotations := []string{"helm.sh/resource-group", group}
	for _, a := range after {
		annotations = append(annotations, "helm.sh/depends-on/resource-groups", a)
	}
	return kind("ConfigMap", name, annotations...)
}
