// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// conditional reports whether any chart of the tree can be switched off.
func (n *node) conditional() bool {
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

// pruner takes the charts out of a tree that conditions and tags switch off.
type pruner struct {
	warnings []string
	misfits  []string
}

// prune looks at the charts below n. vals are the values that n's chart sees,
// tags those that hold for its list: its own defaults and what the charts above it
// have set.
func (p *pruner) prune(n *node, vals, tags map[string]any, path string) {
	if !n.listed {
		return
	}
	off := map[string]bool{}
	for _, e := range entriesOf(n.chart) {
		if !p.enabled(e, vals, tags, path) {
			off[called(e)] = true
		}
	}
	// An entry that is switched off takes along all charts of its name, also those
	// in versions that it does not want.
	n.kids = slices.DeleteFunc(n.kids, func(k *node) bool { return !k.chart.FromLibrary && off[k.chart.Name()] })
	n.relist(off)
	p.warnMisfits(n, off, path)
	for _, k := range n.kids {
		var own map[string]any // a library has none
		if !k.chart.FromLibrary {
			own, _ = vals[k.chart.Name()].(map[string]any)
		}
		under := tags
		if defaults, ok := k.chart.Values["tags"].(map[string]any); ok {
			under = Merge(defaults, tags)
		}
		p.prune(k, own, under, join(path, k.chart.Name()))
	}
}

// relist makes the chart's list of dependencies say what became of them:
// those that are switched off are gone, the others enabled and named as values
// know them, as Helm has it in its records.
func (n *node) relist(off map[string]bool) {
	md := *n.chart.Metadata
	md.Dependencies = nil
	for _, e := range entriesOf(n.chart) {
		if off[called(e)] {
			continue
		}
		d := *e
		d.Enabled, d.Name = true, called(e)
		d.ImportValues = slices.Clone(e.ImportValues)
		md.Dependencies = append(md.Dependencies, &d)
	}
	n.chart.Metadata = &md
}

// enabled decides over one entry: by the first path of its condition that
// holds a value, else by its tags, of which one that is true is enough.
func (p *pruner) enabled(e *chart.Dependency, vals, tags map[string]any, path string) bool {
	for _, cond := range strings.Split(strings.TrimSpace(e.Condition), ",") {
		if cond == "" {
			continue
		}
		v, err := Path(vals, cond)
		if err != nil {
			continue
		}
		switch v := v.(type) {
		case bool:
			return v
		case map[string]any, nil:
		default:
			p.warn("the condition %s of the subchart %s holds %s, must hold true or false", join(path, cond), called(e), kind(v))
		}
	}
	on, off := false, false
	for _, tag := range e.Tags {
		switch v := tags[tag].(type) {
		case bool:
			on, off = on || v, off || !v
		case nil:
		default:
			p.warn("the tag %s of the subchart %s holds %s, must hold true or false", tag, called(e), kind(v))
		}
	}
	return on || !off
}

func (p *pruner) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// warnMisfits warns of charts in versions that nothing wants, except those that
// are switched off all the same, and those that an entry without version and alias
// names: nothing is different for them.
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

// listFile is the file that lists the dependencies of c.
func listFile(c *chart.Chart) string {
	if c.Metadata.APIVersion == chart.APIVersionV1 {
		return chart.FileRequirements
	}
	return chart.FileMetadata
}
