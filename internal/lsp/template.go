// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"slices"
	"strings"
)

// tokenKind is a kind of word in an action of a template.
type tokenKind int

const (
	tokenChain  tokenKind = iota // .Values.a, $.Values.a, $x.a, "." and "$"
	tokenWord                    // a function or a keyword
	tokenString                  // a string, with its quotes
	tokenOther
)

// token is a word in an action.
type token struct {
	kind       tokenKind
	start, end int // offsets in the file
	text       string
}

// templateAction is what is between {{ and }}.
type templateAction struct {
	start, end int // offsets of what is between the braces
	closed     bool
	tokens     []token
}

// A use is a chain of fields in a template that leads to a value of the context.
type use struct {
	start, end int
	path       []string // "Values", "image", "tag"
	at         []int    // the offset at which each name of path that is in the text begins; -1 for others
}

// scan is what is known about the text of a template, which may be incomplete: it is being
// written.
type scan struct {
	actions []templateAction
	uses    []use
	defines []define
	calls   []call
}

// define is a named template.
type define struct {
	name       string
	start, end int // of its name, without quotes
	comment    string
}

// call is a name in include, template or block.
type call struct {
	name       string
	start, end int // of the name, without quotes
}

// each is the name in a path for the items of a list or the values of a map.
const each = "*"

// block is a block whose end has not come yet.
type block struct {
	dot   []string // nil if unknown
	outer []string // the dot of its else
	vars  int
}

// scanner follows the context through a template.
type scanner struct {
	scan
	dot    []string // path of the dot; nil if unknown
	blocks []block
	vars   []variable
	last   string // the comment before this action
}

type variable struct {
	name string
	path []string // nil if unknown
}

// root is the path of the dot of a template.
var root = []string{}

// maxUses limits what is remembered of one file.
const maxUses = 20_000

// scanTemplate returns what is known about a template.
func scanTemplate(text string) *scan {
	s := &scanner{dot: root}
	for _, a := range actionsOf(text) {
		s.actions = append(s.actions, a)
		s.follow(a)
	}
	return &s.scan
}

// actionsOf returns the actions of a template. One that is not closed ends at the end of its line.
func actionsOf(text string) []templateAction {
	var out []templateAction
	for at := 0; ; {
		i := strings.Index(text[at:], "{{")
		if i < 0 {
			return out
		}
		a := templateAction{start: at + i + 2}
		a.end, a.closed = endOf(text, a.start)
		a.tokens = tokensOf(text, a.start, a.end)
		out = append(out, a)
		at = a.end
	}
}

// endOf returns the end of the action that begins at start.
func endOf(text string, start int) (end int, closed bool) {
	rest := strings.TrimLeft(strings.TrimPrefix(text[start:], "-"), " \t")
	if strings.HasPrefix(rest, "/*") {
		if i := strings.Index(text[start:], "*/"); i >= 0 {
			if j := strings.Index(text[start+i:], "}}"); j >= 0 {
				return start + i + j, true
			}
		}
		return len(text), false
	}
	for i := start; i < len(text); i++ {
		switch text[i] {
		case '"', '`', '\'':
			i = stringEnd(text, i, len(text)) - 1
		case '}':
			if strings.HasPrefix(text[i:], "}}") {
				return i, true
			}
		case '{':
			if strings.HasPrefix(text[i:], "{{") {
				return i, false
			}
		}
	}
	if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
		return start + i, false
	}
	return len(text), false
}

// stringEnd returns the end of the string that begins at i. A string in double quotes ends with its
// line.
func stringEnd(text string, i, end int) int {
	quote := text[i]
	for i++; i < end; i++ {
		switch {
		case text[i] == quote:
			return i + 1
		case text[i] == '\\' && quote != '`':
			i++
		case text[i] == '\n' && quote != '`':
			return i
		}
	}
	return end
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func tokensOf(text string, at, end int) []token {
	var out []token
	add := func(kind tokenKind, to int) {
		out = append(out, token{kind, at, to, text[at:to]})
		at = to
	}
	if rest := strings.TrimLeft(strings.TrimPrefix(text[at:end], "-"), " \t"); strings.HasPrefix(rest, "/*") {
		add(tokenOther, end)
		return out
	}
	for at < end {
		switch c := text[at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			at++
		case c == '"' || c == '`' || c == '\'':
			add(tokenString, max(at+1, stringEnd(text, at, end)))
		case c == '.' || c == '$':
			to := at + 1
			for to < end && (isNameByte(text[to]) || text[to] == '.') {
				to++
			}
			kind := tokenChain
			if at > 0 && text[at-1] == ')' { // a field of what is in parentheses
				kind = tokenOther
			}
			add(kind, to)
		case isNameByte(c):
			to := at + 1
			for to < end && isNameByte(text[to]) {
				to++
			}
			add(tokenWord, to)
		default:
			add(tokenOther, at+1)
		}
	}
	return out
}

// follow updates the scanner with one action.
func (s *scanner) follow(a templateAction) {
	tokens := slices.DeleteFunc(slices.Clone(a.tokens), func(t token) bool { return t.text == "-" })
	comment := s.last
	s.last = ""
	if len(tokens) == 0 {
		return
	}
	if first := tokens[0]; first.kind == tokenOther && strings.Contains(first.text, "/*") {
		s.last = commentText(first.text)
		return
	}
	s.names(tokens)
	first := tokens[0]
	if first.kind != tokenWord {
		s.statement(tokens)
		return
	}
	switch first.text {
	case "define":
		s.define(tokens, comment)
		s.push(root, s.dot)
	case "block":
		s.define(tokens, comment)
		s.push(s.pathOfLast(tokens[1:]), s.dot)
	case "if":
		s.statement(tokens[1:])
		s.push(s.dot, s.dot)
	case "with":
		s.enterWith(tokens[1:])
	case "range":
		s.enterRange(tokens[1:])
	case "else":
		s.orElse(tokens[1:])
	case "end":
		s.pop()
	default:
		s.statement(tokens)
	}
}

func commentText(text string) string {
	text = strings.Trim(text, "- \t\n")
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/"))
}

func (s *scanner) push(dot, outer []string) {
	s.blocks = append(s.blocks, block{dot: s.dot, outer: outer, vars: len(s.vars)})
	s.dot = dot
}

func (s *scanner) pop() {
	if len(s.blocks) == 0 {
		return
	}
	last := s.blocks[len(s.blocks)-1]
	s.blocks = s.blocks[:len(s.blocks)-1]
	s.dot, s.vars = last.dot, s.vars[:last.vars]
}

// orElse enters the other branch of a block.
func (s *scanner) orElse(rest []token) {
	if len(s.blocks) == 0 {
		return
	}
	s.dot = s.blocks[len(s.blocks)-1].outer
	if len(rest) == 0 || rest[0].kind != tokenWord {
		return
	}
	s.statement(rest[1:])
	if rest[0].text == "with" {
		s.dot = s.valueOf(rest[1:])
	}
}

func (s *scanner) enterWith(rest []token) {
	outer := s.dot
	path := s.valueOf(rest)
	s.push(path, outer)
	s.statement(rest)
}

func (s *scanner) enterRange(rest []token) {
	outer := s.dot
	path := s.valueOf(rest)
	if path != nil {
		path = append(slices.Clip(path), each)
	}
	s.push(path, outer)
	vars := assigned(rest)
	for i, name := range vars {
		v := variable{name: name}
		if i == len(vars)-1 {
			v.path = path
		}
		s.vars = append(s.vars, v)
	}
}

// assigned returns the variables before := in an action.
func assigned(tokens []token) []string {
	i := slices.IndexFunc(tokens, func(t token) bool { return t.text == ":" || t.text == "=" })
	if i < 0 {
		return nil
	}
	var out []string
	for _, t := range tokens[:i] {
		if t.kind == tokenChain && strings.HasPrefix(t.text, "$") {
			out = append(out, t.text)
		}
	}
	return out
}

// statement remembers the variable that an action sets.
func (s *scanner) statement(tokens []token) {
	if vars := assigned(tokens); len(vars) == 1 {
		s.vars = append(s.vars, variable{vars[0], s.valueOf(tokens)})
	}
}

// valueOf returns the path of what an action gives, or nil if it is more than a chain.
func (s *scanner) valueOf(tokens []token) []string {
	if i := slices.IndexFunc(tokens, func(t token) bool { return t.text == "=" }); i >= 0 {
		tokens = tokens[i+1:]
	}
	if len(tokens) != 1 || tokens[0].kind != tokenChain {
		return nil
	}
	return s.path(tokens[0].text)
}

func (s *scanner) pathOfLast(tokens []token) []string {
	if len(tokens) == 0 {
		return nil
	}
	return s.valueOf(tokens[len(tokens)-1:])
}

// path returns the path of a chain.
func (s *scanner) path(chain string) []string {
	head, rest, _ := strings.Cut(chain, ".")
	var from []string
	switch {
	case head == "":
		from = s.dot
	case head == "$":
		from = root
	default:
		from = s.variable(head)
	}
	if from == nil {
		return nil
	}
	out := slices.Clone(from)
	if rest == "" {
		return out
	}
	return append(out, strings.Split(rest, ".")...)
}

func (s *scanner) variable(name string) []string {
	for _, v := range slices.Backward(s.vars) {
		if v.name == name {
			return v.path
		}
	}
	return nil
}

// names remembers the chains of an action, and the templates that it calls.
func (s *scanner) names(tokens []token) {
	for i, t := range tokens {
		switch {
		case t.kind == tokenChain && len(s.uses) < maxUses:
			if path := s.path(t.text); len(path) > 0 {
				s.uses = append(s.uses, useOf(t, path))
			}
		case t.kind == tokenString && i > 0 && len(t.text) > 1 &&
			slices.Contains([]string{"include", "template", "block"}, tokens[i-1].text):
			s.calls = append(s.calls, call{unquoted(t.text), t.start + 1, t.start + 1 + len(unquoted(t.text))})
		}
	}
}

func unquoted(s string) string {
	quote := s[:1]
	return strings.TrimSuffix(s[1:], quote)
}

// useOf returns the use of a chain, with the places of its names.
func useOf(t token, path []string) use {
	u := use{start: t.start, end: t.end, path: path, at: make([]int, len(path))}
	for i := range u.at {
		u.at[i] = -1
	}
	_, rest, ok := strings.Cut(t.text, ".")
	if !ok || rest == "" {
		return u
	}
	names := strings.Split(rest, ".")
	at := t.end
	for i := range names {
		name := names[len(names)-1-i]
		at -= len(name)
		if n := len(path) - 1 - i; n >= 0 {
			u.at[n] = at
		}
		at--
	}
	return u
}

func (s *scanner) define(tokens []token, comment string) {
	if len(tokens) < 2 || tokens[1].kind != tokenString || len(tokens[1].text) < 2 {
		return
	}
	name := unquoted(tokens[1].text)
	s.defines = append(s.defines, define{name, tokens[1].start + 1, tokens[1].start + 1 + len(name), comment})
}

// cursor is what is at a place in a template.
type cursor struct {
	word  token    // the token that ends at or contains the place
	path  []string // of a chain, up to the place
	whole []string // of a chain, up to the end of the name at the place
	start int      // the offset of the name at the place
	end   int
	name  bool // the place is in the name of a template in include
	known bool // the path is known
}

// before returns what is at an offset of a template; ok is false outside of actions.
func before(text string, offset int) (c cursor, ok bool) {
	s := &scanner{dot: root}
	for _, a := range actionsOf(text) {
		if offset < a.start {
			return c, false
		}
		if offset > a.end {
			s.follow(a)
			continue
		}
		return s.cursor(a, offset), true
	}
	return c, false
}

func (s *scanner) cursor(a templateAction, offset int) cursor {
	for i, t := range a.tokens {
		if offset < t.start || offset > t.end || offset == t.end && i+1 < len(a.tokens) && a.tokens[i+1].start == offset &&
			a.tokens[i+1].kind == tokenChain {
			continue
		}
		c := cursor{word: t, start: t.start, end: t.end}
		switch t.kind {
		case tokenChain:
			s.inChain(&c, offset)
		case tokenString:
			c.name = i > 0 && slices.Contains([]string{"include", "template", "block", "define"}, a.tokens[i-1].text)
			c.start, c.end = t.start+1, t.end
			if len(t.text) > 1 && t.text[len(t.text)-1] == t.text[0] {
				c.end--
			}
		case tokenWord, tokenOther:
		}
		return c
	}
	return cursor{word: token{kind: tokenOther, start: offset, end: offset}, start: offset, end: offset}
}

// inChain sets the paths of a cursor in a chain.
func (s *scanner) inChain(c *cursor, offset int) {
	t := c.word
	c.start = t.start + strings.LastIndexByte(t.text[:offset-t.start], '.') + 1
	if c.start == t.start { // in a variable
		c.path = s.path(t.text[:offset-t.start])
		return
	}
	c.end = t.end
	if i := strings.IndexByte(t.text[c.start-t.start:], '.'); i >= 0 {
		c.end = c.start + i
	}
	c.path = s.path(t.text[:c.start-t.start-1])
	c.known = c.path != nil
	if c.known && c.end > c.start {
		c.whole = append(slices.Clone(c.path), t.text[c.start-t.start:c.end-t.start])
	}
}
