// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/lazy"
)

// Usage is what the templates of a chart tree may use of a value, in any branch and for any
// values. See [FindUsage].
type Usage struct {
	// Keys has the keys of a table that templates name.
	Keys map[string]*Usage
	// Any is set if templates use keys whose names are not known: names that they compute, or
	// all keys one after the other. It is what they use of each of them, and of the items of a
	// list.
	Any *Usage
	// Whole is set if the value is used with everything below it: it is printed, or passed to
	// a function such as toYaml.
	Whole bool
	// File and Line are the place of a template that uses the value. They are zero if the value
	// is not named in a file.
	File string
	Line int

	id int
	// stored has what templates have set in the table, by key, and merged what they have
	// merged into it.
	stored map[string]*abstract
	merged *abstract
}

// errReached ends the search when its goal is reached.
var errReached = errors.New("the goal is reached")

// ErrUsageLimit is returned by [FindUsage] if the templates are too large to follow.
var ErrUsageLimit = errors.New("the templates take too many steps to follow")

const (
	// maxUsageSteps limits the nodes of templates that FindUsage visits, which takes some 80 ms,
	// and maxThoroughSteps those with Input.Thorough: 7 s. maxUsageDepth limits the
	// nesting of its calls, maxUsageRecursion that of calls of one template with different
	// arguments, maxUsageWriters those of one that changes its argument, and maxUsagePasses how
	// often it starts again because templates write to the values.
	maxUsageSteps     = 500_000
	maxThoroughSteps  = 40_000_000
	maxUsageDepth     = 200
	maxUsageRecursion = 2
	maxUsageWriters   = 20
	maxUsagePasses    = 4
)

// A UsageGoal is what a caller of [FindUsage] wants to know. The zero value is everything.
type UsageGoal struct {
	// Reached is called again and again with what was found so far, which it must not keep or change.
	// FindUsage returns once it reports true.
	Reached func(*Usage) bool
	// Words are in templates that probably lead to the goal: those that have most of them are
	// followed first.
	Words []string
}

// FindUsage returns what the templates of in.Chart and of the charts below it may use of the root
// chart's values. It does not run the templates, but follows the values through all their
// branches, variables, calls and arguments. Where it cannot know what becomes of a value, the
// value counts as used. The text of in.Values that contains templates is followed like a
// template, because charts pass it to tpl. The error of a template that cannot be parsed is an
// [*Error].
func FindUsage(ctx context.Context, in Input) (*Usage, error) {
	if in.Chart == nil {
		return nil, errors.New("find usage: there is no chart")
	}
	if in.Capabilities == nil {
		in.Capabilities = DefaultCapabilities()
	}
	e := newEngine(&in)
	if err := e.customize(in.Functions); err != nil {
		return nil, err
	}
	jobs := e.jobs(false)
	if err := e.parse(jobs); err != nil {
		return nil, err
	}
	in.Goal.sort(jobs)
	u := &usageFinder{engine: e, ctx: ctx, goal: in.Goal.Reached, root: &Usage{}, limit: maxUsageSteps,
		written: math.MaxInt, nested: map[*parse.ListNode]int{}, tables: map[*scope]*abstractTable{}}
	if in.Thorough {
		u.limit = maxThoroughSteps
	}
	var top *scope
	for i := range jobs {
		for top = jobs[i].scope; top.parent != nil; top = top.parent {
		}
	}
	if top == nil {
		return u.root, nil
	}
	u.addScope(top, u.root)
	for range maxUsagePasses {
		u.changed, u.known, u.running = false, map[string]bool{}, map[string]bool{}
		u.writers = map[*parse.ListNode]int{}
		u.pass(jobs, top)
		if errors.Is(u.err, errReached) {
			break
		}
		if u.err != nil {
			return nil, u.err
		}
		if !u.changed {
			break
		}
	}
	return u.root, nil
}

// sort moves templates to the beginning that have more of the words than others.
func (g UsageGoal) sort(jobs []job) {
	if len(g.Words) == 0 {
		return
	}
	has := make(map[string]int, len(jobs))
	for _, j := range jobs {
		for _, w := range g.Words {
			if strings.Contains(j.text, w) {
				has[j.name]++
			}
		}
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return has[b.name] - has[a.name] })
}

// usageFinder follows values through templates.
type usageFinder struct {
	*engine
	goal   func(*Usage) bool
	ctx    context.Context
	root   *Usage
	tables map[*scope]*abstractTable
	// known has the calls that were followed, by definition and argument, running those that
	// have begun.
	known, running map[string]bool
	// nested counts how often each definition is being followed, writers how often it was
	// followed in this pass and has changed its argument.
	nested, writers map[*parse.ListNode]int
	depth           int
	steps, limit    int
	ids             int
	// written is the number of the oldest table that the running call has changed. changed is
	// set if data that all templates share has changed, and may have been read before.
	written int
	changed bool
	// stores counts what was set.
	stores int
	err    error
}

// addScope adds the data of the chart of s, whose values are at n, and of the charts below it.
// All charts share the globals.
func (u *usageFinder) addScope(s *scope, n *Usage) *abstractTable {
	t := &abstractTable{name: s.chart.FullPath(), entries: map[string]*abstract{}}
	u.tables[s] = t
	below := &abstractTable{name: t.name + "/subcharts", entries: map[string]*abstract{}}
	for _, sub := range s.subs {
		at := &Usage{id: u.nextID()}
		if !sub.chart.FromLibrary {
			at = u.child(n, sub.chart.Name())
			if at.Keys == nil {
				at.Keys = map[string]*Usage{}
			}
			at.Keys["global"] = u.child(n, "global")
		}
		below.entries[sub.chart.Name()] = &abstract{tables: []*abstractTable{u.addScope(sub, at)}}
	}
	data := &abstractTable{name: t.name + "/chart", entries: map[string]*abstract{
		"Name": {texts: []string{s.chart.Name()}}, "Version": {texts: []string{s.chart.Version()}}}}
	template := &abstractTable{name: t.name + "/template", entries: map[string]*abstract{
		"BasePath": {texts: []string{path.Join(s.chart.FullPath(), chart.DirTemplates)}}}}
	t.entries["Values"] = &abstract{nodes: []*Usage{n}}
	t.entries["Subcharts"] = &abstract{tables: []*abstractTable{below}}
	t.entries["Chart"] = &abstract{tables: []*abstractTable{data}}
	t.entries["Template"] = &abstract{tables: []*abstractTable{template}}
	return t
}

// pass follows all templates, and the texts that they may pass to tpl.
func (u *usageFinder) pass(jobs []job, top *scope) {
	for i := range jobs {
		if def := u.set.find(jobs[i].name); def != nil && !jobs[i].partial() {
			u.call(def, u.set, &abstract{tables: []*abstractTable{u.tables[jobs[i].scope]}})
		}
	}
	var walk func(s *scope)
	walk = func(s *scope) {
		u.texts(s, map[string]any(s.dot["Values"].(Values)))
		for _, f := range s.chart.Files {
			if !strings.EqualFold(path.Ext(f.Name), ".md") && f.Name != chart.FileValues {
				u.text(s, fileText(f.Data))
			}
		}
		for _, sub := range s.subs {
			walk(sub)
		}
	}
	walk(top)
}

// texts follows the texts in v, a value of the chart of s.
func (u *usageFinder) texts(s *scope, v any) {
	switch v := v.(type) {
	case string:
		u.text(s, v)
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			u.texts(s, v[k])
		}
	case []any:
		for _, e := range v {
			u.texts(s, e)
		}
	}
}

// text follows a text that a template of the chart of s may pass to tpl.
func (u *usageFinder) text(s *scope, text string) {
	if strings.Contains(text, "{{") {
		u.tplText(s.chart.FullPath(), text, u.set, &abstract{tables: []*abstractTable{u.tables[s]}})
	}
}

// namedValues matches values that a text which is not a template names.
var namedValues = lazy.Regexp(`\.Values((?:\.[A-Za-z0-9_]+)+)`)

func (u *usageFinder) tplText(chartPath, text string, set *templateSet, dot *abstract) {
	src := &source{chart: chartPath, text: text}
	p := u.parseTpl(src)
	if p.err != nil {
		for _, m := range namedValues().FindAllStringSubmatch(text, 1000) {
			v := u.key(dot, "Values")
			for _, k := range strings.Split(m[1][1:], ".") {
				v = u.key(v, k)
			}
			u.use(v)
		}
		return
	}
	inner := &templateSet{under: set, defs: map[string]*definition{}}
	for _, name := range slices.Sorted(maps.Keys(p.trees)) {
		if name != mainName {
			inner.add(&definition{name: name, root: p.trees[name], src: src})
		}
	}
	u.call(&definition{root: p.trees[mainName], src: src}, inner, dot)
}

// child returns what is used of a key of the table n.
func (u *usageFinder) child(n *Usage, key string) *Usage {
	c := n.Keys[key]
	if c == nil {
		if n.Keys == nil {
			n.Keys = map[string]*Usage{}
		}
		c = &Usage{id: u.nextID()}
		n.Keys[key] = c
	}
	return c
}

func (u *usageFinder) any(n *Usage) *Usage {
	if n.Any == nil {
		n.Any = &Usage{id: u.nextID()}
	}
	return n.Any
}

func (u *usageFinder) nextID() int {
	u.ids++
	return u.ids
}

// step counts a node of a template, and reports whether to go on.
func (u *usageFinder) step() bool {
	u.steps++
	switch {
	case u.err != nil:
	case u.steps > u.limit:
		u.err = ErrUsageLimit
	case u.steps%1024 == 0:
		u.err = u.ctx.Err()
	case u.steps%32 == 0 && u.goal != nil && u.goal(u.root):
		u.err = errReached
	}
	return u.err == nil
}

// names returns the names of all definitions.
func (u *usageFinder) names(set *templateSet) []string {
	names := set.names()
	slices.Sort(names)
	return slices.Compact(names)
}

// store stores v under key, or under a key that is not known if known is false, in the tables of a.
func (u *usageFinder) store(a *abstract, key string, known bool, v *abstract) {
	if a == nil {
		return
	}
	u.stores++
	if !known {
		key = ""
	}
	for _, n := range a.nodes {
		if n.stored == nil {
			n.stored = map[string]*abstract{}
		}
		n.stored[key] = u.grow(n.stored[key], v, true)
	}
	for _, t := range a.tables {
		u.writeTo(t)
		if known {
			t.entries[key] = u.grow(t.entries[key], v, t.name != "")
		} else {
			t.other = u.grow(t.other, v, t.name != "")
		}
	}
}

// merge stores all entries of from in the tables of a.
func (u *usageFinder) merge(a, from *abstract) {
	if a == nil || from == nil {
		return
	}
	u.stores++
	for _, n := range a.nodes {
		n.merged = u.grow(n.merged, from.without(n, nil), true)
	}
	for _, t := range a.tables {
		u.writeTo(t)
		t.merged = u.grow(t.merged, from.without(nil, t), t.name != "")
	}
}

func (u *usageFinder) writeTo(t *abstractTable) {
	if t.name == "" {
		u.written = min(u.written, t.born)
	}
}

// grow returns the union of two values. If the result may have been read before, and differs
// from old, all templates are followed again.
func (u *usageFinder) grow(old, v *abstract, shared bool) *abstract {
	out := u.union(old, v)
	if v == nil {
		out = out.unlessText()
	}
	u.changed = u.changed || shared && out.signature() != old.signature()
	return out
}

// keys returns the sorted keys of a table.
func (t *abstractTable) keys() []string { return slices.Sorted(maps.Keys(t.entries)) }
