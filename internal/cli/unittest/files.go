// SPDX-License-Identifier: Apache-2.0

package unittest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/chart/unittest/coverage"
	"github.com/moonhelm/moonhelm/chart/unittest/report"
)

// writeResults writes --output-file.
func (o *Options) writeResults(results []*unittest.ChartResult) error {
	if o.OutputFile == "" {
		return nil
	}
	format, err := report.ParseFormat(o.OutputType)
	if err != nil {
		return err
	}
	return writeFile(o.OutputFile, func(w io.Writer) error { return format.Write(w, results, environment()) })
}

// environment returns what the formats say about the run. What cannot be found is left out.
func environment() report.Environment {
	env := report.Environment{Time: time.Now(),
		GoPlatform: strings.Join([]string{runtime.Version(), runtime.GOOS, runtime.GOARCH}, ".")}
	env.Host, _ = os.Hostname()
	env.Directory, _ = os.Getwd()
	if u, err := user.Current(); err == nil {
		env.User = u.Username
	}
	return env
}

// writeFile writes a file, or nothing if write fails before anything is there.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// coverageFormat returns how to write the coverage to a file, or nil if its extension is unknown.
func coverageFormat(file string) func(p *coverage.Profile) func(io.Writer) error {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".html", ".htm":
		return func(p *coverage.Profile) func(io.Writer) error {
			return func(w io.Writer) error { return p.WriteHTML(w, "Coverage of charts") }
		}
	case ".info", ".lcov":
		return func(p *coverage.Profile) func(io.Writer) error { return p.WriteLcov }
	case ".xml":
		return func(p *coverage.Profile) func(io.Writer) error {
			return func(w io.Writer) error { return p.WriteCobertura(w, time.Now()) }
		}
	case ".txt":
		return func(p *coverage.Profile) func(io.Writer) error { return p.WriteTable }
	}
	return nil
}

// extensionError is returned for a coverage file whose format is not known.
type extensionError struct{ file string }

func (e *extensionError) Error() string {
	return fmt.Sprintf("--coverage-file %q: the extension names no format", e.file)
}

// Hint lists the extensions.
func (e *extensionError) Hint() string { return "use .html, .info (lcov), .xml (Cobertura) or .txt" }
