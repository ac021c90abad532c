// SPDX-License-Identifier: Apache-2.0

package manifest

import "testing"

// The applied objects must be those of the record: Format ends every document with a line feed,
// which may be part of a block scalar.
func TestMapFinalBlockScalar(t *testing.T) {
	objs, err := Parse("web/templates/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: |\n    hello")
	if err != nil || len(objs) != 1 {
		t.Fatalf("%v, %v", objs, err)
	}
	m, err := objs[0].Map()
	if err != nil {
		t.Fatal(err)
	}
	if x := m["data"].(map[string]any)["x"]; x != "hello\n" {
		t.Errorf("x is %q", x)
	}
}
