// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// effectiveMetadata returns c's metadata with the overrides of opts. It returns an error
// if they are not valid.
func effectiveMetadata(c *chart.Chart, opts Options) (*chart.Metadata, error) {
	if c.Metadata == nil {
		return nil, ErrNoMetadata
	}
	m := *c.Metadata
	if opts.Version != "" {
		m.Version = opts.Version
	}
	if opts.AppVersion != "" {
		m.AppVersion = opts.AppVersion
	}
	return &m, m.Validate()
}

// Flatten returns the files of c and its subcharts, sorted by name, from which [LoadFiles]
// builds c again. Names are relative to c's directory. A file has its original content,
// unless the fields of c that come from it were changed.
func Flatten(c *chart.Chart) ([]*chart.File, error) {
	if _, err := effectiveMetadata(c, Options{}); err != nil {
		return nil, err
	}
	return flatten(c, "", Options{})
}

// packedFiles returns the files of an archive of c, sorted by name. Names begin with the
// chart's name.
func packedFiles(c *chart.Chart, opts Options) ([]*chart.File, error) {
	return flatten(c, c.Name(), opts)
}

func flatten(c *chart.Chart, top string, opts Options) ([]*chart.File, error) {
	p := &packer{files: map[string][]byte{}}
	if err := p.add(c, top, opts); err != nil {
		return nil, err
	}
	out := make([]*chart.File, 0, len(p.files))
	for name, data := range p.files {
		out = append(out, &chart.File{Name: name, Data: data})
	}
	slices.SortFunc(out, func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

type packer struct {
	files map[string][]byte
}

// add adds the files of c and of the charts below it to the directory top.
func (p *packer) add(c *chart.Chart, top string, opts Options) error {
	special, err := specialFiles(c, opts)
	if err != nil {
		return fmt.Errorf("pack %s: %w", c.Name(), err)
	}
	for _, files := range [][]*chart.File{c.Files, c.Templates, special} {
		for _, f := range files {
			if problem := pathProblem(f.Name); problem != "" {
				return &EntryError{Entry: f.Name, Problem: problem}
			}
			p.files[path.Join(top, f.Name)] = f.Data
		}
	}
	taken := map[string]bool{}
	for _, d := range c.Dependencies() {
		if err := chart.ValidateName(d.Name()); err != nil {
			return fmt.Errorf("pack %s: the name of a subchart %w", c.Name(), err)
		}
		dir := chart.DirCharts
		if d.FromLibrary {
			dir = chart.DirLibrary
		}
		// With aliases there may be two versions of a chart.
		place := path.Join(top, dir, d.Name())
		if taken[place] {
			place += "-" + d.Version()
		}
		for taken[place] {
			place += "x"
		}
		taken[place] = true
		if err := p.add(d, place, Options{}); err != nil {
			return err
		}
	}
	return nil
}

// specialFiles returns the files that are parsed into fields of c. A file has its original
// content, unless the field was changed.
func specialFiles(c *chart.Chart, opts Options) ([]*chart.File, error) {
	var out []*chart.File
	add := func(name string, data []byte) { out = append(out, &chart.File{Name: name, Data: data}) }

	metadata, err := metadataText(c, opts)
	if err != nil {
		return nil, err
	}
	add(chart.FileMetadata, metadata)
	vals, err := valuesText(c)
	if err != nil {
		return nil, err
	}
	if vals != nil {
		add(chart.FileValues, vals)
	}
	if c.Schema != nil {
		add(chart.FileSchema, c.Schema)
	}
	if c.Metadata.APIVersion != chart.APIVersionV1 {
		for _, name := range []string{chart.FileRequirements, chart.FileRequirementsLock} {
			if f := c.File(name); f != nil {
				add(name, f.Data)
			}
		}
	}
	if c.Lock == nil {
		return out, nil
	}
	name, lock, err := lockText(c)
	if err != nil {
		return nil, err
	}
	add(name, lock)
	return out, nil
}

func valuesText(c *chart.Chart) ([]byte, error) {
	f := c.File(chart.FileValues)
	if f == nil {
		if len(c.Values) == 0 {
			return nil, nil
		}
		return yaml.Marshal(c.Values)
	}
	read, err := values.Parse(f.Name, f.Data)
	if err == nil && (reflect.DeepEqual(read, c.Values) || len(read)+len(c.Values) == 0) {
		return f.Data, nil
	}
	return yaml.Marshal(c.Values)
}

func lockText(c *chart.Chart) (string, []byte, error) {
	name := chart.FileLock
	if c.Metadata.APIVersion == chart.APIVersionV1 {
		name = chart.FileRequirementsLock
	}
	for _, n := range []string{name, chart.FileLock, chart.FileRequirementsLock} {
		f := c.File(n)
		if f == nil {
			continue
		}
		if read, err := chart.ParseLock(n, f.Data); err == nil && reflect.DeepEqual(read, c.Lock) {
			return n, f.Data, nil
		}
	}
	data, err := yaml.Marshal(c.Lock)
	return name, data, err
}

// metadataText returns Chart.yaml with the overrides of opts. It edits the original text if
// that yields the wanted metadata, and otherwise marshals the metadata.
func metadataText(c *chart.Chart, opts Options) ([]byte, error) {
	want, err := effectiveMetadata(c, opts)
	if err != nil {
		return nil, err
	}
	if c.File(chart.FileRequirements) != nil {
		want.Dependencies, want.Libraries = nil, nil // they are in requirements.yaml
	}
	if f := c.File(chart.FileMetadata); f != nil {
		for _, quoted := range []bool{false, true} {
			text, err := chart.EditVersions(f.Data, want.Version, want.AppVersion, quoted)
			if err != nil {
				break
			}
			if parsesAs(text, want, c.File(chart.FileRequirements) != nil) {
				return text, nil
			}
		}
	}
	text, err := yaml.Marshal(want)
	if err == nil && !parsesAs(text, want, false) {
		err = fmt.Errorf("%s: the metadata cannot be written as YAML without changes", chart.FileMetadata)
	}
	return text, err
}

// parsesAs reports whether a Chart.yaml parses into want. With requirements, it ignores
// the dependencies in text.
func parsesAs(text []byte, want *chart.Metadata, requirements bool) bool {
	got, err := chart.ParseMetadata(chart.FileMetadata, text)
	if err != nil {
		return false
	}
	if requirements {
		got.Dependencies, got.Libraries = nil, nil
	}
	return sameJSON(got, want)
}

// sameJSON reports whether a and b marshal into the same text, so it does not distinguish
// nil from an empty list.
func sameJSON(a, b *chart.Metadata) bool {
	x, errX := yaml.Marshal(a)
	y, errY := yaml.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
