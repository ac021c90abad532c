// SPDX-License-Identifier: Apache-2.0

package action

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// loadRepaired loads the chart at path with the valid parts of its metadata files and of its
// values.yaml, so that its templates can be checked although loading failed with err. It returns
// the keys that values.yaml has lost, and nil if err is about other files.
func loadRepaired(l loader.Loader, path string, files []*chart.File, err error) (*chart.Chart, []string) {
	var invalid *chart.InvalidError
	var parse *values.ParseError
	if !errors.As(err, &invalid) && !errors.As(err, &parse) || errors.As(err, new(*loader.SubchartError)) {
		return nil, nil
	}
	var lost []string
	repaired := slices.DeleteFunc(slices.Clone(files), isBrokenList)
	for i, f := range repaired {
		data := f.Data
		switch {
		case f.Name == chart.FileMetadata && invalid != nil:
			var err error
			if data, err = yaml.Marshal(validMetadata(f.Data, nameFromPath(path), l.ChartV3)); err != nil {
				return nil, nil
			}
		case f.Name == chart.FileValues:
			data, lost = validValues(f.Data)
		}
		repaired[i] = &chart.File{Name: f.Name, Data: data}
	}
	c, _, err := l.LoadFiles(repaired)
	if err != nil {
		return nil, nil
	}
	return c, lost
}

// validValues returns the top-level keys of a values.yaml that can be parsed, and the names of the
// others.
func validValues(data []byte) (valid []byte, lost []string) {
	if _, err := values.Parse(chart.FileValues, data); err == nil {
		return data, nil
	}
	var kept bytes.Buffer
	var keys []string
	for _, block := range topLevelBlocks(string(data)) {
		key, _, _ := strings.Cut(block, ":")
		if _, err := values.Parse(chart.FileValues, []byte(block)); err == nil {
			kept.WriteString(block)
			keys = append(keys, key)
		} else if chart.ValidateName(key) == nil { // not the rest of a broken line
			lost = append(lost, key)
		}
	}
	if _, err := values.Parse(chart.FileValues, kept.Bytes()); err != nil {
		return nil, append(lost, keys...)
	}
	return kept.Bytes(), lost
}

// isBrokenList reports whether f is a list or a lock of dependencies that cannot be parsed.
func isBrokenList(f *chart.File) bool {
	var err error
	switch f.Name {
	case chart.FileRequirements:
		_, err = chart.ParseRequirements(f.Name, f.Data)
	case chart.FileLock, chart.FileRequirementsLock:
		_, err = chart.ParseLock(f.Name, f.Data)
	}
	return err != nil
}

// validMetadata returns the fields of a Chart.yaml that can be decoded and are valid. name is the
// name of the chart if it has no valid one.
func validMetadata(data []byte, name string, v3 bool) *chart.Metadata {
	var kept bytes.Buffer
	for _, block := range topLevelBlocks(string(data)) {
		if _, err := chart.ParseMetadata(chart.FileMetadata, []byte(block)); err == nil {
			kept.WriteString(block)
		}
	}
	m, err := chart.ParseMetadata(chart.FileMetadata, kept.Bytes())
	if err != nil { // a key twice
		m = &chart.Metadata{}
	}
	if chart.ValidateName(m.Name) != nil {
		m.Name = name
	}
	if chart.ValidateVersion(m.Version) != nil {
		m.Version = "0.1.0"
	}
	if m.CheckV3(v3) != nil || m.Validate() != nil {
		m = &chart.Metadata{APIVersion: chart.APIVersionV2, Name: m.Name, Version: m.Version, AppVersion: m.AppVersion,
			Description: m.Description}
	}
	return m
}

// topLevelBlocks splits YAML before each line that is not indented, except for list items, which
// may belong to the key before them.
func topLevelBlocks(text string) []string {
	var blocks []string
	for line := range strings.Lines(text) {
		if len(blocks) == 0 || !strings.ContainsAny(line[:1], " \t-#\r\n") {
			blocks = append(blocks, "")
		}
		blocks[len(blocks)-1] += line
	}
	return blocks
}

// nameFromPath returns the name for a chart without a valid one: that of its directory or archive.
func nameFromPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	name := strings.TrimSuffix(filepath.Base(path), ".tgz")
	if chart.ValidateName(name) != nil {
		return "chart"
	}
	return name
}
