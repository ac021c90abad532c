// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"text/template/parse"
)

// Coverage records which statements of templates run, and which way their conditions take. The zero
// value is empty. It is safe for concurrent use: several renderings may add to it.
type Coverage struct {
	mu    sync.Mutex
	files map[string]counts
	known map[string]any // the names of functions
}

// counts has how often the statements of a file have run, by their keys.
type counts map[key64]int64

// key64 identifies a statement, or a way that it takes, in the text of a file: its offset and a kind.
type key64 uint64

const (
	ranStatement key64 = iota
	ranText
	tookBranch
	leftBranch
	kinds
)

func keyOf(pos parse.Pos, kind key64) key64 { return key64(pos)*kinds + kind }

// CoveredBranch is one of the two ways that an if, with or range can take.
type CoveredBranch struct {
	// Line and Column are the 1-based place of the statement.
	Line, Column int
	// Name is the way: "if", "with" and "range" for the body, and "else" otherwise.
	Name string
	Hits int64
}

// CoveredFile says how often the lines and branches of a template were run. Lines that are not in
// Lines cannot be run: comments, definitions, and those of only else, end and white space.
type CoveredFile struct {
	Lines    map[int]int64
	Branches []CoveredBranch
}

// File returns the coverage of a template. name is its path from the root chart and text its
// content. ok is false if the text is not a valid template.
func (c *Coverage) File(name, text string) (f CoveredFile, ok bool) {
	c.mu.Lock()
	if c.known == nil {
		c.known = knownNames(functions(&Input{}))
	}
	known := c.known
	hits := maps.Clone(c.files[name])
	c.mu.Unlock()
	trees, ok := anyTrees(text, known)
	if !ok {
		return f, false
	}
	r := &coverReader{hits: hits, src: &source{text: text}, file: CoveredFile{Lines: map[int]int64{}}}
	for _, tree := range slices.Sorted(maps.Keys(trees)) {
		r.list(trees[tree])
	}
	slices.SortStableFunc(r.file.Branches, func(a, b CoveredBranch) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return r.file, true
}

// anyTrees parses a text that may call unknown functions, such as those that scripts offer.
func anyTrees(text string, known map[string]any) (map[string]*parse.ListNode, bool) {
	if trees, ok := quickParse(text, known, &arena{}); ok {
		return trees, true
	}
	t := parse.New(mainName)
	t.Mode = parse.SkipFuncCheck
	set := map[string]*parse.Tree{}
	if _, err := t.Parse(text, "", "", set); err != nil {
		return nil, false
	}
	trees := make(map[string]*parse.ListNode, len(set))
	for name, tree := range set {
		trees[name] = tree.Root
	}
	return trees, true
}

// coverReader collects the lines and branches of trees.
type coverReader struct {
	hits counts
	src  *source
	file CoveredFile
}

func (r *coverReader) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		r.node(n)
	}
}

func (r *coverReader) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.TextNode:
		r.text(n)
	case *parse.IfNode:
		r.branch(n, &n.BranchNode, "if")
	case *parse.WithNode:
		r.branch(n, &n.BranchNode, "with")
	case *parse.RangeNode:
		r.branch(n, &n.BranchNode, "range")
	case *parse.ListNode:
		r.list(n)
	case *parse.CommentNode:
	default:
		r.line(r.src.place(r.src.start(n)).line, r.hits[keyOf(n.Position(), ranStatement)])
	}
}

// line adds a statement of a line, which has run if one of its statements has.
func (r *coverReader) line(line int, hits int64) {
	r.file.Lines[line] = max(r.file.Lines[line], hits)
}

// text adds all lines of a text that have more than white space.
func (r *coverReader) text(n *parse.TextNode) {
	hits := r.hits[keyOf(n.Pos, ranText)]
	line := r.src.place(int(n.Pos)).line
	for text := range strings.SplitSeq(string(n.Text), "\n") {
		if strings.TrimSpace(text) != "" {
			r.line(line, hits)
		}
		line++
	}
}

func (r *coverReader) branch(n parse.Node, b *parse.BranchNode, name string) {
	at := r.src.place(int(b.Pipe.Pos))
	r.line(at.line, r.hits[keyOf(n.Position(), ranStatement)])
	for _, way := range []struct {
		name string
		kind key64
	}{{name, tookBranch}, {"else", leftBranch}} {
		r.file.Branches = append(r.file.Branches, CoveredBranch{Line: at.line, Column: at.column, Name: way.name,
			Hits: r.hits[keyOf(b.Pipe.Pos, way.kind)]})
	}
	r.list(b.List)
	r.list(b.ElseList)
}

// coverRun records the statements that an executor runs.
type coverRun struct{ files map[*source]counts }

func newCoverRun(c *Coverage) *coverRun {
	if c == nil {
		return nil
	}
	return &coverRun{files: map[*source]counts{}}
}

// ran records that a node of a template runs.
func (r *coverRun) ran(src *source, n parse.Node) {
	kind := ranStatement
	if n.Type() == parse.NodeText {
		kind = ranText
	}
	r.count(src, keyOf(n.Position(), kind))
}

// took records whether a condition was true.
func (r *coverRun) took(src *source, p *parse.PipeNode, is bool) {
	kind := leftBranch
	if is {
		kind = tookBranch
	}
	r.count(src, keyOf(p.Pos, kind))
}

func (r *coverRun) count(src *source, key key64) {
	m := r.files[src]
	if m == nil {
		m = counts{}
		r.files[src] = m
	}
	m[key]++
}

// add adds what r has recorded. Texts passed to tpl have no file.
func (c *Coverage) add(r *coverRun) {
	if c == nil || r == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]counts{}
	}
	for src, m := range r.files {
		if src.file == "" {
			continue
		}
		sum := c.files[src.file]
		if sum == nil {
			sum = make(counts, len(m))
			c.files[src.file] = sum
		}
		for key, n := range m {
			sum[key] += n
		}
	}
	clear(r.files)
}
