// SPDX-License-Identifier: Apache-2.0

package script

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
)

// tree is a chart with all charts below it, in the order in which their scripts load:
// subcharts before their parents, the top chart last.
type tree struct {
	charts []*treeChart
	byNode map[*chart.Chart]*treeChart
}

// treeChart is one chart of a tree.
type treeChart struct {
	index  int
	chart  *chart.Chart
	name   string
	path   string
	grants []string
	// files are the scripts by their names below ext/lua.
	files map[string]string
}

// treeOf returns the tree of c, without permissions.
func treeOf(c *chart.Chart) *tree {
	t := &tree{byNode: map[*chart.Chart]*treeChart{}}
	t.add(c)
	return t
}

// newTree returns the tree of c. The error is that of a chart's permissions, or an
// [*InterfaceError].
func newTree(c *chart.Chart) (*tree, error) {
	t := treeOf(c)
	var err error
	c.Walk(func(c *chart.Chart) { // the top chart first: its errors come first
		if err == nil {
			err = t.byNode[c].checkInterface()
		}
		if err == nil {
			t.byNode[c].grants, err = Permissions(c)
		}
	})
	return t, err
}

func (t *tree) add(c *chart.Chart) {
	for _, d := range c.Dependencies() {
		t.add(d)
	}
	m := &treeChart{index: len(t.charts), chart: c, name: c.Name(), path: c.FullPath(), files: map[string]string{}}
	for _, f := range c.Files {
		if name, ok := strings.CutPrefix(f.Name, chart.DirScripts+"/"); ok && path.Ext(name) == ".lua" {
			m.files[name] = string(f.Data)
		}
	}
	t.charts = append(t.charts, m)
	t.byNode[c] = m
}

// digest returns a hash of the scripts of a chart.
func (m *treeChart) digest() [sha256.Size]byte {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		fmt.Fprintf(h, "%q %q\n", name, m.files[name])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// top returns the top chart.
func (t *tree) top() *treeChart { return t.charts[len(t.charts)-1] }

// chartOf returns the chart of which the process speaks, nil for an index that is none.
func (t *tree) chartOf(f fields) *treeChart {
	at, ok := f["chart"].(int64)
	if !ok || at < 0 || at >= int64(len(t.charts)) {
		return nil
	}
	return t.charts[at]
}

// asks returns the permissions that the charts ask for, the top chart first.
func (t *tree) asks() []Ask {
	var out []Ask
	t.top().chart.Walk(func(c *chart.Chart) {
		if m := t.byNode[c]; len(m.grants) > 0 {
			out = append(out, Ask{Chart: m.name, Path: m.path, Permissions: m.grants, scripts: m.digest()})
		}
	})
	return out
}

// message returns the charts as [wire.Start] describes them.
func (t *tree) message() []any {
	out := make([]any, len(t.charts))
	for i, m := range t.charts {
		parent := -1
		if p := t.byNode[m.chart.Parent()]; p != nil {
			parent = p.index
		}
		requires := map[string]any{}
		for name, of := range dependency.Named(m.chart) {
			if r := t.byNode[of]; r != nil {
				requires[name] = int64(r.index)
			}
		}
		out[i] = map[string]any{
			"name": m.name, "path": m.path, "parent": int64(parent), "library": m.chart.IsLibrary(),
			"files": textMap(m.files), "requires": requires, "grants": texts(m.grants),
		}
	}
	return out
}

// script returns the text of a file of the chart's scripts, "" where there is none.
func (m *treeChart) script(file string) string {
	name, _ := strings.CutPrefix(file, chart.DirScripts+"/")
	return m.files[name]
}

// line returns a line of a chart's script, "" where there is none.
func (m *treeChart) line(file string, n int) string {
	for line := range strings.Lines(m.script(file)) {
		if n--; n == 0 {
			return strings.TrimRight(line, "\r\n")
		}
	}
	return ""
}
