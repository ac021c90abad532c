// SPDX-License-Identifier: Apache-2.0

// Package scaffold creates new charts.
//
//	files, err := scaffold.Chart{Name: "web"}.Files()
//	...
//	_, err = scaffold.Write("web", files)
//
// A new chart has the files, helpers and values of Helm's "helm create", or those of a
// starter chart. It passes lint and can be installed.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

//go:embed all:files
var embedded embed.FS

// placeholder is replaced by the chart's name in starters and in the embedded files.
const placeholder = "<CHARTNAME>"

// maxName is the longest name of a chart that can be created.
const maxName = 250

// A NameError is returned for a name that a new chart cannot have.
type NameError struct{ Name, Problem string }

func (e *NameError) Error() string { return fmt.Sprintf("chart name %q %s", e.Name, e.Problem) }

// ValidateName checks the name of a new chart: 1 to 250 letters, digits, dots, dashes and
// underscores, but not only dots. This is stricter than [chart.ValidateName], which existing
// charts must satisfy. The error is a [*NameError].
func ValidateName(name string) error {
	switch {
	case name == "":
		return &NameError{name, "is empty"}
	case len(name) > maxName:
		return &NameError{name, fmt.Sprintf("is longer than %d characters", maxName)}
	case strings.Trim(name, ".") == "":
		return &NameError{name, "has only dots"}
	}
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("._-", r):
		default:
			return &NameError{name, `must match the regular expression "^[a-zA-Z0-9._-]+$": letters, digits, '.', '_' and '-'`}
		}
	}
	return nil
}

// Chart describes the chart to create.
type Chart struct {
	Name string
	// Starter is the directory or archive of a starter chart, or "" for the default.
	Starter string
	// APIVersion is chart.APIVersionV2, the default, or chart.APIVersionV3.
	APIVersion string
	// Loader reads the starter.
	Loader loader.Loader
}

// Files returns the files of a new chart. Names are relative to the chart's directory.
func (c Chart) Files() (files []*chart.File, err error) {
	if err := ValidateName(c.Name); err != nil {
		return nil, err
	}
	if c.APIVersion == "" {
		c.APIVersion = chart.APIVersionV2
	}
	if c.Starter != "" {
		return c.fromStarter()
	}
	err = fs.WalkDir(embedded, "files", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := embedded.ReadFile(p)
		if err != nil {
			return err
		}
		p = strings.TrimPrefix(p, "files/")
		// dot.helmignore and the like: under its real name it would affect this repository.
		p = strings.Replace(p, "dot.", ".", 1)
		files = append(files, &chart.File{Name: p, Data: c.named(p, data)})
		return nil
	})
	return files, err
}

//go:embed scripts/chart.lua
var script []byte

// WithScripts adds a chart script to the files of a new chart, unless they have one, and the
// types of what scripts can use (see [Types]). The script has only comments that describe what
// a script can do.
func WithScripts(files []*chart.File) []*chart.File {
	have := map[string]*chart.File{}
	for _, f := range files {
		have[f.Name] = f
	}
	if have[chart.FileScript] == nil {
		files = append(files, &chart.File{Name: chart.FileScript, Data: script})
	}
	for _, f := range Types(nil) {
		if have[f.Name] == nil {
			files = append(files, f)
		}
	}
	if ignore := have[fileIgnore]; ignore != nil {
		ignore.Data = ignoreTypes(ignore.Data)
		return files
	}
	return append(files, &chart.File{Name: fileIgnore, Data: ignoreTypes(nil)})
}

// named returns text with the placeholder replaced by the chart's name and, for Chart.yaml,
// with the API version.
func (c Chart) named(file string, text []byte) []byte {
	out := bytes.ReplaceAll(text, []byte(placeholder), []byte(c.Name))
	if file != chart.FileMetadata {
		return out
	}
	out = bytes.Replace(out, []byte("apiVersion: "+chart.APIVersionV2), []byte("apiVersion: "+c.APIVersion), 1)
	if m, err := chart.ParseMetadata(file, out); err == nil && m.Name == c.Name {
		return out
	}
	// Quote a name that is not a string in YAML: "on", "1e3".
	return bytes.Replace(out, []byte("\nname: "+c.Name), fmt.Appendf(nil, "\nname: %q", c.Name), 1)
}

// fromStarter returns the starter's files with the name filled in and a new Chart.yaml. The
// new chart keeps the starter's dependencies.
func (c Chart) fromStarter() ([]*chart.File, error) {
	files, _, err := c.Loader.Files(c.Starter)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("could not load %s: a starter is a chart's directory, named by its path or put below "+
			"$HELM_DATA_HOME/starters: %w", c.Starter, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read starter: %w", err)
	}
	of, _, err := c.Loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("read starter %s: %w", c.Starter, err)
	}
	out := make([]*chart.File, 0, len(files))
	for _, f := range files {
		if f.Name == chart.FileMetadata || f.Name == chart.FileRequirements {
			continue
		}
		subchart := strings.HasPrefix(f.Name, chart.DirCharts+"/") || strings.HasPrefix(f.Name, chart.DirLibrary+"/")
		if !subchart && utf8.Valid(f.Data) {
			f = &chart.File{Name: f.Name, Data: c.named(f.Name, f.Data)}
		}
		out = append(out, f)
	}
	metadata, err := c.starterMetadata(of.Metadata)
	return append(out, &chart.File{Name: chart.FileMetadata, Data: metadata}), err
}

func (c Chart) starterMetadata(of *chart.Metadata) ([]byte, error) {
	return yaml.Marshal(&chart.Metadata{
		APIVersion: c.APIVersion, Name: c.Name, Description: c.Name + ", packaged for Kubernetes",
		Type: chart.TypeApplication, Version: "0.1.0", AppVersion: "0.1.0",
		Dependencies: of.Dependencies, Libraries: of.Libraries,
	})
}
