// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/script/wire"
)

// settle works out what the changes come to. Nothing has happened yet when it
// returns an error; commit makes the payload what it is to be.
func (st *stage) settle(c *changes) (commit func(), err error) {
	root := st.payload.Chart
	if root == nil {
		return func() {}, nil
	}
	slices.SortStableFunc(st.order, func(a, b *chart.Chart) int { return depthOf(a) - depthOf(b) })
	for _, at := range st.order {
		st.replace(at)
	}
	var then []func()
	steps := []func(*changes, *chart.Chart) (func(), error){st.settleValues, st.settleFiles, st.settleDependencies,
		st.settleObjects}
	for _, step := range steps {
		do, err := step(c, root)
		if err != nil {
			return nil, err
		}
		if do != nil {
			then = append(then, do)
		}
	}
	return all(then), nil
}

// all does one after the other.
func all(steps []func()) func() {
	return func() {
		for _, do := range steps {
			do()
		}
	}
}

func depthOf(c *chart.Chart) (n int) {
	for ; c != nil; c = c.Parent() {
		n++
	}
	return n
}

// replace notes which fields of the context of a chart stand replaced.
func (st *stage) replace(at *chart.Chart) {
	for field, v := range st.contexts[at].apply.set {
		var n *node
		if field == "values" {
			n = st.scope(at)
		} else {
			n = st.list(at, field)
		}
		if ref, ok := v.(wire.Ref); ok && st.handles.byID[ref.ID] == n {
			continue // itself
		}
		n.apply.replaced, n.apply.whole = v, true
		n.soil()
	}
}

// settleValues makes the root's new values: those of the charts below it are a
// part of them, and what is global is so everywhere.
func (st *stage) settleValues(c *changes, root *chart.Chart) (func(), error) {
	n := st.scopes[root]
	if n == nil || !n.apply.dirty {
		return nil, nil
	}
	v, err := c.resolve(n, 0)
	if err != nil {
		return nil, err
	}
	now, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("values must be a map")
	}
	if now, err = st.globalize(root, table(st.payload.Values), now); err != nil {
		return nil, err
	}
	return func() { st.payload.Values = now }, nil
}

// settleFiles makes the new files and templates of all charts.
func (st *stage) settleFiles(c *changes, root *chart.Chart) (func(), error) {
	var then []func()
	var err error
	root.Walk(func(at *chart.Chart) {
		for _, field := range []string{"files", "templates"} {
			n := st.lists[listKey{at, field}]
			if n == nil || err != nil {
				continue
			}
			full := at.Files
			if field == "templates" {
				full = at.Templates
			}
			var now []*chart.File
			if now, err = st.files(c, n, field, full); err != nil || now == nil {
				continue
			}
			then = append(then, func() {
				if field == "templates" {
					at.Templates = now
				} else {
					at.Files = now
					if st.kept {
						adoptSchema(at)
					}
				}
			})
		}
	})
	if err != nil || len(then) == 0 {
		return nil, err
	}
	return all(then), nil
}

// adoptSchema keeps the two places where a chart's values.schema.yaml stands
// alike.
func adoptSchema(c *chart.Chart) {
	c.SchemaYAML = nil
	for _, f := range c.Files {
		if f.Name == chart.FileSchemaYAML {
			c.SchemaYAML = f.Data
		}
	}
}

// files are what full becomes, nil where nothing changed.
func (st *stage) files(c *changes, n *node, field string, full []*chart.File) ([]*chart.File, error) {
	touched := n.changed()
	offered := map[*chart.File]bool{}
	for _, el := range n.looked() {
		k := el.(*node)
		offered[k.origin.(*chart.File)] = true
		touched = touched || k.apply.dirty
	}
	if !touched {
		return nil, nil
	}
	els, err := c.elements(n)
	if err != nil {
		return nil, err
	}
	now := make([]*chart.File, len(els))
	made := map[*chart.File]*chart.File{}
	for i, el := range els {
		f, err := el.file(c)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, i+1, err)
		}
		now[i] = f
		if el.node != nil {
			if was := el.node.origin.(*chart.File); offered[was] {
				now[i], made[was] = was, f // in its old place until all places are known
				if was.Name == f.Name {
					continue
				}
			}
		}
		if err := checkFileName(field, f.Name); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, i+1, err)
		}
	}
	out := merge(full, offered, now)
	seen := make(map[string]bool, len(out))
	for i, f := range out {
		if made[f] != nil {
			out[i] = made[f]
		}
		if name := out[i].Name; seen[name] {
			return nil, fmt.Errorf("%s: there are two with the name %q", field, name)
		}
		seen[out[i].Name] = true
	}
	if out == nil {
		out = []*chart.File{}
	}
	return out, nil
}

// file is the element as a file: the one that it was where it did not change.
func (e element) file(c *changes) (*chart.File, error) {
	var was *chart.File
	if e.node != nil {
		was = e.node.origin.(*chart.File)
		if !e.node.apply.dirty {
			return was, nil
		}
	}
	m, err := e.data(c, 1)
	if err != nil {
		return nil, err
	}
	name, ok1 := m["name"].(string)
	data, ok2 := m["data"].(string)
	if !ok1 || !ok2 || len(m) != 2 {
		return nil, errors.New("must be a map with name and data, both text, and nothing else")
	}
	if was != nil && was.Name == name && string(was.Data) == data {
		return was, nil
	}
	return &chart.File{Name: name, Data: []byte(data)}, nil
}

// checkFileName tells why a chart can have no file of that name, or no
// template.
func checkFileName(field, name string) error {
	if err := oneLine(name); err != nil {
		return fmt.Errorf("the name %w", err)
	}
	if name == "" || name == "." || strings.Contains(name, `\`) || path.IsAbs(name) || path.Clean(name) != name ||
		name == ".." || strings.HasPrefix(name, "../") || strings.Contains(name, ":") {
		return fmt.Errorf("the name %q must be a path inside the chart, such as %q", clip(name, 80), "config/app.conf")
	}
	inTemplates := strings.HasPrefix(name, chart.DirTemplates+"/")
	if field == "templates" {
		if !inTemplates {
			return fmt.Errorf("the name %q must begin with %q", clip(name, 80), chart.DirTemplates+"/")
		}
		return nil
	}
	// Upper case does not help: there are systems to which it is the same file.
	first, _, _ := strings.Cut(name, "/")
	for _, dir := range []string{chart.DirTemplates, chart.DirCharts, chart.DirLibrary, chart.DirExt} {
		if strings.EqualFold(first, dir) {
			return fmt.Errorf("the name %q is not for files: %s/ has a meaning of its own", clip(name, 80), dir)
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

// oneLine tells what text may not hold that is to stay on one line.
func oneLine(text string) error {
	if strings.IndexFunc(text, unicode.IsControl) >= 0 {
		return fmt.Errorf("%q must not hold control characters", clip(text, 80))
	}
	return nil
}

// settleDependencies makes the new lists of dependencies of all charts.
func (st *stage) settleDependencies(c *changes, root *chart.Chart) (func(), error) {
	var then []func()
	var err error
	root.Walk(func(at *chart.Chart) {
		n := st.lists[listKey{at, "dependencies"}]
		if n == nil || err != nil {
			return
		}
		var now []*chart.Dependency
		if now, err = st.dependencies(c, n); err != nil || now == nil {
			return
		}
		md := *at.Metadata
		md.Dependencies = now
		if wrong := (&chart.Metadata{APIVersion: chart.APIVersionV2, Name: md.Name, Version: "0.0.0",
			Dependencies: now}).Validate(); wrong != nil {
			err = fmt.Errorf("dependencies: %w", wrong)
			return
		}
		then = append(then, func() { at.Metadata = &md })
	})
	if err != nil || len(then) == 0 {
		return nil, err
	}
	return all(then), nil
}

func (st *stage) dependencies(c *changes, n *node) ([]*chart.Dependency, error) {
	touched := n.changed()
	for _, el := range n.looked() {
		touched = touched || el.(*node).apply.dirty
	}
	if !touched {
		return nil, nil
	}
	els, err := c.elements(n)
	if err != nil {
		return nil, err
	}
	out := make([]*chart.Dependency, len(els))
	for i, el := range els {
		if el.node != nil && !el.node.apply.dirty {
			out[i] = el.node.origin.(*chart.Dependency)
			continue
		}
		m, err := el.data(c, 1)
		if err == nil {
			out[i], err = readDependency(m)
		}
		if err != nil {
			return nil, fmt.Errorf("dependencies[%d]: %w", i+1, err)
		}
	}
	return out, nil
}

// readTexts is a list that holds nothing but texts.
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

// readDependency is the opposite of [dependencyFields].
func readDependency(m map[string]any) (*chart.Dependency, error) {
	d := &chart.Dependency{}
	for k, v := range m {
		var ok bool
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
		case "import-values":
			d.ImportValues, ok = v.([]any)
		case "tags":
			d.Tags, ok = readTexts(v)
		case "depends-on":
			d.DependsOn, ok = readTexts(v)
		default:
			return nil, fmt.Errorf("%q is not a field of a dependency", clip(k, 80))
		}
		if !ok && v != nil {
			return nil, fmt.Errorf("%s is of the wrong type", k)
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

// settleObjects makes the new list of objects out of what the contexts of
// several charts show of it.
func (st *stage) settleObjects(c *changes, _ *chart.Chart) (func(), error) {
	made, err := st.edited(c)
	if err != nil {
		return nil, err
	}
	full := st.payload.Objects
	touched := len(made) > 0
	for _, at := range st.order {
		n := st.lists[listKey{at, "objects"}]
		if n == nil || !n.changed() {
			continue
		}
		touched = true
		els, err := c.elements(n)
		if err != nil {
			return nil, err
		}
		offered := map[*manifest.Object]bool{}
		for _, el := range n.looked() {
			offered[el.(*node).origin.(*manifest.Object)] = true
		}
		now := make([]*manifest.Object, len(els))
		for i, el := range els {
			if el.node != nil {
				now[i] = el.node.origin.(*manifest.Object)
				continue
			}
			if now[i], err = newObject(at, el.new); err != nil {
				return nil, fmt.Errorf("objects[%d]: %w", i+1, err)
			}
		}
		full = merge(full, offered, now)
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
	return func() { st.payload.Objects = out }, nil
}

// edited are the objects that a script has changed.
func (st *stage) edited(c *changes) (map[*manifest.Object]*manifest.Object, error) {
	made := map[*manifest.Object]*manifest.Object{}
	for o, n := range st.objects {
		if !n.apply.dirty {
			continue
		}
		v, err := c.resolve(n, 1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.name(), err)
		}
		m, ok := v.(map[string]any)
		if was, _ := o.Map(); ok && identical(m, was) {
			continue
		}
		if err := checkObject(m); err != nil {
			return nil, fmt.Errorf("%s: %w", n.name(), err)
		}
		raw, err := manifest.Edit(o.Raw, m)
		if err == nil && raw != o.Raw {
			made[o], err = parseObject(o.Source, raw)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.name(), err)
		}
	}
	return made, nil
}

// newObject is an object that a script of chart c has made.
func newObject(c *chart.Chart, m map[string]any) (*manifest.Object, error) {
	if err := checkObject(m); err != nil {
		return nil, err
	}
	raw, err := manifest.Encode(m)
	if err != nil {
		return nil, err
	}
	return parseObject(c.FullPath()+"/"+chart.FileScript, raw)
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
