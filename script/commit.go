// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/script/wire"
)

// commit works out what the changes come to. Nothing has happened yet when it returns: the
// steps of c make the payload what it is to be.
func (s *snapshot) commit(c *changes) error {
	if s.payload.Chart == nil {
		return nil
	}
	for _, of := range []func(*changes) error{
		s.commitValues, s.commitFiles, s.commitDependencies, s.commitObjects, s.commitVersions,
	} {
		if err := of(c); err != nil {
			return err
		}
	}
	return nil
}

// commitValues makes the root's new values. Those of the charts below it are part of them,
// and what is global is so everywhere.
func (s *snapshot) commitValues(c *changes) error {
	root := s.payload.Chart
	n := s.scopes[root]
	if n == nil || !n.dirty {
		return nil
	}
	v, err := c.resolve(n, 0)
	if err != nil {
		return err
	}
	now, err := s.spreadGlobals(root, table(s.payload.Values), v.(map[string]any))
	if err != nil {
		return err
	}
	c.then(func() { s.payload.Values = now })
	return nil
}

// commitFiles makes the new files and templates of all charts.
func (s *snapshot) commitFiles(c *changes) error {
	for _, field := range []string{"files", "templates"} {
		for _, at := range s.changed(field) {
			list := fileList(at, field)
			now, err := c.files(s.lists[listKey{at, field}], *list)
			if err != nil {
				return err
			}
			c.then(func() {
				*list = now
				if s.written && field == "files" {
					adoptSchema(at)
				}
			})
		}
	}
	return nil
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
	made := map[*chart.File]*chart.File{} // what others become, in their old place until all places are known
	now, err := readItems(c, n, func(was *chart.File, data map[string]any) (*chart.File, error) {
		f, err := newFile(was, data, n.title == "templates")
		if err == nil && (was == nil || was.Name != f.Name) {
			err = checkFileName(n.title, f.Name)
		}
		if was == nil || err != nil {
			return f, err
		}
		made[was] = f
		return was, nil
	})
	if err != nil {
		return nil, err
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
		out[c.nodes[ref.(wire.Ref).ID].origin.(T)] = true
	}
	return out
}

// newFile returns the file with these fields: was, where it is the same. The name of a
// template may lack its directory.
func newFile(was *chart.File, item map[string]any, template bool) (*chart.File, error) {
	if item == nil {
		return was, nil
	}
	name, ok1 := item["name"].(string)
	data, ok2 := item["data"].(string)
	if !ok1 || !ok2 || len(item) != 2 {
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
	if name == "." || !fs.ValidPath(name) || strings.ContainsAny(name, `\:`) {
		return fmt.Errorf("the name %q must be a path inside the chart, such as %q",
			truncate.Bytes(name, 80, "…"), "config/app.conf")
	}
	if field == "templates" && strings.HasPrefix(name, chart.DirTemplates+"/") {
		return nil
	}
	// Upper case does not help, nor do dots and spaces at the end: there are systems to which it is
	// the same file.
	first, _, _ := strings.Cut(name, "/")
	first = strings.TrimRight(first, ". ")
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
func (s *snapshot) commitDependencies(c *changes) error {
	for _, at := range s.changed("dependencies") {
		n := s.lists[listKey{at, "dependencies"}]
		now, err := readItems(c, n, func(was *chart.Dependency, data map[string]any) (*chart.Dependency, error) {
			if data == nil {
				return was, nil
			}
			return readDependency(data)
		})
		if err != nil {
			return err
		}
		md := metadata(at)
		md.Dependencies = now
		if wrong := (&chart.Metadata{APIVersion: chart.APIVersionV2, Name: md.Name, Version: "0.0.0",
			Dependencies: now}).Validate(); wrong != nil {
			return fmt.Errorf("dependencies: %w", wrong)
		}
		c.then(func() { at.Metadata = &md })
	}
	return nil
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

// metadata returns a copy of the chart's metadata.
func metadata(c *chart.Chart) chart.Metadata {
	if c.Metadata == nil {
		return chart.Metadata{}
	}
	return *c.Metadata
}

// commitVersions sets the versions of the chart that is packed. Its dependencies may be set
// before.
func (s *snapshot) commitVersions(c *changes) error {
	if len(s.versions) == 0 {
		return nil
	}
	c.then(func() {
		md := metadata(s.payload.Chart)
		if text, ok := s.versions["version"]; ok {
			md.Version = text
		}
		if text, ok := s.versions["appVersion"]; ok {
			md.AppVersion = text
		}
		s.payload.Chart.Metadata = &md
	})
	return nil
}

// commitObjects makes the new list of objects out of what the contexts of several charts
// show of it.
func (s *snapshot) commitObjects(c *changes) error {
	made, err := s.edited(c)
	if err != nil {
		return err
	}
	full := s.payload.Objects
	for _, at := range s.changed("objects") {
		n := s.lists[listKey{at, "objects"}]
		if n.now == nil {
			continue
		}
		now, err := readItems(c, n, func(was *manifest.Object, data map[string]any) (*manifest.Object, error) {
			if was != nil {
				return was, nil
			}
			return newObject(at, data)
		})
		if err != nil {
			return err
		}
		full = merge(full, offered[*manifest.Object](c, n), now)
	}
	out := make([]*manifest.Object, len(full))
	for i, o := range full {
		if out[i] = o; made[o] != nil {
			out[i] = made[o]
		}
	}
	if !slices.Equal(out, s.payload.Objects) {
		c.then(func() { s.payload.Objects = out })
	}
	return nil
}

// edited returns what the objects become that a script has changed.
func (s *snapshot) edited(c *changes) (map[*manifest.Object]*manifest.Object, error) {
	made := map[*manifest.Object]*manifest.Object{}
	for _, o := range s.payload.Objects {
		n := s.objects[o]
		if n == nil || !n.dirty {
			continue
		}
		now, err := c.object(n, o)
		if err != nil {
			return nil, &itemError{n.parent, n.index, n.ID, err}
		}
		made[o] = now
	}
	return made, nil
}

// object returns what the object of a node becomes: o itself where it is the same.
func (c *changes) object(n *node, o *manifest.Object) (*manifest.Object, error) {
	v, err := c.resolve(n, 1)
	if err != nil {
		return nil, err
	}
	m := v.(map[string]any)
	was, _ := o.Map()
	if identical(m, was) {
		return o, nil
	}
	if was["name"] == nil {
		m = withName(m)
	}
	if err := checkObject(m); err != nil {
		return nil, err
	}
	raw, err := manifest.Edit(o.Raw, m)
	if err != nil || raw == o.Raw {
		return o, err
	}
	return parseObject(o.Source, raw)
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
	out, metadata := maps.Clone(m), maps.Clone(table(metadata))
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
// now keeps its order, what is missing there is gone, and what is new comes after its
// neighbour. Elements that are not in old stay where they are; those of now that are in old
// and no longer in full are left out.
func merge[T comparable](full []T, old map[T]bool, now []T) []T {
	here := make(map[T]bool, len(full))
	for _, x := range full {
		here[x] = true
	}
	// runs are the elements of now, each that was there followed by the new ones
	// after it; the first run has only new ones.
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
