// SPDX-License-Identifier: Apache-2.0

package yaml

import "strings"

// RootLines is [Root] with only what it takes to find the lines of keys and items: Kind, Value, Line and
// Content, of scalars that are not keys without Value. A key in quotes has DoubleQuotedStyle. RootLines takes
// a fraction of the time of Root for the usual subset of YAML.
func RootLines(text []byte) *Node {
	s := &lineSink{line: 1}
	w := walker{lineReader: lineReader{Text: string(text)}, sink: s, item: s.item}
	s.walker = &w
	if !Simple(w.Text) {
		return Root(text)
	}
	if w.Next(); !w.End {
		w.block(w.Indent, true)
	}
	if !w.End || w.Bad || s.odd || s.root == nil {
		return Root(text)
	}
	return s.root
}

// lineSink makes nodes of what a walker scans.
type lineSink struct {
	*walker
	root *Node
	open []*Node
	// at is an offset up to which lines are counted, and line the line that it is in.
	at, line int
	// start is the line of the item that is being scanned. odd is set for an item that begins below
	// its dash.
	start int
	odd   bool
}

// here returns the line that the walker is in.
func (s *lineSink) here() int {
	s.line += strings.Count(s.Text[s.at:s.At], "\n")
	s.at = s.At
	return s.line
}

func (s *lineSink) item() {
	s.start = s.here()
	s.odd = s.odd || !s.AtValue()
}

// add adds a value to the map or list that is open.
func (s *lineSink) add(n *Node) {
	if len(s.open) == 0 {
		s.root = n
		return
	}
	in := s.open[len(s.open)-1]
	if in.Kind == MappingNode {
		n.Line = in.Content[len(in.Content)-1].Line
	} else if n.Line = s.start; s.start == 0 {
		n.Line = s.here() // of a list in one line
	}
	in.Content = append(in.Content, n)
	s.start = 0
}

func (s *lineSink) Open(isMap bool) (id int) {
	n := &Node{Kind: SequenceNode}
	if isMap {
		n.Kind = MappingNode
	}
	s.add(n)
	s.open = append(s.open, n)
	return 0
}

func (s *lineSink) Key(key string, plain, build bool) (keep, ok bool) {
	if !build || len(s.open) == 0 {
		return false, true
	}
	in := s.open[len(s.open)-1]
	n := &Node{Kind: ScalarNode, Value: key, Line: s.here()}
	if !plain {
		n.Style = DoubleQuotedStyle
	}
	in.Content = append(in.Content, n)
	return true, true
}

func (s *lineSink) Scalar(_ string, _, build bool) (ok bool) {
	if build {
		s.add(&Node{Kind: ScalarNode})
	}
	return true
}

func (s *lineSink) Close(int) (ok bool) {
	s.open = s.open[:len(s.open)-1]
	return true
}
