// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/arnodel/golua/code"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/wire"
)

// covered counts how often the lines of scripts are run.
type covered struct {
	hits map[line]int64
	told map[line]bool
}

// line is a line of a chunk.
type line struct {
	source string
	number int
}

func newCovered() *covered { return &covered{hits: map[line]int64{}, told: map[line]bool{}} }

// cover has the lines that are run counted.
func (e *engine) cover() {
	e.covered = newCovered()
	hook := e.value("(cover)", 2, false, func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		if info := c.Next().DebugInfo(); info != nil && c.NArgs() > 1 {
			if n, ok := c.Arg(1).TryInt(); ok {
				at := line{info.Source, int(n)}
				if _, ok := e.covered.hits[at]; ok {
					e.covered.hits[at]++
				}
			}
		}
		return c.Next(), nil
	})
	e.r.MainThread().SetupHooks(rt.DebugHooks{DebugHookFlags: rt.HookFlagLine, Hook: hook})
}

// add notes the lines of a unit that can be run.
func (c *covered) add(source string, unit *code.Unit) {
	if c == nil {
		return
	}
	for _, n := range unit.Lines {
		at := line{source, int(n)}
		if _, ok := c.hits[at]; n > 0 && !ok {
			c.hits[at] = 0
		}
	}
}

// addCoverage adds to an answer what was counted since the last one.
func (e *engine) addCoverage(answer wire.Message) {
	if e.covered != nil && answer.Body != nil {
		answer.Body["coverage"] = e.coverage()
	}
}

// coverage returns what was counted since its last call.
func (e *engine) coverage() []any {
	out := []any{}
	for at, hits := range e.covered.hits {
		where, ok := e.sources[at.source]
		if !ok || hits == 0 && e.covered.told[at] {
			continue
		}
		out = append(out, map[string]any{"chart": int64(where.chart), "file": where.file, "line": int64(at.number),
			"hits": hits})
		e.covered.hits[at], e.covered.told[at] = 0, true
	}
	return out
}
