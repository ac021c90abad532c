// SPDX-License-Identifier: Apache-2.0

package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// longAgo is the time of the tests' keys and signatures, which is before the present.
func longAgo() time.Time { return time.Now().Add(-time.Hour).Truncate(time.Second) }

// needs skips a test if a program is missing, or fails it if MOONHELM_REQUIRE_DEPS is set, as
// internal/testdeps does.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if os.Getenv("MOONHELM_REQUIRE_DEPS") != "" {
			t.Fatalf("%s is not installed: make deps installs it (MOONHELM_REQUIRE_DEPS is set)", name)
		}
		t.Skipf("%s is not installed: make deps installs it", name)
	}
}

func writeFile(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// must fails the test for an unexpected error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
