// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// reflectMethod is the linker's note about a reachable function that looks up methods by a name or
// index unknown at link time.
var reflectMethod = regexp.MustCompile(`(?m)^\S+ <[^>]*ReflectMethod[^>]*>`)

// With such a function the linker keeps all exported methods of reachable types, an eighth of the
// program (see docs/adr/0025-methods-of-templates.md).
func TestMethodsAreNotLookedUpByName(t *testing.T) {
	if testing.Short() {
		t.Skip("links the program")
	}
	build := exec.Command("go", "build", "-ldflags=-dumpdep", "-o", filepath.Join(t.TempDir(), "helm"), ".")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%.2000s", err, out)
	}
	if len(out) == 0 {
		t.Fatal("the linker's -dumpdep printed nothing")
	}
	if found := reflectMethod.FindAll(out, 5); found != nil {
		t.Errorf("the program looks up methods by reflection, which keeps them all: %q", found)
	}
}
