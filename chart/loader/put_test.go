// SPDX-License-Identifier: Apache-2.0

package loader_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/moonhelm/moonhelm/chart/loader"
)

func TestPutAtomic(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	path, err := loader.Put(dir, "web-1.0.0.tgz", strings.NewReader("first"))
	if err != nil || path != filepath.Join(dir, "web-1.0.0.tgz") {
		t.Fatal(path, err)
	}
	broken := errors.New("the line broke")
	if _, err := loader.Put(dir, "web-1.0.0.tgz", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Error(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "first" {
		t.Errorf("%q, %v", data, err)
	}
	for _, name := range []string{"", ".", "..", "../x", "a/b", `a\b`} { // CVE-2024-25620
		if _, err := loader.Put(dir, name, strings.NewReader("x")); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
