// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/arnodel/golua/lib/stringlib/pattern"
	rt "github.com/arnodel/golua/runtime"
)

// gsub is string.gsub. golua's ignores the anchor after the first match, returns the text
// unchanged where only its end is left, and counts empty matches that it does not replace.
func gsub(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	s, err := textArg(c, 0)
	if err != nil {
		return nil, err
	}
	source, err := textArg(c, 1)
	if err != nil {
		return nil, err
	}
	with, err := replacement(t, c)
	if err != nil {
		return nil, err
	}
	most := int64(len(s)) + 1
	if !arg(c, 3).IsNil() {
		n, err := c.IntArg(3)
		if err != nil {
			return nil, err
		}
		most = min(most, n)
	}
	t.RequireCPU(uint64(len(s)+len(source)) / 16)
	p, err := pattern.New(source)
	if err != nil {
		return nil, err
	}
	out, n, err := substitute(t, s, p, strings.HasPrefix(source, "^"), most, with)
	if err != nil {
		return nil, err
	}
	return c.PushingNext(t.Runtime, rt.StringValue(out), rt.IntValue(n)), nil
}

// substitute replaces at most so many matches, or one at the start if the pattern is
// anchored. An empty match right after another match does not count.
func substitute(t *rt.Thread, s string, p *pattern.Pattern, anchored bool, most int64,
	with func(whole string, captures []rt.Value) (string, error)) (string, int64, error) {
	search := p.Match
	if anchored {
		search, most = p.MatchFromStart, min(most, 1)
	}
	var b pieces
	var n int64
	at, copied, last := 0, 0, -1
	for n < most && at <= len(s) {
		t.RequireCPU(1)
		found, used := search(s, at, t.UnusedCPU())
		t.RequireCPU(used)
		if len(found) == 0 {
			break
		}
		start, end := found[0].Start(), found[0].End()
		if end == last {
			at++
			continue
		}
		text, err := with(s[start:end], captured(t, s, found))
		if err != nil {
			return "", 0, err
		}
		t.RequireBytes(start - copied + len(text))
		b.add(s[copied:start])
		b.add(text)
		at, copied, last = end, end, end
		n++
	}
	t.RequireBytes(len(s) - copied)
	b.add(s[copied:])
	return b.String(), n, nil
}

// pieces joins texts. A [strings.Builder] that grows leaves its old arrays, together larger than the
// text, to the collector, which may not keep up.
type pieces struct {
	done []string
	last strings.Builder
}

func (p *pieces) add(text string) {
	const size = 64 << 10
	if p.last.Len()+len(text) > size {
		p.done = append(p.done, p.last.String())
		p.last.Reset()
	}
	if len(text) > size {
		p.done = append(p.done, text)
		return
	}
	p.last.WriteString(text)
}

func (p *pieces) String() string {
	if len(p.done) == 0 {
		return p.last.String()
	}
	return strings.Join(append(p.done, p.last.String()), "")
}

// captured returns the captures of a match, the whole match if it has none.
func captured(t *rt.Thread, s string, found []pattern.Capture) []rt.Value {
	if len(found) > 1 {
		found = found[1:]
	}
	values := make([]rt.Value, len(found))
	for i, f := range found {
		if f.IsEmpty() { // () is a place
			values[i] = rt.IntValue(int64(f.Start()) + 1)
			continue
		}
		t.RequireBytes(f.End() - f.Start())
		values[i] = rt.StringValue(s[f.Start():f.End()])
	}
	return values
}

// replacement returns gsub's third argument as a function of the match: a string in which %1
// is a capture, a table with the replacements, or a function. The last two keep the match
// where they give nil or false.
func replacement(t *rt.Thread, c *rt.GoCont) (func(string, []rt.Value) (string, error), error) {
	with := arg(c, 2)
	var ask func([]rt.Value) (rt.Value, error)
	if text, ok := with.ToString(); ok {
		return func(whole string, captures []rt.Value) (string, error) {
			return fill(t, text, whole, captures)
		}, nil
	} else if with.Type() == rt.TableType {
		ask = func(captures []rt.Value) (rt.Value, error) { return rt.Index(t, with, captures[0]) }
	} else if _, ok := with.TryCallable(); ok {
		ask = func(captures []rt.Value) (rt.Value, error) { return rt.Call1(t, with, captures...) }
	} else {
		return nil, fmt.Errorf("bad argument #3 to 'gsub' (string, table or function expected, got %s)",
			with.CustomTypeName())
	}
	return func(whole string, captures []rt.Value) (string, error) {
		v, err := ask(captures)
		if err != nil {
			return "", err
		}
		if !rt.Truth(v) {
			return whole, nil
		}
		text, ok := v.ToString()
		if !ok {
			return "", fmt.Errorf("invalid replacement value (a %s)", v.CustomTypeName())
		}
		return text, nil
	}, nil
}

// fill returns a replacement with its captures.
func fill(t *rt.Thread, text, whole string, captures []rt.Value) (string, error) {
	t.RequireCPU(uint64(len(text)))
	if !strings.Contains(text, "%") {
		return text, nil
	}
	var b pieces
	put := func(s string) {
		t.RequireBytes(len(s))
		b.add(s)
	}
	for {
		before, after, found := strings.Cut(text, "%")
		put(before)
		if !found {
			return b.String(), nil
		}
		switch {
		case after == "" || after[0] != '%' && (after[0] < '0' || after[0] > '9'):
			return "", errors.New("invalid use of '%' in replacement string")
		case after[0] == '%':
			put("%")
		case after[0] == '0':
			put(whole)
		default:
			n, _ := strconv.Atoi(after[:1])
			if n > len(captures) {
				return "", fmt.Errorf("invalid capture index %%%d in replacement string", n)
			}
			s, _ := captures[n-1].ToString()
			put(s)
		}
		text = after[1:]
	}
}
