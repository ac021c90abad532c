// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/moonhelm/moonhelm/archive"
)

// TestCorpusLoads reads every public chart of the corpus that stands beside the
// project.
func TestCorpusLoads(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join("..", "..", "shared", "corpus", "charts", "*"))
	if len(dirs) == 0 {
		t.Skip("no corpus beside the project (../shared/corpus)")
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			t.Fatal(err)
		}
		c, err := archive.Load(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		if c.Name() == "" || c.Values == nil || len(c.Raw) == 0 {
			t.Errorf("%s: half a chart: %+v", dir, c.Metadata)
		}
	}
}
