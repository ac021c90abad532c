// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// subchartsAnnotation is in Chart.yaml: the subcharts that the chart's own
// objects wait for, or a map of which subcharts wait for which.
const subchartsAnnotation = "helm.sh/depends-on/subcharts"

// Order is what the charts of a tree say about the order of their subcharts
// (Helm's proposal 25), as a release's record keeps it. nil says nothing.
type Order struct {
	// Charts are the charts that ask for an order, by their path in the tree: "" is the
	// root, "app/cache" the subchart cache of its subchart app. The value maps a subchart
	// to the subcharts that it waits for; the chart's own objects wait for all of them.
	Charts map[string]map[string][]string `json:"charts"`
	// Unknown are names in these orders that no subchart has. They are not waited for.
	Unknown []UnknownDependency `json:"unknown,omitempty"`
}

// UnknownDependency is a name that a chart waits for and no subchart of it has.
type UnknownDependency struct {
	Chart string `json:"chart"`        // the chart whose Chart.yaml has the name
	Of    string `json:"of,omitempty"` // the subchart that waits; "" for the chart's own objects
	Name  string `json:"name"`         // the missing subchart
}

// A CycleError is returned where subcharts or groups of objects wait for each other, so
// that none can begin.
type CycleError struct {
	What  string   // "subcharts" or "resource groups"
	Chart string   // the chart that they belong to
	Names []string // the first is the last again
}

func (e *CycleError) Error() string {
	return fmt.Sprintf("%s %s of chart %s wait for each other: take one depends-on away",
		e.What, strings.Join(e.Names, " -> "), e.Chart)
}

// OrderOf returns the order that the charts of the tree ask for in Chart.yaml: by
// depends-on of a dependency, or by the annotation helm.sh/depends-on/subcharts. It is nil
// where none asks. Names are those that subcharts have in the tree, or had before an
// alias; a dependency that is disabled is not waited for. Errors are a [*CycleError], and
// those of an annotation that cannot be read.
func OrderOf(root *chart.Chart) (*Order, error) {
	if root == nil {
		return nil, nil
	}
	o := &Order{Charts: map[string]map[string][]string{}}
	if err := o.read("", root); err != nil {
		return nil, err
	}
	if len(o.Charts) == 0 {
		return nil, nil
	}
	return o, nil
}

// What a chart's tree cannot exceed; an order comes from a release's record,
// which may be forged.
const (
	maxDepth = 100
	maxNames = 1 << 16
)

// check refuses an order that no tree of charts can have.
func (o *Order) check() error {
	n := 0
	for path, edges := range o.Charts {
		if path != "" && (strings.Count(path, "/") >= maxDepth || slices.Contains(strings.Split(path, "/"), "")) {
			return fmt.Errorf("the order of subcharts names a chart that cannot be: %.80q", path)
		}
		for of, names := range edges {
			if n += 1 + len(names); n > maxNames {
				return fmt.Errorf("the order of subcharts has more than %d names", maxNames)
			}
			for _, name := range append([]string{of}, names...) {
				if name == "" || strings.Contains(name, "/") {
					return fmt.Errorf("the order of subcharts names a chart that cannot be: %.80q", name)
				}
			}
		}
	}
	return nil
}

func (o *Order) read(path string, c *chart.Chart) error {
	said, err := declared(c)
	if err != nil {
		return err
	}
	if said != nil {
		edges := map[string][]string{}
		for _, d := range said {
			for _, of := range named(c, d.of) {
				for _, name := range d.names {
					found := named(c, name)
					if len(found) == 0 && !disabled(c, name) {
						o.Unknown = append(o.Unknown, UnknownDependency{c.Name(), of, name})
					}
					if len(found) > 1 { // an alias of the one that waits is not meant
						found = slices.DeleteFunc(found, func(n string) bool { return n == of })
					}
					edges[of] = append(edges[of], found...)
				}
			}
		}
		delete(edges, "")
		if cycle := findCycle(edges); cycle != nil {
			return &CycleError{"subcharts", c.Name(), cycle}
		}
		o.Charts[path] = edges
	}
	for _, sub := range c.Subcharts() {
		if err := o.read(chartBelow(path, sub.Name()), sub); err != nil {
			return err
		}
	}
	return nil
}

// waits says that one subchart, or with "" the chart itself, waits for others.
type waits struct {
	of    string
	names []string
}

// declared is what one chart says about its subcharts, nil for nothing.
func declared(c *chart.Chart) ([]waits, error) {
	if c.Metadata == nil {
		return nil, nil
	}
	var said []waits
	for _, d := range c.Metadata.Dependencies {
		if d != nil && len(d.DependsOn) > 0 {
			said = append(said, waits{cmp.Or(d.Alias, d.Name), d.DependsOn})
		}
	}
	text := strings.TrimSpace(c.Metadata.Annotations[subchartsAnnotation])
	if !strings.HasPrefix(text, "{") {
		names, err := list(text)
		if err != nil {
			return nil, fmt.Errorf("chart %s: annotation %s: %w", c.Name(), subchartsAnnotation, err)
		}
		if len(names) > 0 {
			said = append(said, waits{"", names})
		}
		return said, nil
	}
	var table map[string][]string
	if err := json.Unmarshal([]byte(text), &table); err != nil {
		return nil, fmt.Errorf(`chart %s: annotation %s: must be a map of lists of names, such as {"app": ["db"]}: %w`,
			c.Name(), subchartsAnnotation, err)
	}
	for _, of := range slices.Sorted(maps.Keys(table)) {
		said = append(said, waits{of, table[of]})
	}
	return said, nil
}

// named are the subcharts of c that go by that name: the one that has it, or
// else those that had it before they got an alias. "" is c itself.
func named(c *chart.Chart, name string) []string {
	if name == "" {
		return []string{""}
	}
	var exact, unaliased []string
	for _, sub := range c.Subcharts() {
		if sub.Name() == name {
			exact = append(exact, name)
		} else if sub.Unaliased == name {
			unaliased = append(unaliased, sub.Name())
		}
	}
	if exact != nil {
		return exact[:1]
	}
	return unaliased
}

// disabled reports whether Chart.yaml has a dependency of that name, which is not
// in the tree, then.
func disabled(c *chart.Chart, name string) bool {
	deps := slices.Clone(c.Metadata.Dependencies)
	if f := c.File(chart.FileMetadata); f != nil {
		if m, err := chart.ParseMetadata(f.Name, f.Data); err == nil {
			deps = append(deps, m.Dependencies...)
		}
	}
	if f := c.File(chart.FileRequirements); f != nil {
		if r, err := chart.ParseRequirements(f.Name, f.Data); err == nil {
			deps = append(deps, r.Dependencies...)
		}
	}
	return slices.ContainsFunc(deps, func(d *chart.Dependency) bool {
		return d != nil && (d.Name == name || d.Alias == name)
	})
}

// list reads names: a JSON list, or names with commas between them.
func list(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	var names []string
	if strings.HasPrefix(text, "[") {
		if err := json.Unmarshal([]byte(text), &names); err != nil {
			return nil, fmt.Errorf(`must be a list of names, such as ["a", "b"]: %w`, err)
		}
	} else {
		names = strings.Split(text, ",")
	}
	var out []string
	seen := map[string]bool{}
	for _, n := range names {
		if n = strings.TrimSpace(n); n != "" && !seen[n] {
			seen[n], out = true, append(out, n)
		}
	}
	return out, nil
}

// findCycle returns the names of a cycle, the first of which is the last again.
func findCycle(edges map[string][]string) []string {
	const under, done = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(string) []string
	visit = func(name string) []string {
		switch state[name] {
		case done:
			return nil
		case under:
			return append(slices.Clone(path[slices.Index(path, name):]), name)
		}
		state[name] = under
		path = append(path, name)
		for _, next := range edges[name] {
			if cycle := visit(next); cycle != nil {
				return cycle
			}
		}
		path = path[:len(path)-1]
		state[name] = done
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(edges)) {
		if cycle := visit(name); cycle != nil {
			return cycle
		}
	}
	return nil
}

func chartBelow(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}
