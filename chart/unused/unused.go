// SPDX-License-Identifier: Apache-2.0

// Package unused finds the keys of a user's values that nothing in a chart reads: misspelled ones,
// those of another version, and those in the wrong table.
//
//	keys, err := unused.Find(ctx, c, user, unused.Options{})
//	for _, k := range keys {
//		fmt.Println(k) // image.tagg: never read; did you mean image.tag, read at templates/web.yaml:38?
//	}
//
// A key is read if a template may use it (see engine.FindUsage), in whatever branch, or if a
// schema, a condition, a tag, an import or a script names it. The package does not look below
// lists.
package unused

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/term"
)

// A Key is a key of the user's values that nothing reads, nor anything below it.
type Key struct {
	Path []string `json:"path"`
	// Origin is the file and line, or the flag, that sets the key, if it is known.
	Origin values.Origin `json:"origin,omitzero"`
	// Suggestion is the path that was probably meant, or nil.
	Suggestion []string `json:"suggestion,omitempty"`
	// File and Line are the place of a template, or else of a script, that reads Suggestion. File is a path from
	// the root chart's directory, and "" if neither names the suggestion.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Default reports whether the charts have a default for the key.
	Default bool `json:"default,omitempty"`
}

// String returns the key and the suggestion in one line.
func (k Key) String() string {
	text := term.SafeLine(values.JoinPath(k.Path...))
	if where := k.Origin.String(); where != "" {
		text += " (" + term.SafeLine(where) + ")"
	}
	text += ": never read"
	if k.Suggestion != nil {
		text += "; did you mean " + term.SafeLine(values.JoinPath(k.Suggestion...))
		if k.File != "" {
			text += fmt.Sprintf(", read at %s:%d", term.SafeLine(k.File), k.Line)
		}
		text += "?"
	}
	return text
}

// An Error is returned for values that nothing reads, where they are not allowed.
type Error struct{ Keys []Key }

func (e *Error) Error() string { return Summary(e.Keys) }

// Hint returns what the user can do.
func (e *Error) Hint() string {
	return "correct the keys or remove them; helm values CHART --unused lists all of them"
}

// maxListed is the number of keys that Summary lists.
const maxListed = 10

// Summary returns a text that lists up to ten keys, one a line.
func Summary(keys []Key) string {
	var b strings.Builder
	if b.WriteString("nothing in the chart reads a key of the given values:"); len(keys) > 1 {
		b.Reset()
		fmt.Fprintf(&b, "nothing in the chart reads %d keys of the given values:", len(keys))
	}
	for _, k := range keys[:min(len(keys), maxListed)] {
		b.WriteString("\n  " + k.String())
	}
	if more := len(keys) - maxListed; more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return b.String()
}

// Options configure [Find].
type Options struct {
	// Defaults includes keys that the charts have defaults for. Without it, a copy of a
	// chart's values.yaml has no unused keys.
	Defaults bool
	// Thorough follows templates that take seconds too.
	Thorough bool
	// Cache may keep what was parsed for the chart's rendering; see engine.Input.
	Cache *engine.Cache
	// Functions are the names of functions that only the templates of a chart can call; see
	// engine.Input.
	Functions map[string]map[string]func(args ...any) (any, error)
}

// Find returns the keys of user that nothing in the tree of c reads, sorted by path. c is a chart
// as it was loaded: what is below a dependency that is switched off is checked too. It returns the
// error of a template that cannot be parsed, an [*engine.Error], and [engine.ErrUsageLimit]. It is
// fast if the charts have defaults for all keys and o.Defaults is not set, and looks at few templates
// if all the others are read.
func Find(ctx context.Context, c *chart.Chart, user map[string]any, o Options) ([]Key, error) {
	s := &search{name: c.Name(), all: o.Defaults, scripts: scriptsOf(c)}
	var sought pending
	s.collect(user, newSpot(c), nil, true, &sought)
	if len(sought) == 0 {
		return nil, nil
	}
	res, err := values.Resolve(allOn(c), user)
	if err != nil {
		return nil, err
	}
	if _, err := dependency.Libraries(res.Chart); err != nil {
		return nil, err
	}
	root, err := engine.FindUsage(ctx, engine.Input{Chart: res.Chart, Values: res.Rounded(res.Values), Rounded: true,
		Functions: o.Functions, Cache: o.Cache, Thorough: o.Thorough,
		Goal: engine.UsageGoal{Reached: sought.allRead, Words: sought.words()}})
	if err != nil || len(sought) == 0 {
		return nil, err
	}
	s.root, s.defaults = root, newSpot(res.Chart)
	s.declare(c, root)
	s.walk(user, []*engine.Usage{root}, s.defaults, nil)
	return s.found, nil
}

// allOn returns a copy of the tree of c in which no condition and no tag switches a dependency
// off.
func allOn(c *chart.Chart) *chart.Chart {
	out := c.Shallow()
	if c.Metadata != nil {
		md := *c.Metadata
		md.Dependencies = make([]*chart.Dependency, len(c.Metadata.Dependencies))
		for i, d := range c.Metadata.Dependencies {
			if d != nil {
				on := *d
				on.Condition, on.Tags = "", nil
				md.Dependencies[i] = &on
			}
		}
		out.Metadata = &md
	}
	below := make([]*chart.Chart, len(c.Dependencies()))
	for i, d := range c.Dependencies() {
		below[i] = allOn(d)
	}
	out.SetDependencies(below...)
	return out
}

// spot is what the charts' defaults have at a path.
type spot struct {
	tables []map[string]any
	// charts are those whose values are at the path.
	charts []*chart.Chart
}

func newSpot(c *chart.Chart) spot {
	return spot{tables: []map[string]any{c.Values}, charts: []*chart.Chart{c}}
}

// step returns what is under a key, and reports whether the charts know it.
func (s spot) step(key string) (below spot, ok bool) {
	for _, t := range s.tables {
		v, has := t[key]
		ok = ok || has
		if table, isTable := v.(map[string]any); isTable {
			below.tables = append(below.tables, table)
		}
	}
	for _, c := range s.charts {
		if key == "global" {
			ok = true
			c.Root().Walk(func(c *chart.Chart) {
				if table, isTable := c.Values["global"].(map[string]any); isTable {
					below.tables = append(below.tables, table)
				}
			})
		}
		for _, d := range named(c, key) {
			ok = true
			below.tables, below.charts = append(below.tables, d.Values), append(below.charts, d)
		}
	}
	return below, ok
}

// named returns the charts below c that have a name or an alias.
func named(c *chart.Chart, name string) []*chart.Chart {
	names := map[string]bool{name: true}
	if c.Metadata != nil {
		for _, e := range c.Metadata.Dependencies {
			if e != nil && e.Alias == name {
				names[e.Name] = true
			}
		}
	}
	var out []*chart.Chart
	for _, d := range c.Subcharts() {
		if names[d.Name()] {
			out = append(out, d)
		}
	}
	return out
}

// keys returns the keys that the charts know here.
func (s spot) keys() []string {
	var out []string
	for _, t := range s.tables {
		out = slices.AppendSeq(out, maps.Keys(t))
	}
	for _, c := range s.charts {
		for _, d := range c.Subcharts() {
			out = append(out, d.Name())
		}
	}
	return out
}

// search finds the keys that are not read.
type search struct {
	root     *engine.Usage
	name     string
	defaults spot
	all      bool
	scripts  scripts
	found    []Key
}

// walk adds the keys of vals that nothing reads. nodes have what is read at path; nil means nothing.
func (s *search) walk(vals map[string]any, nodes []*engine.Usage, defaults spot, path []string) {
	if slices.ContainsFunc(nodes, func(n *engine.Usage) bool { return n.Whole }) {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(vals)) {
		read := below(nodes, key)
		at := append(path[:len(path):len(path)], key)
		under, known := defaults.step(key)
		table, isTable := vals[key].(map[string]any)
		switch {
		case s.scripts.read(at):
			if isTable && !s.scripts.readWhole(at) {
				s.walk(table, read, under, at)
			}
		case len(read) > 0 || known && !s.all:
			if isTable {
				s.walk(table, read, under, at)
			}
		default:
			s.add(Key{Path: at, Default: known}, nodes, defaults, vals)
		}
	}
}

// maxSuggested limits the keys that get suggestions: finding one looks at all keys that are read.
const maxSuggested = 500

// add adds a key of the table vals with a suggestion.
func (s *search) add(k Key, nodes []*engine.Usage, defaults spot, vals map[string]any) {
	parent, key := k.Path[:len(k.Path)-1], k.Path[len(k.Path)-1]
	if !k.Default && len(s.found) < maxSuggested {
		if n := at(s.scripts.named, parent); n != nil {
			nodes = append(nodes[:len(nodes):len(nodes)], n)
		}
		if name := sibling(key, nodes, defaults, vals); name != "" {
			k.Suggestion = append(slices.Clone(parent), name)
		} else {
			k.Suggestion = s.elsewhere(key, parent)
		}
	}
	if k.Suggestion != nil {
		for _, root := range []*engine.Usage{s.scripts.named, s.root} { // a template's place wins
			if n := at(root, k.Suggestion); n != nil && n.Line > 0 {
				k.File, k.Line = strings.TrimPrefix(n.File, s.name+"/"), n.Line
			}
		}
	}
	s.found = append(s.found, k)
}

// sibling returns the key beside a misspelled one that was probably meant, or "". It prefers those
// that the user has not set.
func sibling(key string, nodes []*engine.Usage, defaults spot, vals map[string]any) string {
	known := defaults.keys()
	for _, n := range nodes {
		known = slices.AppendSeq(known, maps.Keys(n.Keys))
	}
	slices.Sort(known)
	known = slices.Compact(known)
	isSet := func(name string) bool { _, ok := vals[name]; return ok }
	if near := suggest.Nearest(slices.DeleteFunc(slices.Clone(known), isSet), key); len(near) > 0 {
		return near[0]
	}
	if near := suggest.Nearest(known, key); len(near) > 0 {
		return near[0]
	}
	return ""
}

// at returns what is read at a path below n, or nil.
func at(n *engine.Usage, path []string) *engine.Usage {
	for _, key := range path {
		if n = n.Keys[key]; n == nil {
			return nil
		}
	}
	return n
}

// maxVisited limits the tables in which elsewhere looks for a key.
const maxVisited = 10_000

// elsewhere returns the path of a key that is read in another table: the shortest one that begins
// as the parent does. It returns nil if there is none.
func (s *search) elsewhere(key string, parent []string) []string {
	if len(key) < 3 {
		return nil
	}
	type entry struct {
		n    *engine.Usage
		path []string
	}
	var best []string
	common := func(path []string) int {
		i := 0
		for i < min(len(path), len(parent)) && path[i] == parent[i] {
			i++
		}
		return i
	}
	queue := []entry{{s.root, nil}, {s.scripts.named, nil}}
	for i := 0; i < len(queue) && i < maxVisited; i++ {
		e := queue[i]
		for _, k := range slices.Sorted(maps.Keys(e.n.Keys)) {
			c, path := e.n.Keys[k], append(e.path[:len(e.path):len(e.path)], k)
			if k == key && c.Line > 0 && (best == nil || common(path) > common(best)) {
				best = path
			}
			if len(path) < 12 {
				queue = append(queue, entry{c, path})
			}
		}
	}
	return best
}
