// SPDX-License-Identifier: Apache-2.0

package env

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moonhelm/moonhelm/archive"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/progress"
)

// Chart loads the chart that ref points at: a folder or an archive.
func (e *Env) Chart(ref string) (*chart.Chart, error) {
	if _, err := os.Stat(ref); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &ChartNotFoundError{Ref: ref}
		}
		return nil, fmt.Errorf("open chart: %w", err)
	}
	c, warnings, err := archive.Loader{}.Load(ref)
	report := e.Report()
	for _, w := range warnings {
		report.Send(progress.Event{Kind: progress.Warning, Text: w})
	}
	return c, err
}

// ChartNotFoundError tells that a reference points at no chart.
type ChartNotFoundError struct{ Ref string }

func (e *ChartNotFoundError) Error() string {
	if strings.Contains(e.Ref, "://") {
		return fmt.Sprintf("chart %s: charts are read from folders and archives on disk; download it first", e.Ref)
	}
	abs, err := filepath.Abs(e.Ref)
	if err != nil {
		abs = e.Ref
	}
	return fmt.Sprintf("chart %q: there is no such folder or archive (looked for %s)", e.Ref, abs)
}
