// SPDX-License-Identifier: Apache-2.0

// Package testdeps skips or fails tests that need a missing program.
package testdeps

import (
	"os"
	"os/exec"
	"testing"
)

// Require names the environment variable that makes a missing program a failure. CI sets it.
const Require = "MOONHELM_REQUIRE_DEPS"

// Missing skips the test for lack of what, or fails it if [Require] is set.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv(Require) != "" {
		t.Fatalf("%s is not installed: make deps installs it (%s is set)", what, Require)
	}
	t.Skipf("%s is not installed: make deps installs it", what)
}

// Program calls [Missing] if the program name is not in PATH.
func Program(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		Missing(t, name)
	}
}
