// SPDX-License-Identifier: Apache-2.0

package release

import "testing"

func TestDecodeDropsNullHooks(t *testing.T) {
	r, err := Decode([]byte("eyJuYW1lIjoid2ViIiwiaG9va3MiOltudWxsXX0=")) // {"name":"web","hooks":[null]}
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Hooks) != 0 {
		t.Errorf("hooks are %v", r.Hooks)
	}
}
