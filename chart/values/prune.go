// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// isConditional reports whether any dependency of the tree has a condition or tags.
func (n *node) isConditional() bool {
	found := false
	n.walk(func(n *node) {
		if !n.listed {
			return
		}
		for _, e := range entriesOf(n.chart) {
			found = found || e.Condition != "" || len(e.Tags) > 0
		}
	})
	return found
}

// pruner removes the charts that conditions and tags disable from a tree.
type pruner struct {
	warnings []string
	misfits  []string
}

// prune removes the disabled charts below n. vals are the values of n's chart, and tags the
// tags for its dependencies: its own defaults, overridden by the charts above it.
func (p *pruner) prune(n *node, vals, tags map[string]any, path string) {
	if !n.listed {
		return
	}
	off := map[string]bool{}
	for _, e := range entriesOf(n.chart) {
		if !p.isEnabled(e, vals, tags, path) {
			off[effectiveName(e)] = true
		}
	}
	// A disabled entry removes all charts with its name, even if their versions do not
	// satisfy it.
	n.children = slices.DeleteFunc(n.children, func(k *node) bool { return !k.chart.FromLibrary && off[k.chart.Name()] })
	n.relist(off)
	p.warnMisfits(n, off, path)
	for _, k := range n.children {
		var childVals map[string]any // a library has none
		if !k.chart.FromLibrary {
			childVals, _ = vals[k.chart.Name()].(map[string]any)
		}
		under := tags
		if defaults, ok := k.chart.Values["tags"].(map[string]any); ok {
			under = Merge(defaults, tags)
		}
		p.prune(k, childVals, under, join(path, k.chart.Name()))
	}
}

// relist replaces the chart's list of dependencies as Helm does in release records: it
// removes disabled entries, and marks the others as enabled and gives them their alias as
// their name.
func (n *node) relist(off map[string]bool) {
	md := *n.chart.Metadata
	md.Dependencies = nil
	for _, e := range entriesOf(n.chart) {
		if off[effectiveName(e)] {
			continue
		}
		d := *e
		d.Enabled, d.Name = true, effectiveName(e)
		d.ImportValues = slices.Clone(e.ImportValues)
		md.Dependencies = append(md.Dependencies, &d)
	}
	n.chart.Metadata = &md
}

// isEnabled reports whether e is enabled: by the first path of its condition that has a
// boolean, otherwise by its tags. A single true tag suffices.
func (p *pruner) isEnabled(e *chart.Dependency, vals, tags map[string]any, path string) bool {
	for _, cond := range strings.Split(strings.TrimSpace(e.Condition), ",") {
		if cond == "" {
			continue
		}
		v, err := Path(vals, cond)
		if err != nil {
			continue
		}
		switch v := untraced(v).(type) {
		case bool:
			return v
		case map[string]any, nil:
		default:
			p.warn("the condition %s of the subchart %s is %s, must be true or false",
				join(path, cond), effectiveName(e), kind(v))
		}
	}
	on, off := false, false
	for _, tag := range e.Tags {
		switch v := untraced(tags[tag]).(type) {
		case bool:
			on, off = on || v, off || !v
		case nil:
		default:
			p.warn("the tag %s of the subchart %s is %s, must be true or false", tag, effectiveName(e), kind(v))
		}
	}
	return on || !off
}

func (p *pruner) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// warnMisfits warns of charts whose versions satisfy no entry. It leaves out those that are
// disabled anyway and those whose entries have neither a version nor an alias, because they
// are used either way.
func (p *pruner) warnMisfits(n *node, off map[string]bool, path string) {
	for _, m := range n.misfits {
		name := m.chart.Name()
		if off[name] {
			continue
		}
		var wanted, aliases []string
		for _, e := range m.entries {
			if e.Version != "" {
				wanted = append(wanted, strconv.Quote(e.Version))
			}
			if e.Alias != "" {
				aliases = append(aliases, e.Alias)
			}
		}
		if len(wanted)+len(aliases) == 0 {
			continue
		}
		want, without := "wants "+strings.Join(wanted, " or "), ""
		if len(wanted) == 0 {
			want = "has no version for it"
		}
		if len(aliases) > 0 {
			without = ", without the alias, condition and tags of " + strings.Join(aliases, " and ")
		}
		p.misfits = append(p.misfits, fmt.Sprintf("the chart %s in charts/ has version %s, but %s %s: "+
			"it is used as a chart that is not listed, under its own name%s",
			join(path, name), m.chart.Version(), listFile(n.chart), want, without))
	}
}

// listFile returns the name of the file that lists the dependencies of c.
func listFile(c *chart.Chart) string {
	if c.Metadata.APIVersion == chart.APIVersionV1 {
		return chart.FileRequirements
	}
	return chart.FileMetadata
}
