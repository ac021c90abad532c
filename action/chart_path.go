// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"path/filepath"
	"strings"
)

// A ChartNotFoundError is returned if there is no chart at a path.
type ChartNotFoundError struct {
	Ref string
	// Named is set if Ref could also have been of the form REPOSITORY/NAME.
	Named bool
}

func (e *ChartNotFoundError) Error() string {
	abs, err := filepath.Abs(e.Ref)
	if err != nil {
		abs = e.Ref
	}
	text := fmt.Sprintf("path %q not found: %s: no such file or directory", e.Ref, abs)
	if e.Named && !strings.ContainsAny(e.Ref, `/\`) {
		text += "; non-absolute URLs should be in form of repo_name/path_to_chart, got: " + e.Ref
	}
	return text
}
