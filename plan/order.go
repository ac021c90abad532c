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

// subchartsAnnotation is an annotation in Chart.yaml: the subcharts that the chart's own
// objects wait for, or a map from subcharts to the subcharts that they wait for.
const subchartsAnnotation = "helm.sh/depends-on/subcharts"

// Order is the order of subcharts that the charts of a tree declare (Helm's proposal 25), in
// the format of a release's record. A nil *Order means that they declare none.
type Order struct {
	// Charts are the charts that ask for an order, by their path in the tree: "" is the
	// root, "app/cache" the subchart cache of its subchart app. The value maps a subchart
	// to the subcharts that it waits for; the chart's own objects wait for all of them.
	Charts map[string]map[string][]string `json:"charts"`
	// Unknown are the names in these orders that no subchart has. They are ignored.
	Unknown []UnknownDependency `json:"unknown,omitempty"`
}

// An UnknownDependency is a name in a chart's order that no subchart has.
type UnknownDependency struct {
	Chart string `json:"chart"`        // the chart whose Chart.yaml has the name
	Of    string `json:"of,omitempty"` // the subchart that waits; "" for the chart's own objects
	Name  string `json:"name"`         // the missing subchart
}

// A CycleError is returned if subcharts or groups of objects wait for each other.
type CycleError struct {
	What  string   // "subcharts" or "resource groups"
	Chart string   // the chart that they belong to
	Names []string // the first name is repeated at the end
}

func (e *CycleError) Error() string {
	return fmt.Sprintf("%s %s of chart %s wait for each other: remove one depends-on",
		e.What, strings.Join(e.Names, " -> "), e.Chart)
}

// OrderOf returns the order that the charts of the tree declare in Chart.yaml: with depends-on
// of a dependency, or with the annotation helm.sh/depends-on/subcharts. It returns nil if no
// chart declares one. Names are those of subcharts in the tree, or before an alias; disabled
// dependencies are ignored. OrderOf returns a [*CycleError], or an error if an annotation is
// invalid.
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

// The limits of an order, which comes from a release's record and may be forged.
const (
	maxDepth = 100
	maxNames = 1 << 16
)

// check returns an error if no tree of charts can have the order.
func (o *Order) check() error {
	n := 0
	for path, edges := range o.Charts {
		if path != "" && (strings.Count(path, "/") >= maxDepth || slices.Contains(strings.Split(path, "/"), "")) {
			return fmt.Errorf("the order of subcharts has an invalid chart name: %.80q", path)
		}
		for of, names := range edges {
			if n += 1 + len(names); n > maxNames {
				return fmt.Errorf("the order of subcharts has more than %d names", maxNames)
			}
			for _, name := range append([]string{of}, names...) {
				if name == "" || strings.Contains(name, "/") {
					return fmt.Errorf("the order of subcharts has an invalid chart name: %.80q", name)
				}
			}
		}
	}
	return nil
}

func (o *Order) read(path string, c *chart.Chart) error {
	rules, err := declaredOrder(c)
	if err != nil {
		return err
	}
	if rules != nil {
		edges := map[string][]string{}
		for _, d := range rules {
			for _, of := range subchartsNamed(c, d.of) {
				for _, name := range d.names {
					found := subchartsNamed(c, name)
					if len(found) == 0 && !isDisabled(c, name) {
						o.Unknown = append(o.Unknown, UnknownDependency{c.Name(), of, name})
					}
					if len(found) > 1 { // a subchart does not wait for itself by its name before an alias
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
		if err := o.read(subchartPath(path, sub.Name()), sub); err != nil {
			return err
		}
	}
	return nil
}

// waitRule is a rule that a subchart, or "" for the chart itself, waits for others.
type waitRule struct {
	of    string
	names []string
}

// declaredOrder returns the rules that one chart declares.
func declaredOrder(c *chart.Chart) ([]waitRule, error) {
	if c.Metadata == nil {
		return nil, nil
	}
	var rules []waitRule
	for _, d := range c.Metadata.Dependencies {
		if d != nil && len(d.DependsOn) > 0 {
			rules = append(rules, waitRule{cmp.Or(d.Alias, d.Name), d.DependsOn})
		}
	}
	text := strings.TrimSpace(c.Metadata.Annotations[subchartsAnnotation])
	if !strings.HasPrefix(text, "{") {
		names, err := parseNames(text)
		if err != nil {
			return nil, fmt.Errorf("chart %s: annotation %s: %w", c.Name(), subchartsAnnotation, err)
		}
		if len(names) > 0 {
			rules = append(rules, waitRule{"", names})
		}
		return rules, nil
	}
	var table map[string][]string
	if err := json.Unmarshal([]byte(text), &table); err != nil {
		return nil, fmt.Errorf(`chart %s: annotation %s: must be a map of lists of names, such as {"app": ["db"]}: %w`,
			c.Name(), subchartsAnnotation, err)
	}
	for _, of := range slices.Sorted(maps.Keys(table)) {
		rules = append(rules, waitRule{of, table[of]})
	}
	return rules, nil
}

// subchartsNamed returns the subcharts of c with the given name or, if there is none, those
// that had it before an alias. "" is c itself.
func subchartsNamed(c *chart.Chart, name string) []string {
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

// isDisabled reports whether Chart.yaml has a dependency of that name, which then is disabled,
// because the tree does not contain it.
func isDisabled(c *chart.Chart, name string) bool {
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

// parseNames parses a JSON list of names, or comma-separated names.
func parseNames(text string) ([]string, error) {
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

// findCycle returns the names of a cycle, with the first name repeated at the end, or nil.
func findCycle(edges map[string][]string) []string {
	const visiting, done = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(string) []string
	visit = func(name string) []string {
		switch state[name] {
		case done:
			return nil
		case visiting:
			return append(slices.Clone(path[slices.Index(path, name):]), name)
		}
		state[name] = visiting
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

func subchartPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}
