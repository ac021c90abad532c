// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/script/wire"
)

// commit works out what the changes come to. Nothing has happened yet when it returns;
// apply makes the payload what it is to be.
func (s *snapshot) commit(c *changes) (apply func(), err error) {
	root := s.payload.Chart
	if root == nil {
		return func() {}, nil
	}
	var steps []func()
	for _, of := range []func(*changes, *chart.Chart) ([]func(), error){
		s.commitValues, s.commitFiles, s.commitDependencies, s.commitObjects,
	} {
		more, err := of(c, root)
		if err != nil {
			return nil, err
		}
		steps = append(steps, more...)
	}
	return func() {
		for _, step := range steps {
			step()
		}
	}, nil
}

// commitValues makes the root's new values. Those of the charts below it are part of them,
// and what is global is so everywhere.
func (s *snapshot) commitValues(c *changes, root *chart.Chart) ([]func(), error) {
	n := s.scopes[root]
	if n == nil || !n.dirty {
		return nil, nil
	}
	v, err := c.resolve(n, 0)
	if err != nil {
		return nil, err
	}
	now, err := s.spreadGlobals(root, table(s.payload.Values), v.(map[string]any))
	if err != nil {
		return nil, err
	}
	return []func(){func() { s.payload.Values = now }}, nil
}

// commitFiles makes the new files and templates of all charts.
func (s *snapshot) commitFiles(c *changes, _ *chart.Chart) (steps []func(), err error) {
	for _, at := range s.ordered() {
		for _, field := range []string{"files", "templates"} {
			n := s.lists[listKey{at, field}]
			if n == nil || !n.dirty {
				continue
			}
			list := fileList(at, field)
			now, err := c.files(n, *list)
			if err != nil {
				return nil, err
			}
			steps = append(steps, func() {
				*list = now
				if s.written && field == "files" {
					adoptSchema(at)
				}
			})
		}
	}
	return steps, nil
}

// adoptSchema makes the chart's schema what its file values.schema.yaml says.
func adoptSchema(c *chart.Chart) {
	c.SchemaYAML = nil
	for _, f := range c.Files {
		if f.Name == chart.FileSchemaYAML {
			c.SchemaYAML = f.Data
		}
	}
}

// files returns what the files full of a chart become.
func (c *changes) files(n *node, full []*chart.File) ([]*chart.File, error) {
	els, err := c.elements(n)
	if err != nil {
		return nil, err
	}
	now := make([]*chart.File, len(els))
	made := map[*chart.File]*chart.File{} // what others become, in their old place until all places are known
	for i, el := range els {
		was, _ := el.origin.(*chart.File)
		f, err := newFile(was, el.data, n.title == "templates")
		if err == nil && (was == nil || was.Name != f.Name) {
			err = checkFileName(n.title, f.Name)
		}
		if err != nil {
			return nil, &itemError{n, i, 0, err}
		}
		if now[i] = f; was != nil {
			now[i], made[was] = was, f
		}
	}
	out := merge(full, offered[*chart.File](c, n), now)
	seen := make(map[string]bool, len(out))
	for i, f := range out {
		if made[f] != nil {
			out[i] = made[f]
		}
		if name := out[i].Name; seen[name] {
			return nil, &itemError{n, slices.Index(now, f), 0,
				fmt.Errorf("there are two with the name %q", truncate.Bytes(name, 80, "…"))}
		}
		seen[out[i].Name] = true
	}
	if out == nil {
		out = []*chart.File{}
	}
	return out, nil
}

// offered returns what the items of a list were made of.
func offered[T comparable](c *changes, n *node) map[T]bool {
	out := map[T]bool{}
	for _, ref := range n.value.([]any) {
		out[c.byID[ref.(wire.Ref).ID].origin.(T)] = true
	}
	return out
}

// newFile returns the file with these fields: was, where it is the same. The name of a
// template may lack its directory.
func newFile(was *chart.File, fields map[string]any, template bool) (*chart.File, error) {
	if fields == nil {
		return was, nil
	}
	name, ok1 := fields["name"].(string)
	data, ok2 := fields["data"].(string)
	if !ok1 || !ok2 || len(fields) != 2 {
		return nil, errors.New("must be a map with name and data, both text, and nothing else")
	}
	if was != nil && was.Name == name && string(was.Data) == data {
		return was, nil
	}
	if template && !strings.HasPrefix(name, chart.DirTemplates+"/") && fs.ValidPath(name) {
		name = chart.DirTemplates + "/" + name
	}
	return &chart.File{Name: name, Data: []byte(data)}, nil
}

// checkFileName returns an error for a name that none of a chart's files, or templates, can
// have.
func checkFileName(field, name string) error {
	if err := oneLine(name); err != nil {
		return fmt.Errorf("the name %w", err)
	}
	if name == "" || name == "." || strings.Contains(name, `\`) || path.IsAbs(name) || path.Clean(name) != name ||
		name == ".." || strings.HasPrefix(name, "../") || strings.Contains(name, ":") {
		return fmt.Errorf("the name %q must be a path inside the chart, such as %q",
			truncate.Bytes(name, 80, "…"), "config/app.conf")
	}
	inTemplates := strings.HasPrefix(name, chart.DirTemplates+"/")
	if inTemplates && field == "templates" {
		return nil
	}
	// Upper case does not help: there are systems to which it is the same file.
	first, _, _ := strings.Cut(name, "/")
	for _, dir := range []string{chart.DirTemplates, chart.DirCharts, chart.DirLibrary, chart.DirExt} {
		if strings.EqualFold(first, dir) {
			return fmt.Errorf("the name %q is not for files: %s/ has a meaning of its own", truncate.Bytes(name, 80, "…"), dir)
		}
	}
	for _, file := range []string{chart.FileMetadata, chart.FileLock, chart.FileValues, chart.FileSchema,
		chart.FileRequirements, chart.FileRequirementsLock} {
		if strings.EqualFold(first, file) {
			return fmt.Errorf("%s cannot be changed as a file", file)
		}
	}
	return nil
}

// oneLine returns an error for text that would not stay on its line.
func oneLine(text string) error {
	if strings.IndexFunc(text, unicode.IsControl) >= 0 {
		return fmt.Errorf("%q must not hold control characters", truncate.Bytes(text, 80, "…"))
	}
	return nil
}

// commitDependencies makes the new lists of dependencies of all charts.
func (s *snapshot) commitDependencies(c *changes, _ *chart.Chart) (steps []func(), err error) {
	for _, at := range s.ordered() {
		n := s.lists[listKey{at, "dependencies"}]
		if n == nil || !n.dirty {
			continue
		}
		md := metadata(at)
		if md.Dependencies, err = c.dependencies(n); err != nil {
			return nil, err
		}
		if wrong := (&chart.Metadata{APIVersion: chart.APIVersionV2, Name: md.Name, Version: "0.0.0",
			Dependencies: md.Dependencies}).Validate(); wrong != nil {
			return nil, fmt.Errorf("dependencies: %w", wrong)
		}
		steps = append(steps, func() { at.Metadata = &md })
	}
	return steps, nil
}

func (c *changes) dependencies(n *node) ([]*chart.Dependency, error) {
	els, err := c.elements(n)
	if err != nil {
		return nil, err
	}
	out := make([]*chart.Dependency, len(els))
	for i, el := range els {
		if el.data == nil {
			out[i] = el.origin.(*chart.Dependency)
		} else if out[i], err = readDependency(el.data); err != nil {
			return nil, &itemError{n, i, 0, err}
		}
	}
	return out, nil
}

// readTexts returns a list that holds strings and nothing else.
func readTexts(v any) ([]string, bool) {
	l, ok := v.([]any)
	var out []string
	for _, e := range l {
		t, isText := e.(string)
		ok = ok && isText
		out = append(out, t)
	}
	return out, ok
}

// readDependency reverses dependencyFields.
func readDependency(m map[string]any) (*chart.Dependency, error) {
	d := &chart.Dependency{}
	for k, v := range m {
		var ok bool
		want := "text"
		switch k {
		case "name":
			d.Name, ok = v.(string)
		case "version":
			d.Version, ok = v.(string)
		case "repository":
			d.Repository, ok = v.(string)
		case "condition":
			d.Condition, ok = v.(string)
		case "alias":
			d.Alias, ok = v.(string)
		case "enabled":
			d.Enabled, ok = v.(bool)
			want = "true or false"
		case "import-values":
			d.ImportValues, ok = v.([]any)
			want = "a list"
		case "export-values":
			d.ExportValues, ok = v.([]any)
			want = "a list"
		case "tags":
			d.Tags, ok = readTexts(v)
			want = "a list of text"
		case "depends-on":
			d.DependsOn, ok = readTexts(v)
			want = "a list of text"
		default:
			return nil, fmt.Errorf("%q is not a field of a dependency", truncate.Bytes(k, 80, "…"))
		}
		if !ok && v != nil {
			return nil, fmt.Errorf("%s must be %s", k, want)
		}
	}
	if err := chart.ValidateName(d.Name); err != nil {
		return nil, fmt.Errorf("name %w", err)
	}
	for _, text := range []string{d.Version, d.Repository, d.Condition} {
		if err := oneLine(text); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// commitObjects makes the new list of objects out of what the contexts of several charts
// show of it.
func (s *snapshot) commitObjects(c *changes, _ *chart.Chart) ([]func(), error) {
	made, err := s.edited(c)
	if err != nil {
		return nil, err
	}
	full := s.payload.Objects
	touched := len(made) > 0
	for _, at := range s.ordered() {
		n := s.lists[listKey{at, "objects"}]
		if n == nil || n.now == nil {
			continue
		}
		touched = true
		els, err := c.elements(n)
		if err != nil {
			return nil, err
		}
		now := make([]*manifest.Object, len(els))
		for i, el := range els {
			if el.origin != nil {
				now[i] = el.origin.(*manifest.Object)
			} else if now[i], err = newObject(at, el.data); err != nil {
				return nil, &itemError{n, i, 0, err}
			}
		}
		full = merge(full, offered[*manifest.Object](c, n), now)
	}
	if !touched {
		return nil, nil
	}
	out := make([]*manifest.Object, len(full))
	for i, o := range full {
		if out[i] = o; made[o] != nil {
			out[i] = made[o]
		}
	}
	return []func(){func() { s.payload.Objects = out }}, nil
}

// edited returns what the objects become that a script has changed.
func (s *snapshot) edited(c *changes) (map[*manifest.Object]*manifest.Object, error) {
	made := map[*manifest.Object]*manifest.Object{}
	for _, o := range s.payload.Objects {
		n := s.objects[o]
		if n == nil || !n.dirty {
			continue
		}
		v, err := c.resolve(n, 1)
		if err != nil {
			return nil, &itemError{n.parent, n.index, n.ID, err}
		}
		m := v.(map[string]any)
		was, _ := o.Map()
		if identical(m, was) {
			continue
		}
		if was["name"] == nil {
			m = withName(m)
		}
		if err := checkObject(m); err != nil {
			return nil, &itemError{n.parent, n.index, n.ID, err}
		}
		raw, err := manifest.Edit(o.Raw, m)
		if err == nil && raw != o.Raw {
			made[o], err = parseObject(o.Source, raw)
		}
		if err != nil {
			return nil, &itemError{n.parent, n.index, n.ID, err}
		}
	}
	return made, nil
}

// newObject returns an object that a script of chart c has made.
func newObject(c *chart.Chart, m map[string]any) (*manifest.Object, error) {
	m = withName(m)
	if err := checkObject(m); err != nil {
		return nil, err
	}
	raw, err := manifest.Encode(m)
	if err != nil {
		return nil, err
	}
	return parseObject(c.FullPath()+"/"+chart.FileScript, raw)
}

// withName returns an object whose name is where scripts may write it, next to its kind, with
// the name in its metadata. An object that has one there too is returned as it is.
func withName(m map[string]any) map[string]any {
	name, ok := m["name"].(string)
	metadata, isMap := m["metadata"].(map[string]any)
	if _, named := metadata["name"]; !ok || named || !isMap && m["metadata"] != nil {
		return m
	}
	out := maps.Clone(m)
	if metadata = maps.Clone(metadata); metadata == nil {
		metadata = map[string]any{}
	}
	metadata["name"] = name
	out["metadata"] = metadata
	delete(out, "name")
	return out
}

func parseObject(source, raw string) (*manifest.Object, error) {
	objs, err := manifest.Parse(source, raw)
	if err != nil {
		return nil, err
	}
	if len(objs) != 1 {
		return nil, fmt.Errorf("it became %d documents instead of one", len(objs))
	}
	return objs[0], nil
}

func checkObject(m map[string]any) error {
	for _, key := range []string{"apiVersion", "kind"} {
		if text, ok := m[key].(string); !ok || text == "" {
			return fmt.Errorf("an object needs %s, as text", key)
		}
	}
	return nil
}

// merge returns full with those of its elements that are in old replaced by now: what is in
// now keeps its order, what is missing there is gone, and what is new stands behind its
// neighbour. Elements that are not in old stay where they are; those of now that are in old
// and no longer in full are left out.
func merge[T comparable](full []T, old map[T]bool, now []T) []T {
	here := make(map[T]bool, len(full))
	for _, x := range full {
		here[x] = true
	}
	// runs are the elements of now, each that was there followed by the new ones
	// behind it; the first run has only new ones.
	runs := [][]T{nil}
	kept := make(map[T]bool, len(now))
	for _, x := range now {
		switch {
		case old[x] && (!here[x] || kept[x]):
			continue
		case old[x]:
			kept[x] = true
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], x)
	}
	var out []T
	next := 0
	for _, x := range full {
		if !old[x] {
			out = append(out, x)
			continue
		}
		if next == 0 {
			out = append(out, runs[0]...)
			next = 1
		}
		if kept[x] && next < len(runs) {
			out = append(out, runs[next]...)
			next++
		}
	}
	if next == 0 {
		out = append(out, runs[0]...)
	}
	return out
}
