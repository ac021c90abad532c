// SPDX-License-Identifier: Apache-2.0

// Package testdeps says what becomes of a test that needs a program that is not there.
package testdeps

import (
	"os"
	"os/exec"
	"testing"
)

// Require names the variable that makes a missing program a failure. CI sets it.
const Require = "MOONHELM_REQUIRE_DEPS"

// Missing ends a test that lacks what: it is skipped, or fails where [Require] is set.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv(Require) != "" {
		t.Fatalf("%s is not installed: make deps installs it (%s is set)", what, Require)
	}
	t.Skipf("%s is not installed: make deps installs it", what)
}

// Program ends a test where the program name is not in the PATH, as [Missing] does.
func Program(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		Missing(t, name)
	}
}
