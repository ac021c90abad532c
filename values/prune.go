// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"slices"
	"strings"
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
	tags     map[string]any // the root's table of tags
	warnings []string
}

// prune looks at the charts below n; vals are the values that n's chart sees.
func (p *pruner) prune(n *node, vals map[string]any, path string) {
	n.kids = slices.DeleteFunc(n.kids, func(k *node) bool { return !p.enabled(k, vals, path) })
	for _, k := range n.kids {
		own, _ := vals[k.chart.Name()].(map[string]any)
		p.prune(k, own, join(path, k.chart.Name()))
	}
}

// enabled decides over one chart: the first path of its condition that holds a
// boolean, else its tags, of which one that is true is enough, else yes.
func (p *pruner) enabled(n *node, vals map[string]any, path string) bool {
	if n.entry == nil {
		return true
	}
	on := p.tagged(n)
	for _, cond := range strings.Split(strings.TrimSpace(n.entry.Condition), ",") {
		if cond == "" {
			continue
		}
		v, err := Path(vals, cond)
		if err != nil {
			continue
		}
		if b, ok := v.(bool); ok {
			return b
		}
		p.warnings = append(p.warnings, fmt.Sprintf("the condition %s of the subchart %s holds %s, must hold true or false", join(path, cond), n.chart.Name(), kind(v)))
	}
	return on
}

func (p *pruner) tagged(n *node) bool {
	var some, all = false, true
	for _, tag := range n.entry.Tags {
		b, ok := p.tags[tag].(bool)
		if !ok {
			if v, there := p.tags[tag]; there {
				p.warnings = append(p.warnings, fmt.Sprintf("the tag %s of the subchart %s holds %s, must hold true or false", tag, n.chart.Name(), kind(v)))
			}
			continue
		}
		some, all = some || b, all && b
	}
	return some || all
}
