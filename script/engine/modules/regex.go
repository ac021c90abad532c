// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	rt "github.com/arnodel/golua/runtime"
)

const (
	maxPattern  = 4096 // bytes of a pattern
	maxPatterns = 64   // that are kept compiled
	// tick is the time of one unit of the runtime's CPU budget.
	tick = 25 * time.Nanosecond
)

func regexFunctions() []function {
	return []function{
		fn("regex.match", "(pattern, text) → boolean", "Reports whether the pattern, in RE2 syntax, matches anywhere in "+
			"the text.", 2, takesPattern(func(c *call, p pattern, text string) error {
			return c.giveData(p.MatchString(text))
		})),
		fn("regex.find", "(pattern, text) → text, capture...", "The first match and what its groups captured (\"\" for "+
			"one that took no part), or nil.", 2, takesPattern((*call).findMatch)),
		fn("regex.findAll", "(pattern, text) → list", "All matches that do not overlap, each a list of the match and what "+
			"its groups captured.", 2, takesPattern((*call).findAll)),
		fn("regex.replace", "(pattern, text, replacement) → text", "Replaces all matches by a text, in which $1 or ${1} "+
			"is what a group captured and $$ a dollar sign, or by what a function makes of the match and its captures; nil "+
			"or false from it keeps the match.", 3, takesPattern((*call).replaceMatches)),
		fn("regex.split", "(pattern, text[, n]) → list", "Cuts the text at the matches, into n pieces at most where n is "+
			"given.", 3, takesPattern((*call).split)),
	}
}

// takesPattern returns a function whose first arguments are a pattern and a text. One match of
// the text is charged.
func takesPattern(do func(c *call, p pattern, text string) error) func(*call) error {
	return takesText(func(c *call, source string) error {
		text, err := c.text(1)
		if err != nil {
			return err
		}
		p, err := c.compile(source)
		if err != nil {
			return err
		}
		c.spend(uint64(len(text)) * p.steps)
		return do(c, p, text)
	})
}

func (c *call) compile(source string) (pattern, error) {
	if p, ok := c.patterns[source]; ok {
		return p, nil
	}
	if len(source) > maxPattern {
		return pattern{}, c.wrong(0, "a pattern of at most %d bytes expected, got %d", maxPattern, len(source))
	}
	c.spend(64 * uint64(len(source)))
	c.borrow(128 * uint64(len(source)))
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return pattern{}, c.wrong(0, "%s", clip(err.Error()))
	}
	// Counted repetitions multiply: x{1000} is a thousand instructions.
	steps, size := measure(tree)
	c.spend(16 * size)
	c.keep(200 * size)
	re, err := regexp.Compile(source)
	if err != nil {
		return pattern{}, c.wrong(0, "%s", clip(err.Error()))
	}
	if len(c.patterns) == maxPatterns {
		clear(c.patterns)
	}
	p := pattern{Regexp: re, steps: 1 + steps/4}
	c.patterns[source] = p
	return p, nil
}

// measure returns how many instructions a byte of text may take, and the size of the pattern
// in memory.
func measure(re *syntax.Regexp) (steps, size uint64) {
	steps, size = 1, 1+uint64(len(re.Rune))
	if re.Op == syntax.OpLiteral {
		steps = size
	}
	for _, sub := range re.Sub {
		st, si := measure(sub)
		steps, size = steps+st, size+si
	}
	if re.Op == syntax.OpRepeat {
		times := uint64(max(re.Min, re.Max, 1))
		steps, size = steps*times, size*times
	}
	return steps, size
}

// captures returns the match at these offsets of text, and its groups.
func (c *call) captures(text string, at []int) []rt.Value {
	c.borrow(32 * uint64(len(at)))
	out := make([]rt.Value, len(at)/2)
	for i := range out {
		s := ""
		if at[2*i] >= 0 {
			s = text[at[2*i]:at[2*i+1]]
		}
		out[i] = rt.StringValue(s)
	}
	return out
}

// pace charges what it takes to find all matches, and counts them. Each may read to the end
// of the text, so that all of them may take the square of its length: they are found one by
// one first, and the time is measured.
func (c *call) pace(p pattern, text string) (matches uint64) {
	last := time.Now()
	c.borrow(uint64(len(text)))
	p.ReplaceAllStringFunc(text, func(string) string {
		now := time.Now()
		// The caller finds them again, with captures, and makes something of them.
		c.spend(8 + 4*uint64(now.Sub(last)/tick))
		last = now
		matches++
		return ""
	})
	c.spend(3 * uint64(time.Since(last)/tick))
	return matches
}

// places returns the offsets of all matches.
func (c *call) places(p pattern, text string) [][]int {
	n := c.pace(p, text)
	c.borrow(n * (48 + 32*uint64(p.NumSubexp()+1)))
	return p.FindAllStringSubmatchIndex(text, -1)
}

func (c *call) findMatch(p pattern, text string) error {
	at := p.FindStringSubmatchIndex(text)
	if at == nil {
		return c.give(rt.NilValue)
	}
	return c.give(c.captures(text, at)...)
}

func (c *call) findAll(p pattern, text string) error {
	found := c.places(p, text)
	c.borrow(24 * uint64(len(found)))
	out := make([]any, len(found))
	for i, at := range found {
		captured := c.captures(text, at)
		match := make([]any, len(captured))
		for j, s := range captured {
			match[j] = s
		}
		out[i] = match
	}
	return c.giveData(out)
}

func (c *call) replaceMatches(p pattern, text string) error {
	with := c.arg(2)
	if template, ok := with.TryString(); ok {
		return c.replaceByText(p, text, template)
	}
	if _, ok := with.TryCallable(); !ok {
		return c.expected(2, "text or function")
	}
	return c.replaceByFunction(p, text, with)
}

func (c *call) replaceByText(p pattern, text, template string) error {
	n := c.pace(p, text)
	// Each $ takes at most its match, and all matches together the text.
	most := uint64(len(text))*uint64(1+strings.Count(template, "$")) + n*uint64(len(template))
	c.spend(most / 4)
	c.borrow(2 * most)
	return c.giveText(p.ReplaceAllString(text, template))
}

func (c *call) replaceByFunction(p pattern, text string, with rt.Value) error {
	w := writer{call: c}
	end := 0
	for _, at := range c.places(p, text) {
		w.put(text[end:at[0]])
		end = at[1]
		v, err := rt.Call1(c.t, with, c.captures(text, at)...)
		if err != nil {
			return err
		}
		switch {
		case !rt.Truth(v):
			w.put(text[at[0]:at[1]])
		case v.Type() == rt.StringType, v.Type() == rt.IntType, v.Type() == rt.FloatType:
			s, _ := v.ToString()
			w.put(s)
		default:
			return c.fail("the function gave a %s; a replacement is text", v.CustomTypeName())
		}
	}
	w.put(text[end:])
	return w.giveWritten(nil)
}

func (c *call) split(p pattern, text string) error {
	n, err := c.maybeInteger(2, -1)
	if err != nil {
		return err
	}
	if n == 0 || n < -1 {
		return c.wrong(2, "at least 1 expected, got %d", n)
	}
	c.borrow(64 * (1 + c.pace(p, text)))
	pieces := p.Split(text, int(min(n, 1<<30)))
	out := make([]any, len(pieces))
	for i, s := range pieces {
		out[i] = rt.StringValue(s)
	}
	return c.giveData(out)
}
