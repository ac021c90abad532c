// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/schema"
	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/chart/unittest/coverage"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
)

var (
	errMultiple = errors.New("multiple indexes found")
	errNotFound = errors.New("document not found")
)

// Options say how the suites of a chart are read and run.
type Options struct {
	Loader loader.Loader
	// Strict makes unknown fields in suites an error.
	Strict bool
	// SkipSchema disables the validation of values against schemas.
	SkipSchema bool
	// Values override those of the suites' values files.
	Values map[string]any
	// Coverage records what the tests run of the templates. It may be nil.
	Coverage *engine.Coverage
	// Scripts returns a runner of the chart's scripts for one rendering. nil runs no scripts. It is called
	// concurrently.
	Scripts func() ScriptRunner
	// ScriptLines has the lines of scripts that the runners have run. It may be nil.
	ScriptLines *coverage.ScriptLines
}

// Chart is a chart whose suites are run. It is safe for concurrent use.
type Chart struct {
	Options
	// Path is the path of the chart, a directory or an archive.
	Path string
	// Root is the chart as it was loaded.
	Root *chart.Chart

	files   *fileCache
	cache   *engine.Cache
	schemas *schema.Validator
	docs    *documentCache

	renderings *renderCache
}

// Open loads the chart at path. Errors are those of [loader.Loader.Load].
func Open(path string, o Options) (*Chart, error) {
	root, _, err := o.Loader.Load(path)
	if err != nil {
		return nil, err
	}
	return &Chart{Options: o, Path: path, Root: root, files: &fileCache{}, cache: &engine.Cache{},
		schemas: &schema.Validator{}, docs: &documentCache{}, renderings: &renderCache{}}, nil
}

// Find returns the suites in the files of the chart that match one of the patterns, which are
// relative to the chart's directory: * stands for a name, and ** for any number of directories. A file
// that cannot be read is a suite whose result is the error. Archives have no suites.
func (c *Chart) Find(patterns []string) ([]unittest.Suite, error) {
	return c.find(c.Path, "", patterns)
}

// FindAll is like Find, and also returns the suites of the subcharts in directories of charts/ that the
// chart's own values enable, with the same patterns.
func (c *Chart) FindAll(patterns []string) ([]unittest.Suite, error) {
	out, err := c.find(c.Path, "", patterns)
	if err != nil {
		return nil, err
	}
	res, err := values.Resolve(c.Root, nil)
	if err != nil {
		return nil, err
	}
	err = c.findBelow(res.Chart, c.Path, "", patterns, &out)
	return out, err
}

func (c *Chart) findBelow(parent *chart.Chart, dir, prefix string, patterns []string, out *[]unittest.Suite) error {
	for _, sub := range parent.Subcharts() {
		name := sub.Name()
		if sub.Unaliased != "" {
			name = sub.Unaliased
		}
		subDir := filepath.Join(dir, chart.DirCharts, name)
		if info, err := os.Stat(subDir); err != nil || !info.IsDir() {
			continue
		}
		subPrefix := path.Join(prefix, chart.DirCharts, sub.Name())
		found, err := c.find(subDir, subPrefix, patterns)
		if err != nil {
			return err
		}
		*out = append(*out, found...)
		if err := c.findBelow(sub, subDir, subPrefix, patterns, out); err != nil {
			return err
		}
	}
	return nil
}

// find returns the suites of the chart in a directory.
func (c *Chart) find(dir, prefix string, patterns []string) ([]unittest.Suite, error) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, err
	}
	files, err := Glob(dir, patterns)
	if err != nil {
		return nil, err
	}
	var out []unittest.Suite
	for _, file := range files {
		text, err := readFile(file, maxSuite)
		if err != nil {
			out = append(out, &suite{file: file, err: &Error{File: file, Err: err}})
			continue
		}
		out = append(out, c.parse(file, prefix, text)...)
	}
	return out, nil
}

// maxSuite is the size of the largest file of suites, in bytes.
const maxSuite = 16 << 20

// parse returns the suites of a file.
func (c *Chart) parse(file, prefix string, text []byte) []unittest.Suite {
	defs, err := parseDefinitions(file, text, c.Strict)
	if err == nil && len(defs) == 0 {
		err = &Error{File: file, Err: errors.New("no tests found")}
	}
	if err != nil {
		return []unittest.Suite{&suite{file: file, err: err}}
	}
	out := make([]unittest.Suite, len(defs))
	shared := map[string]*snapshots{}
	for i, d := range defs {
		out[i] = c.suite(file, prefix, d, d.SnapshotID, shared)
	}
	return out
}

// suite returns a suite that stores its snapshots under an ID, in one of shared.
func (c *Chart) suite(file, prefix string, d *definition, id string, shared map[string]*snapshots) *suite {
	if strings.ContainsAny(id, `/\`) { // it is part of the name of a file, which would be anywhere
		return &suite{file: file, err: &Error{File: file, Err: fmt.Errorf("snapshotId %q: want a name without slashes", id)}}
	}
	snaps := shared[id]
	if snaps == nil {
		snaps = &snapshots{file: snapshotFile(file, id), limit: c.limitBeside(file)}
		shared[id] = snaps
	}
	snaps.pending++
	return &suite{file: file, def: d, snaps: snaps,
		render: &renderer{Chart: c, def: d, prefix: prefix, file: file, selected: newSelection(d, prefix)}}
}

// defaultFileLimit is the default of loader.Limits.File.
const defaultFileLimit = 5 << 20

// limitBeside returns the size of the largest file that may be next to a suite: that of the chart's files, or 0 if
// .helmignore keeps the tests out of the chart.
func (c *Chart) limitBeside(file string) int64 {
	name, err := filepath.Rel(c.Path, file)
	if err != nil || c.Root.File(filepath.ToSlash(name)) == nil {
		return 0
	}
	return cmp.Or(c.Loader.Limits.File, defaultFileLimit)
}

// ScriptTest is a file of tests of scripts that another chart renders.
type ScriptTest struct {
	// Name is the path of its template from the directory of the chart that is tested, with slashes.
	Name string
	Text string
}

// FindRendered returns the tests that another chart renders: each document of its output is a suite, and
// each file whose name ends in .lua has tests of scripts. dir is the path of that chart from the chart's
// directory. Its scripts run before it is rendered, and those of the chart in each test. Snapshots are
// stored beside the templates.
func (c *Chart) FindRendered(ctx context.Context, dir string) (found []unittest.Suite, scripts []ScriptTest,
	err error) {
	tests, _, err := c.Loader.Load(filepath.Join(c.Path, filepath.FromSlash(dir)))
	if err != nil {
		return nil, nil, err
	}
	files, err := c.renderTests(ctx, tests)
	if err != nil {
		return nil, nil, fmt.Errorf("render the tests in %s: %w", dir, err)
	}
	for _, f := range files {
		name := path.Join(filepath.ToSlash(dir), strings.TrimPrefix(f.Name, tests.Name()+"/"))
		switch {
		case strings.TrimSpace(f.Content) == "":
		case path.Ext(name) == ".lua":
			scripts = append(scripts, ScriptTest{Name: name, Text: f.Content})
		default:
			found = append(found, c.parseRendered(filepath.Join(c.Path, filepath.FromSlash(name)), f.Content)...)
		}
	}
	return found, scripts, nil
}

// renderTests renders a chart of tests, as for an install.
func (c *Chart) renderTests(ctx context.Context, tests *chart.Chart) ([]engine.File, error) {
	res, err := values.Resolve(tests, nil)
	if err == nil {
		_, err = dependency.Libraries(res.Chart)
	}
	if err != nil {
		return nil, err
	}
	rel := engine.Release{Name: "RELEASE-NAME", Namespace: "NAMESPACE", IsInstall: true}
	op := c.operationOf(tests, rel, engine.DefaultCapabilities(), nil)
	defer op.close()
	pre, err := op.begin(ctx, event.Payload{Chart: res.Chart, Values: res.Values})
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(ctx, engine.Input{Chart: pre.Chart, Values: res.Rounded(pre.Values), Rounded: true,
		Release: rel, Functions: pre.Functions})
	if err != nil {
		return nil, err
	}
	return rendered.Files, nil
}

// parseRendered returns the suites of a file that was rendered. Their names are those of their snapshots.
func (c *Chart) parseRendered(file, text string) []unittest.Suite {
	defs, err := parseDefinitions(file, []byte(text), c.Strict)
	if err != nil {
		return []unittest.Suite{&suite{file: file, err: err}}
	}
	out := make([]unittest.Suite, len(defs))
	shared := map[string]*snapshots{}
	for i, d := range defs {
		id := d.SnapshotID
		if id == "" {
			id = fmt.Sprint(i)
		}
		if d.Suite == "" {
			err := &Error{File: file, Err: errors.New("a suite that is rendered needs a name, the field suite")}
			out[i] = &suite{file: file, err: err}
			continue
		}
		out[i] = c.suite(file, "", d, id, shared)
	}
	return out
}

// Glob returns the regular files below dir that match one of the patterns, sorted and each once: *
// stands for any text without slashes, ? for a character, and ** for any number of directories. Slashes
// and backslashes separate names.
func Glob(dir string, patterns []string) ([]string, error) {
	var out []string
	for _, p := range patterns {
		p = path.Clean(strings.ReplaceAll(p, "\\", "/"))
		names := strings.Split(p, "/")
		// Directories without wildcards need no walk, and may lead out of dir.
		fixed := 0
		for fixed < len(names)-1 && !strings.ContainsAny(names[fixed], "*?[") {
			fixed++
		}
		root := filepath.Join(dir, filepath.FromSlash(strings.Join(names[:fixed], "/")))
		if strings.HasPrefix(p, "/") {
			root = filepath.FromSlash("/" + strings.Join(names[:fixed], "/"))
		}
		found, err := glob(root, names[fixed:])
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func glob(dir string, names []string) (out []string, err error) {
	if slices.Contains(names, "**") {
		err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(dir, file)
			if err == nil && matchNames(names, strings.Split(filepath.ToSlash(rel), "/")) {
				out = append(out, file)
			}
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return out, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil // no directory, no files
	}
	for _, e := range entries {
		ok, err := path.Match(names[0], e.Name())
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", strings.Join(names, "/"), err)
		}
		file := filepath.Join(dir, e.Name())
		switch {
		case !ok:
		case len(names) == 1:
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				out = append(out, file)
			}
		default:
			found, err := glob(file, names[1:])
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
	}
	return out, nil
}

func matchNames(patterns, names []string) bool {
	switch {
	case len(patterns) == 0:
		return len(names) == 0
	case patterns[0] == "**":
		for i := range len(names) + 1 {
			if matchNames(patterns[1:], names[i:]) {
				return true
			}
		}
		return false
	case len(names) == 0:
		return false
	}
	ok, err := path.Match(patterns[0], names[0])
	return err == nil && ok && matchNames(patterns[1:], names[1:])
}
