// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
)

// A chart is an untrusted program. This file limits the time, the memory and the stack of
// running it. A test checks that no chart of the corpus uses more than a fiftieth of any limit.

const (
	// maxSteps limits the time of a rendering. Steps are iterations of loops, calls, and
	// the sizes of arguments. Each template file adds stepsPerFile, for large trees.
	maxSteps     = 100_000_000
	stepsPerFile = 20_000
	// lookEvery is the number of allocated bytes after which the heap is measured. Nearly
	// all allocated bytes become garbage at once, which only counts as steps.
	lookEvery = 32 << 20
	// maxHeld limits the growth of the heap, without garbage, during a rendering.
	maxHeld = 512 << 20
	// maxNest limits the nesting of running blocks, pipelines and calls.
	maxNest = 100_000
	// maxBlocks limits the nesting of if, with, range and the like in a text, because the
	// parser is recursive.
	maxBlocks = 1000
	// maxCode limits the bytes between {{ and }} in all templates. The parser allocates
	// about a hundred bytes for each.
	maxCode = 8 << 20
)

// spent counts the resources that all executors of a rendering have used. Executors add to it
// in portions, because they share it.
type spent struct {
	steps atomic.Int64
	made  atomic.Int64
	// nextLook is the number of allocated bytes at which to measure the heap next.
	nextLook atomic.Int64
	// heap is the size of the heap at the start of the rendering.
	heap int64
}

// reset resets the counters for a rendering that starts again.
func (s *spent) reset() {
	s.steps.Store(0)
	s.made.Store(0)
	s.nextLook.Store(lookEvery)
}

// begin measures the heap before the rendering.
func (s *spent) begin() {
	s.reset()
	s.heap = heapBytes(wholeHeap)
}

// The size of the heap after the last collection, and including garbage.
const (
	liveHeap  = "/gc/heap/live:bytes"
	wholeHeap = "/memory/classes/heap/objects:bytes"
)

func heapBytes(what string) int64 {
	sample := []metrics.Sample{{Name: what}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(min(sample[0].Value.Uint64(), 1<<62))
}

// work adds n steps. It fails if the context is done.
func (f *frame) work(n int) {
	f.steps += min(max(int64(n), 1), 1<<40)
	if f.steps-f.countedSteps >= 1<<10 {
		f.countSteps()
	}
}

func (f *frame) countSteps() {
	n := f.steps - f.countedSteps
	f.countedSteps = f.steps
	if f.ctx.Err() != nil {
		panic(cancelled{f.ctx.Err()})
	}
	if limit := f.stepLimit; f.spent.steps.Add(n) > limit {
		f.failf("the templates do not come to an end: they have made more than %d million steps", limit/1_000_000)
	}
}

// allocate adds n allocated bytes.
func (f *frame) allocate(n int) {
	f.made += min(max(int64(n), 0), 1<<40)
	if f.made-f.countedMade >= 1<<20 {
		f.countMade()
	}
}

func (f *frame) countMade() {
	n := f.made - f.countedMade
	f.countedMade = f.made
	f.work(int(min(n>>9, math.MaxInt32))) // the time to fill and to collect the memory
	made, next := f.spent.made.Add(n), f.spent.nextLook.Load()
	if made < next || !f.spent.nextLook.CompareAndSwap(next, made+lookEvery) {
		return
	}
	if heapBytes(wholeHeap)-f.spent.heap <= maxHeld {
		return
	}
	runtime.GC()
	left := maxHeld - (heapBytes(liveHeap) - f.spent.heap)
	if left < 0 {
		f.failf("the templates hold more than %d MiB of values and text", maxHeld>>20)
	}
	f.spent.nextLook.Store(made + max(lookEvery, left/2))
}

// enter adds a level of nesting, which leave removes.
func (f *frame) enter() {
	if f.nest++; f.nest > maxNest {
		f.failf("templates run more than %d levels deep", maxNest)
	}
}

func (f *frame) leave() { f.nest-- }

// charge adds the cost of a call before it is made.
func (f *frame) charge(fn *function, argv []any) {
	n := 1 + fn.cost + f.depth>>3 // garbage collection scans deep stacks
	w := newWeight()
	for i, v := range argv {
		switch v := v.(type) {
		case nil, bool, int, int64, float64:
			continue
		case string:
			n += len(v) >> 6
			if fn.parses {
				f.allocate(8 * len(v))
			}
			if i > 0 && fn.pattern {
				n += matchCost(argv[0], len(v))
			}
		}
		if fn.surface || i < fn.unweighed {
			continue
		}
		if err := w.check(v); err != nil {
			f.failCall(fn.name, err)
		}
	}
	for _, b := range fn.bounds {
		if size, err := b.size(argv); err != nil {
			f.failCall(fn.name, err)
		} else if size > b.max {
			f.failCall(fn.name, fmt.Errorf("%d is more than templates may ask for", size))
		}
	}
	nodes, bytes := w.used()
	f.work(n + nodes + bytes>>6)
	if fn.makes > 0 {
		f.allocate(fn.makes * (1 + len(argv)))
	}
}

// matchCost returns the maximum cost of matching a text against a pattern: each byte is
// compared with every part of the pattern, and a{1000} has a thousand parts.
func matchCost(pattern any, text int) int {
	p, _ := pattern.(string)
	parts := len(p)
	if strings.IndexByte(p, '{') >= 0 {
		parts *= 20
	}
	return text * min(parts, 1<<20) >> 4
}

// bounded adds the size of the result of fn, and fails if it is too large.
func (f *frame) bounded(fn *function, v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > maxText {
			f.failf("%s makes a text of more than %d MiB", fn.name, maxText>>20)
		}
		f.allocate(len(v))
	case []any:
		if !fn.surface || fn.copies {
			f.allocate(16 * len(v))
		}
	case []string:
		f.allocate(16 * len(v))
	case []int:
		f.allocate(8 * len(v))
	case map[string]string:
		f.allocate(64 * len(v))
	}
	return v
}

// measure returns the bytes of code in a template and the nesting of its blocks, without
// parsing it. An else if is nested in its if.
func measure(text string) (code, depth int) {
	var open []int
	level := 0
	for {
		start := strings.Index(text, "{{")
		if start < 0 {
			return code, depth
		}
		text = text[start+2:]
		body := strings.TrimLeft(strings.TrimPrefix(text, "-"), " \t\r\n")
		if strings.HasPrefix(body, "/*") {
			body = body[len("/*"):]
			end := strings.Index(body, "*/")
			if end < 0 {
				return code, depth
			}
			text = body[end:]
			continue
		}
		end := actionEnd(text)
		code += end
		word, rest := firstWord(body)
		switch word {
		case "if", "with", "range", "block", "define":
			open = append(open, 1)
			level++
		case "else":
			if next, _ := firstWord(strings.TrimLeft(rest, " \t\r\n")); len(open) > 0 && (next == "if" || next == "with") {
				open[len(open)-1]++
				level++
			}
		case "end":
			if len(open) > 0 {
				level -= open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
		depth = max(depth, level)
		text = text[end:]
	}
}

// actionEnd returns the offset of the }} of an action, ignoring those in quotes.
func actionEnd(text string) int {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '}':
			if strings.HasPrefix(text[i:], "}}") {
				return i
			}
		case '"', '\'', '`':
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' && c != '`' {
					i++
				}
			}
		}
	}
	return len(text)
}

func firstWord(text string) (word, rest string) {
	n := 0
	for n < len(text) &&
		(text[n] >= 'a' && text[n] <= 'z' || text[n] >= 'A' && text[n] <= 'Z' || text[n] == '_' || text[n] >= '0' &&
			text[n] <= '9') {
		n++
	}
	return text[:n], text[n:]
}

// admit adds the code of text to code and returns its size, or an error if text exceeds a limit.
func admit(text string, code *atomic.Int64) (int64, error) {
	n, depth := measure(text)
	if depth > maxBlocks {
		return 0, fmt.Errorf("if, with, range and define are nested more than %d deep", maxBlocks)
	}
	return int64(n), addCode(int64(n), code)
}

// addCode adds n to code, and returns an error if the sum exceeds the limit.
func addCode(n int64, code *atomic.Int64) error {
	if code.Add(n) > maxCode {
		return fmt.Errorf("the chart's templates have more than %d MiB of code", maxCode>>20)
	}
	return nil
}
