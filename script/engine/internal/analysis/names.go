// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/suggest"
)

// globals checks that all globals that are read are assigned somewhere.
func (c *checker) globals() {
	if c.p.open || c.foreignOpen || c.inTable[""] {
		return
	}
	base := c.programs[c.p.chart.Base]
	if base != nil && (base.open || base.incomplete) {
		return
	}
	for _, name := range sortedKeys(c.p.globals) {
		v := c.p.globals[name]
		if len(v.values) > 0 || len(v.reads) == 0 || c.foreign[name] || slices.Contains(c.globalNames, name) ||
			base != nil && base.globals[name] != nil && len(base.globals[name].values) > 0 ||
			slices.Contains(c.p.chart.Grants, c.known.Granted[name]) && c.known.Granted[name] != "" || name == "_ENV" {
			continue
		}
		if !c.inTable[name] {
			c.undefined(v)
		}
	}
}

// undefined reports a global that nothing assigns. To read it is an error, but for names that
// other versions of Lua have and that permissions add, which are nil.
func (c *checker) undefined(v *variable) {
	permission := c.known.Granted[v.name]
	absent := slices.Contains(c.known.Absent, v.name)
	tested := slices.ContainsFunc(v.reads, func(n *identifier) bool {
		return n.use.kind != useCalled && n.use.kind != useIndexed
	})
	if tested && (permission != "" || absent) {
		return // it is nil, which the script looks at
	}
	for _, n := range v.reads {
		severity := Error
		if n.in.guarded {
			severity = Warning
		}
		switch {
		case permission != "":
			c.add(severity, n.place, "%s is nil; scripts have %s where ext/permissions.yaml asks for %s", v.name, v.name,
				permission)
		case absent:
			c.add(severity, n.place, "%s is nil; scripts have no %s", v.name, v.name)
		default:
			c.add(severity, n.place, "the global %s is never set%s", v.name, c.similar(n))
		}
	}
}

// maxSuggestions is after how many findings no more suggestions are made: each compares a name
// with all others.
const maxSuggestions = 20

// similar returns the variable that was likely meant.
func (c *checker) similar(n *identifier) string {
	if len(c.out.Findings) > maxSuggestions {
		return ""
	}
	names := n.scope.visible()
	for _, p := range []*program{c.p, c.programs[c.p.chart.Base]} {
		if p == nil {
			continue
		}
		for name, v := range p.globals {
			if len(v.values) > 0 {
				names = append(names, name)
			}
		}
	}
	for _, name := range c.globalNames {
		if !strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	meant := suggest.Similar(names, n.v.name, max(1, len(n.v.name)/3), strings.ToLower)
	if meant == "" || len(n.v.name) < 3 {
		return ""
	}
	return "; did you mean " + meant + "?"
}

// unused reports functions that nothing calls, and files with handlers that nothing loads.
func (c *checker) unused() {
	for _, v := range c.p.locals {
		o, ok := v.single()
		if !ok || len(v.reads) > 0 || strings.HasPrefix(v.name, "_") {
			continue
		}
		f, ok := o.expr.(*function)
		switch {
		case !ok:
		case len(f.params) == 1 && f.params[0].name == "ctx":
			c.add(Warning, place{file: v.file, line: v.line}, "the handler %s is never used: register it with events.on", v.name)
		default:
			c.add(Warning, place{file: v.file, line: v.line}, "the function %s is never used", v.name)
		}
	}
	c.unloaded()
}

// unloaded reports handlers in files that neither the chart nor another chart of the tree
// loads. A file that returns something is made for others to require.
func (c *checker) unloaded() {
	loaded, ok := c.loaded()
	if !ok || c.p.chunks["chart.lua"] == nil {
		return
	}
	for _, call := range c.p.calls {
		chunk := c.p.chunks[call.file]
		if calledName(call) != "events.on" || loaded[call.file] || len(chunk.returns) > 0 {
			continue
		}
		c.add(Warning, call.place, "the handler is never used: nothing requires %s%s", c.p.chart.Directory, call.file)
	}
}

// loaded returns the files of the chart that are loaded; ok is false if not all names that
// are required are known.
func (c *checker) loaded() (files map[string]bool, ok bool) {
	files = map[string]bool{"chart.lua": true}
	for ch, p := range c.programs {
		for _, call := range p.calls {
			if calledName(call) != "require" || len(call.args) == 0 {
				continue
			}
			names := textsOf(call.args[0], 0)
			if names == nil {
				return nil, false
			}
			for _, name := range names {
				if of, file := resolve(ch, name); of == c.p.chart {
					files[file] = true
				}
			}
		}
	}
	return files, len(c.programs) > 0
}

// resolve returns the chart and the file that a name of a module stands for.
func resolve(ch *Chart, name string) (*Chart, string) {
	if ch.Base != nil {
		ch = ch.Base
	}
	if dep, rest, ok := strings.Cut(name, "/"); ok {
		ch, name = ch.Requires[dep], rest
	}
	return ch, strings.ReplaceAll(name, ".", "/") + ".lua"
}

// required checks that a file whose value is used returns one.
func (c *checker) required(call *call, name string) {
	of, file := resolve(c.p.chart, name)
	p := c.programs[of]
	if p == nil || call.dropped {
		return
	}
	chunk := p.chunks[file]
	if chunk == nil || len(chunk.returns) > 0 {
		return
	}
	c.add(Error, call.place, "require(%q) gives true: %s%s has no return at its end%s", name, of.Directory, file,
		p.returnable(file))
}

// returnable returns what a file was likely meant to return: the only table that it makes and
// adds functions to.
func (p *program) returnable(file string) string {
	meant := ""
	for _, w := range p.writes {
		n, ok := w.target.of.(*identifier)
		if !ok || w.target.file != file || n.v.global {
			continue
		}
		if o, ok := n.v.single(); !ok {
			continue
		} else if _, ok := o.expr.(*table); !ok || n.v.name == meant {
			continue
		}
		if meant != "" {
			return ""
		}
		meant = n.v.name
	}
	if meant == "" {
		return ""
	}
	return "; did you mean \"return " + meant + "\"?"
}
