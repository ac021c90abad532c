// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/plan/patch"
)

// ExplainValues computes the values of req.Chart like [Template.Values], and returns where each of
// them comes from, scripts and handlers included.
func (t Template) ExplainValues(ctx context.Context, req TemplateRequest) (map[string]any, *values.Origins, error) {
	r, err := t.rendering(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	defer r.events.end()
	origins, err := r.watchValues(req)
	if err != nil {
		return nil, nil, err
	}
	pre, err := r.prepare(ctx)
	if err != nil {
		return nil, nil, err
	}
	return pre.Values, origins, nil
}

// watchValues returns the origins of the resolved values, which follow what handlers change.
func (r *rendering) watchValues(req TemplateRequest) (*values.Origins, error) {
	user := &values.Origins{}
	if req.ValueOrigins != nil {
		var err error
		if user, err = req.ValueOrigins(); err != nil {
			return nil, err
		}
	}
	origins, _, err := user.Resolve(req.Chart, nil)
	if err != nil {
		return nil, err
	}
	r.events.Watch(func(s event.Step, e event.Event) { updateOrigins(origins, s, e) })
	return origins, nil
}

// updateOrigins gives the values that a handler has changed the handler as their origin.
func updateOrigins(origins *values.Origins, s event.Step, e event.Event) {
	if s.Core || e.Data().Values == nil || !e.Mutable().Has(event.Values) {
		return
	}
	place := newScriptPlace(s, e.Data().Chart)
	origins.Update(values.Copy(e.Data().Values), func(keys []string) values.Origin {
		return values.Origin{Script: place.name, File: place.file, Line: place.assignment(keys)}
	})
}

// scriptPlace is the place of a script's handler, or of a handler of the program.
type scriptPlace struct {
	name string // of its chart, or the handler's owner
	file string // its path in the tree of charts, or ""
	line int
	text string // of the file
	// patch is set for a patch instead of a script.
	patch *patch.Patch
}

func newScriptPlace(s event.Step, root *chart.Chart) scriptPlace {
	name, line, _ := strings.Cut(s.Where, ":")
	if s.Chart == "" || name == "" {
		return scriptPlace{name: s.Owner}
	}
	p := scriptPlace{name: path.Base(s.Chart), file: s.Chart + "/" + name}
	p.line, _ = strconv.Atoi(line) // 0 if it is not known
	if root == nil {
		return p
	}
	root.Walk(func(c *chart.Chart) {
		if f := c.File(name); f != nil && c.FullPath() == s.Chart {
			p.text = string(f.Data)
		}
	})
	return p
}

// assignment returns the line of the script's file that sets the value at a path, as far as its text
// shows that: the first line, from the handler's on if there is one, that assigns to the last key and
// names most of the others and least else. If there is none, it looks for an assignment to a table above the value, and
// returns the line of the handler if there is none either.
func (p scriptPlace) assignment(keys []string) int {
	if p.patch != nil {
		return p.patch.LineOf(keys[len(keys)-1])
	}
	if p.text == "" {
		return p.line
	}
	lines := strings.Split(p.text, "\n")
	for ; len(keys) > 0; keys = keys[:len(keys)-1] {
		if at := p.search(lines, keys); at > 0 {
			return at
		}
	}
	return p.line
}

// search returns the best line for an assignment to the last of keys, or 0.
func (p scriptPlace) search(lines, keys []string) int {
	last := keys[len(keys)-1]
	assigns, err := regexp.Compile(`(^|[\w.]*[^\w])["']?` + regexp.QuoteMeta(last) + `["']?\]?\s*=([^=]|$)`)
	if err != nil {
		return 0 // a quoted name always compiles
	}
	best, found := math.MinInt, 0
	for i, line := range lines {
		match := assigns.FindStringSubmatch(line)
		if match == nil || strings.HasPrefix(strings.TrimSpace(line), "--") {
			continue
		}
		weight := -2 * strings.Count(match[1], ".") // names of tables that are not among the keys
		for _, key := range keys[:len(keys)-1] {
			if strings.Contains(line, key) {
				weight += 4
			}
		}
		if i+1 >= p.line {
			weight++
		}
		if weight > best {
			best, found = weight, i+1
		}
	}
	return found
}
