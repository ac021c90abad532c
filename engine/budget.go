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

// A chart is a program of unknown origin. This file bounds what running it may
// cost: everything ends, in bounded memory, and no stack overflows, which no
// process survives. No chart of the corpus takes a fiftieth of any of these
// limits, which a test makes sure of.

const (
	// maxSteps bounds the time of one rendering: turns of loops, calls, and
	// what goes through them. Each template file brings stepsPerFile more, so
	// that large trees are not taken for endless ones.
	maxSteps     = 100_000_000
	stepsPerFile = 20_000
	// lookEvery is how many bytes templates may make without a look at what they
	// hold. Nearly all that templates make is garbage at once, and how much there
	// is of that matters to time only, as steps.
	lookEvery = 32 << 20
	// maxHeld bounds by how much the heap may grow during a rendering, garbage
	// left out.
	maxHeld = 512 << 20
	// maxNest bounds how deep blocks, pipelines and calls run inside each other.
	maxNest = 100_000
	// maxBlocks is how deep if, with, range and their like may be nested in one
	// text: the parser calls itself for each.
	maxBlocks = 1000
	// maxCode bounds the bytes inside {{ and }} of all templates together. The
	// parser turns each into about a hundred.
	maxCode = 8 << 20
)

// spent is what all executors of a rendering have used together. They tell it
// in portions, because they share it.
type spent struct {
	steps atomic.Int64
	made  atomic.Int64
	// nextLook is what will have been made when the next look is due.
	nextLook atomic.Int64
	// heap is what the process held when the rendering began.
	heap int64
}

// reset is for a rendering that starts over.
func (s *spent) reset() {
	s.steps.Store(0)
	s.made.Store(0)
	s.nextLook.Store(lookEvery)
}

// begin notes what the process holds before the rendering.
func (s *spent) begin() {
	s.reset()
	s.heap = heapBytes(wholeHeap)
}

// The heap as its last collection left it, and with the garbage of since then.
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

// work counts n steps. Nothing outlives the context.
func (f *frame) work(n int) {
	f.steps += min(max(int64(n), 1), 1<<40)
	if f.steps-f.toldSteps >= 1<<10 {
		f.tellSteps()
	}
}

func (f *frame) tellSteps() {
	n := f.steps - f.toldSteps
	f.toldSteps = f.steps
	if f.ctx.Err() != nil {
		panic(cancelled{f.ctx.Err()})
	}
	if limit := f.stepLimit; f.spent.steps.Add(n) > limit {
		f.failf("the templates do not come to an end: they have made more than %d million steps", limit/1_000_000)
	}
}

// allocate counts n bytes that were made.
func (f *frame) allocate(n int) {
	f.made += min(max(int64(n), 0), 1<<40)
	if f.made-f.toldMade >= 1<<20 {
		f.tellMade()
	}
}

func (f *frame) tellMade() {
	n := f.made - f.toldMade
	f.toldMade = f.made
	f.work(int(min(n>>9, math.MaxInt32))) // what is made is filled, and collected
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

// enter counts a level of nesting, which leave takes back.
func (f *frame) enter() {
	if f.nest++; f.nest > maxNest {
		f.failf("templates run more than %d levels deep", maxNest)
	}
}

func (f *frame) leave() { f.nest-- }

// charge counts what a call costs before it is made.
func (f *frame) charge(fn *function, argv []any) {
	n := 1 + fn.cost + f.depth>>3 // deep stacks are slow to collect behind
	w := newWeight()
	for i, v := range argv {
		weighs := fn.weighs && i >= fn.unweighed
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
		if !weighs {
			continue
		}
		if err := w.check(v); err != nil {
			f.failCall(fn.name, err)
		}
	}
	for _, b := range fn.bounds {
		if asked, err := b.asks(argv); err != nil {
			f.failCall(fn.name, err)
		} else if asked > b.most {
			f.failCall(fn.name, fmt.Errorf("%d is more than templates may ask for", asked))
		}
	}
	nodes, bytes := w.used()
	f.work(n + nodes + bytes>>6)
	if fn.makes > 0 {
		f.allocate(fn.makes * (1 + len(argv)))
	}
}

// matchCost is what holding a text against a pattern may cost: each byte is held
// against every part of the pattern, and a{1000} is a thousand parts.
func matchCost(pattern any, text int) int {
	p, _ := pattern.(string)
	parts := len(p)
	if strings.IndexByte(p, '{') >= 0 {
		parts *= 20
	}
	return text * min(parts, 1<<20) >> 4
}

// bounded counts what fn made, and fails where that is too long.
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

// survey looks at a template text before it is parsed: how much of it is code,
// and how deep its blocks nest. An else if nests inside its if.
func survey(text string) (code, depth int) {
	var open []int
	now := 0
	for {
		at := strings.Index(text, "{{")
		if at < 0 {
			return code, depth
		}
		text = text[at+2:]
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
			now++
		case "else":
			if next, _ := firstWord(strings.TrimLeft(rest, " \t\r\n")); len(open) > 0 && (next == "if" || next == "with") {
				open[len(open)-1]++
				now++
			}
		case "end":
			if len(open) > 0 {
				now -= open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
		depth = max(depth, now)
		text = text[end:]
	}
}

// actionEnd is where the }} of an action stands, quoted ones left out.
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

// admit tells why a text may not be parsed. code counts what was admitted.
func admit(text string, code *atomic.Int64) error {
	n, depth := survey(text)
	if depth > maxBlocks {
		return fmt.Errorf("if, with, range and define are nested more than %d deep", maxBlocks)
	}
	if code.Add(int64(n)) > maxCode {
		return fmt.Errorf("the chart's templates have more than %d MiB of code", maxCode>>20)
	}
	return nil
}
