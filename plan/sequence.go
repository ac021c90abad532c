// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
)

// Annotations for the order in which objects are applied.
const (
	groupAnnotation  = "helm.sh/resource-group"
	groupsAnnotation = "helm.sh/depends-on/resource-groups"
)

// Sequence divides objects into batches, each of which must be ready before the next starts:
// it calls [OrderOf] for root, and then [Order.Batches]. root may be nil.
func Sequence(root *chart.Chart, objects []*manifest.Object) (batches [][]*manifest.Object, warnings []string,
	err error) {
	o, err := OrderOf(root)
	if err != nil {
		return nil, nil, err
	}
	return o.Batches(objects)
}

// Batches divides objects into batches, each of which must be ready before the next starts.
// Within a batch the objects keep their order. batches is nil if one batch is enough. o may be
// nil: then only the objects' annotations count.
//
// In a chart, a group of objects (helm.sh/resource-group) waits for the groups that the
// annotations of its objects list (helm.sh/depends-on/resource-groups), and objects without a
// group wait for all groups. A subchart waits for the subcharts that its parent's order lists,
// including their subcharts; if a chart orders its subcharts, its own objects wait for all of
// them. Objects that wait for nothing are in the first batch. The Source of an object
// determines its chart.
//
// warnings has a sentence for each listed group or subchart that does not exist. Batches
// returns a [*CycleError] if groups or subcharts wait for each other.
func (o *Order) Batches(objects []*manifest.Object) (batches [][]*manifest.Object, warnings []string, err error) {
	s := &sequence{order: o, charts: map[string]*chartNode{}}
	if o != nil {
		if err := o.check(); err != nil {
			return nil, nil, err
		}
		for _, u := range o.Unknown {
			who := "subchart " + u.Of
			if u.Of == "" {
				who = "the chart itself"
			}
			warnings = append(warnings,
				fmt.Sprintf("chart %s: %s waits for subchart %s, which does not exist: not waiting for it", u.Chart, who, u.Name))
		}
	}
	ordered := o != nil && len(o.Charts) > 0
	for _, object := range objects {
		hasGroups, err := s.add(object)
		if err != nil {
			return nil, nil, err
		}
		ordered = ordered || hasGroups
	}
	if !ordered {
		return nil, warnings, nil
	}
	more, err := s.check()
	warnings = append(warnings, more...)
	if err != nil {
		return nil, warnings, err
	}
	return s.batches(objects), warnings, nil
}

// chartNode is one chart in the tree, with the groups of its objects.
type chartNode struct {
	path, name string
	// subs are the paths of the subcharts.
	subs   []string            // the charts below it, by path
	groups map[string]bool     // groups of its objects
	waits  map[string][]string // the groups that a group waits for; "" stands for objects without a group
	edges  map[[2]string]bool  // the edges of waits
	level  map[string]int      // of groups, in this chart
}

// sequence contains the charts while their batches are computed.
type sequence struct {
	order  *Order
	charts map[string]*chartNode // by path, parents of each included
	spans  map[string]span
}

// add adds the groups of an object, and reports whether its annotations declare any.
func (s *sequence) add(object *manifest.Object) (hasGroups bool, err error) {
	p := s.node(chartOf(object.Source))
	if root, _, ok := strings.Cut(object.Source, "/"); ok && p.path == "" {
		p.name = root
	}
	group := GroupOf(object)
	names, err := parseNames(object.Annotations[groupsAnnotation])
	if err != nil {
		return false, fmt.Errorf("%s (%s): annotation %s: %w", object, object.Source, groupsAnnotation, err)
	}
	if group != "" {
		p.groups[group] = true
	}
	for _, name := range names {
		if edge := [2]string{group, name}; !p.edges[edge] {
			p.edges[edge], p.waits[group] = true, append(p.waits[group], name)
		}
	}
	return group != "" || len(names) > 0, nil
}

// GroupOf returns the resource group of an object, or "".
func GroupOf(object *manifest.Object) string {
	return strings.TrimSpace(object.Annotations[groupAnnotation])
}

// ChartOf returns the path of the chart whose template has rendered an object: "" for the root chart
// and for an object without a source, "app/cache" for the subchart cache of its subchart app.
func ChartOf(object *manifest.Object) string { return chartOf(object.Source) }

// node returns the chart at path. It creates the chart and its parents if necessary.
func (s *sequence) node(path string) *chartNode {
	if p := s.charts[path]; p != nil {
		return p
	}
	p := &chartNode{path: path, name: path, groups: map[string]bool{}, waits: map[string][]string{},
		edges: map[[2]string]bool{}, level: map[string]int{}}
	s.charts[path] = p
	if path != "" {
		parent := ""
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			parent, p.name = path[:i], path[i+1:]
		}
		above := s.node(parent)
		above.subs = append(above.subs, path)
	}
	return p
}

// chartOf returns the path of a template's chart in the tree: "app/cache" for
// "web/charts/app/charts/cache/templates/x.yaml". It limits the depth to maxDepth: the source
// may come from a forged record.
func chartOf(source string) string {
	words := strings.SplitN(source, "/", 2*maxDepth+3)
	path := ""
	for i := 1; i+1 < len(words) && i < 2*maxDepth &&
		(words[i] == chart.DirCharts || words[i] == chart.DirLibrary); i += 2 {
		path = subchartPath(path, words[i+1])
	}
	return path
}

// check removes waits for unknown groups, with a warning, and returns an error if there is a
// cycle.
func (s *sequence) check() (warnings []string, err error) {
	for _, path := range slices.Sorted(maps.Keys(s.charts)) {
		p := s.charts[path]
		for _, group := range slices.Sorted(maps.Keys(p.waits)) {
			p.waits[group] = slices.DeleteFunc(p.waits[group], func(name string) bool {
				if !p.groups[name] {
					warnings = append(warnings, fmt.Sprintf("chart %s: %s waits for resource group %s, which no object of the chart "+
						"has: not waiting for it", p.name, describeGroup(group), name))
				}
				return !p.groups[name]
			})
		}
		if cycle := findCycle(p.waits); cycle != nil {
			return warnings, &CycleError{"resource groups", p.name, cycle}
		}
	}
	if s.order == nil {
		return warnings, nil
	}
	for path, edges := range s.order.Charts { // the order may come from a forged record
		if cycle := findCycle(edges); cycle != nil {
			return warnings, &CycleError{"subcharts", s.node(path).name, cycle}
		}
	}
	return warnings, nil
}

func describeGroup(group string) string {
	if group == "" {
		return "an object without a group"
	}
	return "resource group " + group
}

// span is the range of batches of a chart and its subcharts: end is the first batch after it.
// own is the first batch of the chart's own objects, and rest the batch of those without a
// group.
type span struct{ own, rest, end int }

// batches assigns the objects to batches.
func (s *sequence) batches(objects []*manifest.Object) [][]*manifest.Object {
	s.spans = map[string]span{}
	if s.order != nil { // charts without objects can wait too, and others wait for them
		for path, edges := range s.order.Charts {
			for of, names := range edges {
				for _, name := range append([]string{of}, names...) {
					s.node(subchartPath(path, name))
				}
			}
		}
	}
	s.assign(s.node(""), 0)
	var levels [][]*manifest.Object
	for _, object := range objects {
		p := s.charts[chartOf(object.Source)]
		pos := s.spans[p.path].rest
		if group := GroupOf(object); group != "" {
			pos = s.spans[p.path].own + p.groupLevel(group)
		}
		for len(levels) <= pos {
			levels = append(levels, nil)
		}
		levels[pos] = append(levels[pos], object)
	}
	levels = slices.DeleteFunc(levels, func(l []*manifest.Object) bool { return len(l) == 0 })
	if len(levels) < 2 {
		return nil // one batch
	}
	return levels
}

// assign sets the span of a chart, whose first batch is at least from, and of its subcharts.
func (s *sequence) assign(p *chartNode, from int) {
	var edges map[string][]string
	ordered := false
	if s.order != nil {
		edges, ordered = s.order.Charts[p.path]
	}
	placed := map[string]bool{}
	var sub func(path string)
	sub = func(path string) {
		if placed[path] {
			return
		}
		placed[path] = true
		begin := from
		for _, name := range edges[path[strings.LastIndexByte(path, '/')+1:]] {
			other := subchartPath(p.path, name)
			sub(other)
			begin = max(begin, s.spans[other].end)
		}
		s.assign(s.charts[path], begin)
	}
	start, end := from, from
	for _, path := range p.subs {
		sub(path)
		end = max(end, s.spans[path].end)
	}
	if ordered {
		start = end
	}
	rest := start + p.depth()
	s.spans[p.path] = span{own: start, rest: rest, end: max(end, rest+1)}
}

// depth returns the number of group levels before the objects without a group.
func (p *chartNode) depth() int {
	n := 0
	for group := range p.groups {
		n = max(n, p.groupLevel(group)+1)
	}
	return n
}

// groupLevel returns the number of group levels before a group.
func (p *chartNode) groupLevel(group string) int {
	if n, known := p.level[group]; known {
		return n
	}
	n := 0
	for _, name := range p.waits[group] {
		n = max(n, p.groupLevel(name)+1)
	}
	p.level[group] = n
	return n
}
