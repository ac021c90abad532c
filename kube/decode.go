// SPDX-License-Identifier: Apache-2.0

package kube

import (
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// decodeObject reads an object as the API server sends it; whole numbers are
// int64. Without managers, metadata.managedFields is left out.
func decodeObject(raw []byte, managers bool) (map[string]any, error) {
	var object map[string]any
	if err := k8sjson.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	if metadata, ok := object["metadata"].(map[string]any); ok && !managers {
		delete(metadata, "managedFields")
	}
	return object, nil
}
