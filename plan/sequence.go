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

// Annotations by which objects say in what order they want to be applied.
const (
	groupAnnotation  = "helm.sh/resource-group"
	groupsAnnotation = "helm.sh/depends-on/resource-groups"
)

// Sequence divides objects into batches, each of which is to be ready before the next is
// begun: it is [OrderOf] root, then [Order.Batches]. root may be nil.
func Sequence(root *chart.Chart, objects []*manifest.Object) (batches [][]*manifest.Object, warnings []string,
	err error) {
	o, err := OrderOf(root)
	if err != nil {
		return nil, nil, err
	}
	return o.Batches(objects)
}

// Batches divides objects into batches, each of which is to be ready before the next is
// begun. Within a batch they keep their order. batches is nil where one batch would do,
// because nothing asks for an order. o may be nil: then only the objects' annotations
// count.
//
// Inside a chart, a group of objects (helm.sh/resource-group) waits for the groups that
// any of its objects names (helm.sh/depends-on/resource-groups), and objects without a
// group wait for all groups. A subchart waits for those that its parent names, and for all
// that is below them; where a chart orders its subcharts, its own objects wait for all of
// them. What waits for nothing goes first. The chart of an object is found by its Source.
//
// warnings are sentences, one for each group or subchart that is named and does not exist.
// Groups or subcharts that wait for each other are a [*CycleError].
func (o *Order) Batches(objects []*manifest.Object) (batches [][]*manifest.Object, warnings []string, err error) {
	s := &sequence{order: o, charts: map[string]*part{}}
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
				fmt.Sprintf("chart %s: %s waits for subchart %s, which there is not: not waiting for it", u.Chart, who, u.Name))
		}
	}
	asked := o != nil && len(o.Charts) > 0
	for _, object := range objects {
		said, err := s.add(object)
		if err != nil {
			return nil, nil, err
		}
		asked = asked || said
	}
	if !asked {
		return nil, warnings, nil
	}
	more, err := s.check()
	warnings = append(warnings, more...)
	if err != nil {
		return nil, warnings, err
	}
	return s.batches(objects), warnings, nil
}

// part is one chart with its objects.
type part struct {
	path, name string
	subs       []string            // the charts below it, by path
	groups     map[string]bool     // groups of its objects
	waits      map[string][]string // which group waits for which; "" for objects without one
	edges      map[[2]string]bool  // the same, to find one quickly
	level      map[string]int      // of groups, in this chart
}

// sequence is what is known of the charts while their batches are found.
type sequence struct {
	order  *Order
	charts map[string]*part // by path, parents of each included
	spans  map[string]span
}

// add notes what an object says, and reports whether it says anything.
func (s *sequence) add(object *manifest.Object) (said bool, err error) {
	p := s.part(chartOf(object.Source))
	if root, _, ok := strings.Cut(object.Source, "/"); ok && p.path == "" {
		p.name = root
	}
	group := groupOf(object)
	names, err := list(object.Annotations[groupsAnnotation])
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

func groupOf(object *manifest.Object) string {
	return strings.TrimSpace(object.Annotations[groupAnnotation])
}

// part returns the chart at that path, made with all above it on first use.
func (s *sequence) part(path string) *part {
	if p := s.charts[path]; p != nil {
		return p
	}
	p := &part{path: path, name: path, groups: map[string]bool{}, waits: map[string][]string{},
		edges: map[[2]string]bool{}, level: map[string]int{}}
	s.charts[path] = p
	if path != "" {
		parent := ""
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			parent, p.name = path[:i], path[i+1:]
		}
		above := s.part(parent)
		above.subs = append(above.subs, path)
	}
	return p
}

// chartOf is the place in its tree of the chart that a template belongs to:
// "app/cache" of "web/charts/app/charts/cache/templates/x.yaml". Nothing is
// deeper than maxDepth: the text may be a forged record's.
func chartOf(source string) string {
	words := strings.SplitN(source, "/", 2*maxDepth+3)
	path := ""
	for i := 1; i+1 < len(words) && i < 2*maxDepth &&
		(words[i] == chart.DirCharts || words[i] == chart.DirLibrary); i += 2 {
		path = chartBelow(path, words[i+1])
	}
	return path
}

// check finds groups that are not there, and cycles.
func (s *sequence) check() (warnings []string, err error) {
	for _, path := range slices.Sorted(maps.Keys(s.charts)) {
		p := s.charts[path]
		for _, group := range slices.Sorted(maps.Keys(p.waits)) {
			p.waits[group] = slices.DeleteFunc(p.waits[group], func(name string) bool {
				if !p.groups[name] {
					warnings = append(warnings, fmt.Sprintf("chart %s: %s waits for resource group %s, which no object of the chart "+
						"has: not waiting for it", p.name, who(group), name))
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
	for path, edges := range s.order.Charts { // of a record, which may be forged
		if cycle := findCycle(edges); cycle != nil {
			return warnings, &CycleError{"subcharts", s.part(path).name, cycle}
		}
	}
	return warnings, nil
}

func who(group string) string {
	if group == "" {
		return "an object without a group"
	}
	return "resource group " + group
}

// span is which batches a chart and all below it take: from the first that it
// may have to the first that it leaves to those who wait for it. own is where
// the chart's own objects begin, rest where those without a group are.
type span struct{ own, rest, end int }

// batches lays the objects out.
func (s *sequence) batches(objects []*manifest.Object) [][]*manifest.Object {
	s.spans = map[string]span{}
	if s.order != nil { // charts without objects hand on what they wait for
		for path, edges := range s.order.Charts {
			for of, names := range edges {
				for _, name := range append([]string{of}, names...) {
					s.part(chartBelow(path, name))
				}
			}
		}
	}
	s.place(s.part(""), 0)
	var levels [][]*manifest.Object
	for _, object := range objects {
		p := s.charts[chartOf(object.Source)]
		at := s.spans[p.path].rest
		if group := groupOf(object); group != "" {
			at = s.spans[p.path].own + p.groupLevel(group)
		}
		for len(levels) <= at {
			levels = append(levels, nil)
		}
		levels[at] = append(levels[at], object)
	}
	levels = slices.DeleteFunc(levels, func(l []*manifest.Object) bool { return len(l) == 0 })
	if len(levels) < 2 {
		return nil // all at once
	}
	return levels
}

// place finds the batches of a chart that may begin with the given one, and of
// all below it.
func (s *sequence) place(p *part, from int) {
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
			other := chartBelow(p.path, name)
			sub(other)
			begin = max(begin, s.spans[other].end)
		}
		s.place(s.charts[path], begin)
	}
	own, end := from, from
	for _, path := range p.subs {
		sub(path)
		end = max(end, s.spans[path].end)
	}
	if ordered {
		own = end
	}
	rest := own + p.depth()
	s.spans[p.path] = span{own: own, rest: rest, end: max(end, rest+1)}
}

// depth is how many levels of groups come before the objects without a group.
func (p *part) depth() int {
	n := 0
	for group := range p.groups {
		n = max(n, p.groupLevel(group)+1)
	}
	return n
}

// groupLevel is how many levels of groups come before that one.
func (p *part) groupLevel(group string) int {
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
