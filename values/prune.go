// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// conditional tells whether any chart of the tree can be switched off.
func (n *node) conditional() bool {
	found := false
	n.walk(func(n *node) {
		if n.entry != nil && (n.entry.Condition != "" || len(n.entry.Tags) > 0) {
			found = true
		}
	})
	return found
}

// pruner takes the charts out of a tree that conditions and tags switch off.
type pruner struct {
	warnings []string
}

// prune looks at the charts below n. vals are the values that n's chart sees,
// tags those that the charts above it have set.
func (p *pruner) prune(n *node, vals, tags map[string]any, path string) {
	if !n.listed {
		return
	}
	if own, ok := n.chart.Values["tags"].(map[string]any); ok {
		tags = Merge(own, tags)
	}
	var kids []*node
	off := map[*chart.Dependency]bool{}
	for _, k := range n.kids {
		if k.entry != nil && !p.enabled(k, vals, tags, path) {
			off[k.entry] = true
			continue
		}
		kids = append(kids, k)
		var own map[string]any // a library has none
		if !k.chart.FromLibrary {
			own, _ = vals[k.chart.Name()].(map[string]any)
		}
		p.prune(k, own, tags, join(path, k.chart.Name()))
	}
	n.kids = kids
	n.relist(off)
}

// relist makes the chart's list of dependencies say what became of them:
// those that are switched off are gone, the others enabled and named as values
// know them.
func (n *node) relist(off map[*chart.Dependency]bool) {
	md := *n.chart.Metadata
	md.Dependencies = nil
	for _, e := range entriesOf(n.chart) {
		if off[e] {
			continue
		}
		d := *e
		d.Enabled = true
		if d.Alias != "" {
			d.Name = d.Alias
		}
		md.Dependencies = append(md.Dependencies, &d)
	}
	n.chart.Metadata = &md
}

// enabled decides over one chart: by the first path of its condition that
// holds a value, else by its tags, of which one that is true is enough.
func (p *pruner) enabled(k *node, vals, tags map[string]any, path string) bool {
	for _, cond := range strings.Split(strings.TrimSpace(k.entry.Condition), ",") {
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
			p.warn("the condition %s of the subchart %s holds %s, must hold true or false", join(path, cond), k.chart.Name(), kind(v))
		}
	}
	on, off := false, false
	for _, tag := range k.entry.Tags {
		switch v := tags[tag].(type) {
		case bool:
			on, off = on || v, off || !v
		case nil:
		default:
			p.warn("the tag %s of the subchart %s holds %s, must hold true or false", tag, k.chart.Name(), kind(v))
		}
	}
	return on || !off
}

func (p *pruner) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}
