// SPDX-License-Identifier: Apache-2.0

package yaml

import "testing"

func TestFieldLine(t *testing.T) {
	root := Root([]byte(`kind: Pod
metadata:
  labels:
    example.com/a: b
    "a b": c
spec:
  containers:
  - name: one
    ports:
    - containerPort: 80
    - containerPort: 81
      protocol: UDP
  - name: two
`))
	for field, want := range map[string]int{
		"kind": 1, "metadata.labels[example.com/a]": 4, "metadata.labels[a b]": 5, "metadata.labels.a": 3,
		"spec.containers[0].name": 8, "spec.containers[1]": 13, "spec.containers[7].name": 7, "spec.containers[1].image": 13,
		`spec.containers[name="two"].name`: 13, `spec.containers[name="one"].ports[containerPort=81,protocol="UDP"].protocol`: 12,
		`spec.containers[name="one"].ports[containerPort=80,protocol="TCP"].name`: 10, `spec.containers[name="x"]`: 7,
		"status": 1, "": 1, "[": 1, "spec..containers": 6,
	} {
		if got := FieldLine(root, field); got != want {
			t.Errorf("%s is in line %d, want %d", field, got, want)
		}
	}
	if got := FieldLine(nil, "kind"); got != 0 {
		t.Errorf("without a document: line %d, want 0", got)
	}
}
