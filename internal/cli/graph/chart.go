// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
)

// chartOptions are the flags of `helm graph chart`.
type chartOptions struct {
	Ref     string
	Output  format
	Refresh bool
	cmdutil.ChartFlags
}

func newChart(f *cmdutil.Factory) *cobra.Command {
	var o chartOptions
	cmd := &cobra.Command{
		Use:   "chart CHART",
		Short: "Draw the dependencies of a chart",
		Long: `Draw the dependencies of a chart and of its subcharts, each with the wanted, the
locked version, that in charts/ and the newest one. The newest version is that of the indexes that "helm
repo update" has downloaded; with --refresh, all repositories and registries are asked.

The status is ok, or "newer" if there is a newer version, "not vendored" if it is not in
charts/, "wrong version" if another version is, "off" if its condition in values.yaml
is false.`,
		Example:           "  helm graph chart ./umbrella\n  helm graph chart ./umbrella --refresh -o svg >dependencies.svg",
		Args:              cmdutil.Args(1, 1, "a chart: a directory, an archive, repository/name or a URL"),
		ValidArgsFunction: f.CompleteChart(1, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Ref = args[0]
			return o.run(cmd.Context(), f)
		},
	}
	o.Output.bind(cmd)
	cmd.Flags().BoolVar(&o.Refresh, "refresh", false, "ask repositories and registries for the newest versions")
	o.ChartFlags.Bind(cmd, f)
	return cmd
}

func (o *chartOptions) run(ctx context.Context, f *cmdutil.Factory) error {
	c, err := f.Chart(ctx, o.Ref, &o.ChartFlags)
	if err != nil {
		return err
	}
	root := treeOf(c)
	// Credentials are for the chart: its dependencies may be anywhere.
	host := fetch.HostOptions{CAFile: o.CAFile, SkipTLS: o.SkipTLS, PlainHTTP: o.PlainHTTP}
	if err := findNewest(ctx, f, root, o.Refresh, host); err != nil {
		return err
	}
	if o.Output == asText {
		return writeTree(f.Streams, root)
	}
	d := &drawing{title: "Dependencies of " + c.Name()}
	root.draw(d, -1, 0)
	_, err = io.WriteString(f.Out, d.text(o.Output))
	return err
}

// status returns the state of a dependency, and how it is drawn.
func (d *dependencyNode) status() (string, class) {
	switch {
	case d.parent == nil:
		return "", plain
	case d.disabled != "":
		return "off: " + d.disabled, off
	case d.vendored == "":
		return "not vendored", missing
	case !d.fits:
		return "wrong version", missing
	case d.newest != "" && newer(d.newest, d.version()):
		return "newer", old
	}
	return "ok", current
}

// version returns the version in use: the locked one, or that in charts/.
func (d *dependencyNode) version() string {
	if d.locked != "" {
		return d.locked
	}
	return d.vendored
}

// draw adds the node of d and those below it to a drawing.
func (d *dependencyNode) draw(g *drawing, parent, layer int) {
	if len(g.nodes) >= maxNodes {
		return
	}
	status, class := d.status()
	n := &node{lines: []string{d.name}, class: class, layer: layer}
	vendored := d.vendored
	if d.parent == nil {
		n.lines, vendored = append(n.lines, vendored), ""
	}
	for _, v := range []struct{ name, version string }{
		{"wanted", d.wanted}, {"locked", d.locked}, {"vendored", vendored}, {"newest", d.newest},
	} {
		if v.version != "" {
			n.lines = append(n.lines, v.name+" "+v.version)
		}
	}
	if status != "" && status != "ok" && status != "newer" {
		n.lines = append(n.lines, status)
	}
	i := g.add(n)
	if parent >= 0 {
		g.edges = append(g.edges, edge{parent, i})
	}
	for _, child := range d.children {
		child.draw(g, i, layer+1)
	}
}

// writeTree prints the dependencies as a table.
func writeTree(s term.Streams, root *dependencyNode) error {
	var rows [][]string
	var classes []class
	var add func(d *dependencyNode, branch, below string)
	add = func(d *dependencyNode, branch, below string) {
		status, class := d.status()
		name, vendored := d.name, d.vendored
		if d.parent == nil {
			name, vendored = strings.TrimSpace(name+" "+vendored), ""
		}
		rows = append(rows, []string{branch + name, d.wanted, d.locked, vendored, d.newest, status})
		classes = append(classes, class)
		for i, child := range d.children {
			if i == len(d.children)-1 {
				add(child, below+"└─ ", below+"   ")
			} else {
				add(child, below+"├─ ", below+"│  ")
			}
		}
	}
	add(root, "", "")
	st := s.Style(s.Out)
	const statusColumn = 5
	g := output.Grid{Header: []string{"CHART", "WANTED", "LOCKED", "VENDORED", "NEWEST", "STATUS"}, Rows: rows,
		Style: func(row, column int, cell string) string {
			if row < 0 || column != statusColumn {
				return st.Header(row, column, cell)
			}
			return map[class]func(string) string{plain: st.Dim, current: st.Green, old: st.Yellow, missing: st.Red,
				off: st.Dim}[classes[row]](cell)
		}}
	columns := 1 << 20 // programs get whole cells
	if output.OnScreen(s) {
		columns = term.Width(s.Out)
	}
	_, err := io.WriteString(s.DrawingWriter(s.Out), g.Fit(columns))
	return err
}

// dependencyNode is a chart in the tree of dependencies.
type dependencyNode struct {
	name                             string // with its alias
	wanted, locked, vendored, newest string
	fits                             bool // vendored is in the range of wanted
	disabled                         string
	repository, chart                string
	parent                           *dependencyNode
	children                         []*dependencyNode
}

// maxDepth is the maximum depth of the tree.
const maxDepth = 32

// treeOf returns the tree of a chart's dependencies.
func treeOf(c *chart.Chart) *dependencyNode {
	left := maxNodes
	return subtree(&dependencyNode{name: c.Name(), vendored: c.Version(), chart: c.Name()}, c, 0, &left)
}

// subtree adds the dependencies of c to d. left is how many more nodes the tree may have.
func subtree(d *dependencyNode, c *chart.Chart, depth int, left *int) *dependencyNode {
	if depth == maxDepth || c == nil || c.Metadata == nil {
		return d
	}
	add := func(list []*chart.Dependency, library bool) {
		for _, dep := range list {
			if dep == nil || *left == 0 {
				continue
			}
			*left--
			child, sub := newDependency(d, c, dep, library)
			d.children = append(d.children, subtree(child, sub, depth+1, left))
		}
	}
	add(c.Metadata.Dependencies, false)
	add(c.Metadata.Libraries, true)
	return d
}

// newDependency returns the node of a dependency of c, and its chart if it is vendored.
func newDependency(parent *dependencyNode, c *chart.Chart, dep *chart.Dependency, library bool) (*dependencyNode,
	*chart.Chart) {
	d := &dependencyNode{parent: parent, name: dep.Name, chart: dep.Name, wanted: dep.Version, repository: dep.Repository}
	switch {
	case library:
		d.name = chart.DirLibrary + "/" + dep.Name
	case dep.Alias != "" && dep.Alias != dep.Name:
		d.name = fmt.Sprintf("%s (as %s)", dep.Name, dep.Alias)
	}
	d.disabled = disabledBy(c, dep)
	if c.Lock != nil && !library {
		d.locked = lockedVersion(c.Lock, dep)
	}
	var found *chart.Chart
	for _, sub := range c.Dependencies() {
		if sub.Name() != dep.Name || sub.IsLibrary() != library && library {
			continue
		}
		fits := satisfies(sub.Version(), dep.Version)
		if found == nil || fits && !d.fits {
			found, d.fits, d.vendored = sub, fits, sub.Version()
		}
	}
	return d, found
}

// disabledBy returns the condition that switches a dependency off in the chart's values, or "". The
// first path of a condition that exists decides.
func disabledBy(c *chart.Chart, dep *chart.Dependency) string {
	for path := range strings.SplitSeq(dep.Condition, ",") {
		var v any = c.Values
		path = strings.TrimSpace(path)
		for key := range strings.SplitSeq(path, ".") {
			m, _ := v.(map[string]any)
			v = m[key]
		}
		if on, ok := v.(bool); ok {
			if on {
				return ""
			}
			return path
		}
	}
	return ""
}
