// SPDX-License-Identifier: Apache-2.0

package yaml

import "strings"

// quickOutline is [outline] for the subset of YAML that nearly all charts use (see [Quick]). It takes a
// fraction of the time and memory of the complete parser. ok is false for any other text.
func quickOutline(text string) (top *part, step, dashes int, ok bool) {
	if !Simple(text) {
		return nil, 0, 0, false
	}
	s := &outlineSink{outliner: outliner{text: text}}
	w := walker{lineReader: lineReader{Text: text}, sink: s, item: s.item}
	s.walker = &w
	defer s.ifLost(func() { ok = false })
	if w.Next(); !w.End {
		w.block(w.Indent, true)
	}
	step = 2
	if s.step > 0 {
		step = s.step
	}
	return s.top, step, s.dashes, w.End && !w.Bad
}

// outlineSink makes parts of what a walker scans.
type outlineSink struct {
	outliner
	*walker
	top  *part
	open []*part
}

// Open begins a map or a list, at whose first key, first dash or bracket the walker is.
func (s *outlineSink) Open(isMap bool) (id int) {
	p := &part{start: s.At}
	switch c := s.Text[s.At]; {
	case c == '{':
		p.shape = flowMap
	case c == '[':
		p.shape = flowList
	case isMap:
		p.shape, p.column = blockMap, s.column(s.At)
	default:
		p.shape, p.column = blockList, s.column(s.At)
	}
	s.add(p)
	s.open = append(s.open, p)
	return 0
}

// in returns the map or list that was opened last.
func (s *outlineSink) in() *part { return s.open[len(s.open)-1] }

func (s *outlineSink) Key(key string, plain, _ bool) (keep, ok bool) {
	e := entry{key: key, start: s.token, after: s.At}
	if plain {
		if e.key, _, ok = PlainKey(key); !ok {
			return false, false
		}
	} else {
		e.quote = s.Text[s.token]
	}
	s.in().entries = append(s.in().entries, e)
	return true, true
}

// item is called after each dash of a block list.
func (s *outlineSink) item() {
	s.in().entries = append(s.in().entries, entry{start: s.token, after: s.token + 1})
}

// add makes p the value of the last key or dash.
func (s *outlineSink) add(p *part) {
	if len(s.open) == 0 {
		s.top = p
		return
	}
	in := s.in()
	if in.shape == flowList {
		in.entries = append(in.entries, entry{start: p.start, after: p.start})
	}
	in.entries[len(in.entries)-1].value = p
}

func (s *outlineSink) Scalar(text string, plain, _ bool) (ok bool) {
	p, around := &part{start: s.token}, -1
	if len(s.open) > 0 {
		in := s.in()
		around = in.column
		if plain && text == "" { // there is none
			p.start = in.entries[len(in.entries)-1].after
		}
	}
	switch c := s.Text[s.token]; {
	case plain && strings.HasPrefix(s.Text[p.start:], text):
		p.end = p.start + len(text)
	case plain:
		s.plain(p, p.start, text)
	case c == '|' || c == '>':
		p.quote = c
		s.blockScalar(p, p.start, around)
	default:
		p.quote, p.end = c, s.At
	}
	s.add(p)
	return true
}

func (s *outlineSink) Close(int) (ok bool) {
	p := s.in()
	s.open = s.open[:len(s.open)-1]
	switch {
	case p.shape == flowMap || p.shape == flowList:
		p.end = s.At
	case len(p.entries) == 0:
		return false
	default:
		p.end = p.entries[len(p.entries)-1].value.end
	}
	if len(s.open) > 0 && s.in().shape == blockMap {
		s.learn(s.in().column, entry{value: p})
	}
	return true
}
