// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseInlines makes the text of n its children.
func parseInlines(n *node, references map[string]string) {
	p := &inlineParser{node: n, src: n.text, references: references}
	for p.pos < len(p.src) {
		p.next()
	}
	p.flush(len(p.src))
	p.emphasize(nil)
}

// inlineParser reads the text of a block. The time is linear in its size: whatever is searched for up to the
// end of the text and not found is not searched for again.
type inlineParser struct {
	*node
	src        string
	pos        int
	from       int // start of the text that is not in a node yet
	references map[string]string
	last       *delimiter // the last one on the stack
	brackets   []bracket
	noLinks    int             // brackets before this one do not start links
	runs       map[int]int     // last start of a run of backticks by its length, nil if not known
	missing    map[string]bool // ends of HTML that do not follow
}

// bracket is an opening bracket of a link or an image.
type bracket struct {
	node  *node
	after int // position after it
	image bool
	last  *delimiter // the last one before it
}

// flush adds the text up to end.
func (p *inlineParser) flush(end int) {
	if p.from < end {
		p.add(&node{kind: plainText, text: unescape(p.src[p.from:end])})
	}
}

// put adds c, which is the next n bytes.
func (p *inlineParser) put(c *node, n int) {
	p.flush(p.pos)
	p.add(c)
	p.pos += n
	p.from = p.pos
}

// special are the characters that are not just text.
const special = "\\`*_[]!<\n"

// next reads up to the next special character, and what starts there.
func (p *inlineParser) next() {
	i := strings.IndexAny(p.src[p.pos:], special)
	if i < 0 {
		p.pos = len(p.src)
		return
	}
	p.pos += i
	switch c := p.src[p.pos]; c {
	case '\\':
		p.backslash()
	case '\n':
		p.lineBreak()
	case '`':
		p.code()
	case '*', '_':
		p.delimiters(c)
	case '[':
		p.bracket("[")
	case '!':
		if strings.HasPrefix(p.src[p.pos:], "![") {
			p.bracket("![")
			return
		}
		p.pos++
	case ']':
		p.closeBracket()
	case '<':
		p.angle()
	}
}

func (p *inlineParser) backslash() {
	switch rest := p.src[p.pos+1:]; {
	case rest == "":
		p.pos++
	case rest[0] == '\n':
		p.put(&node{kind: hardBreak}, 2)
	default:
		p.pos += 2 // unescape resolves it
		if rest[0] >= utf8.RuneSelf {
			p.pos--
		}
	}
}

func (p *inlineParser) lineBreak() {
	text := p.src[p.from:p.pos]
	bare := strings.TrimRight(text, whitespace)
	p.flush(p.from + len(bare))
	p.from = p.pos
	kind := softBreak
	if strings.HasSuffix(text, "  ") {
		kind = hardBreak
	}
	p.put(&node{kind: kind}, 1)
}

// run returns the length of the run of the character at the start of s.
func run(s string) int { return len(s) - len(strings.TrimLeft(s, s[:1])) }

func (p *inlineParser) code() {
	n := run(p.src[p.pos:])
	end := p.closingTicks(p.pos+n, n)
	if end < 0 {
		p.pos += n
		return
	}
	text := strings.ReplaceAll(p.src[p.pos+n:end], "\n", " ")
	if len(text) > 2 && text[0] == ' ' && text[len(text)-1] == ' ' && strings.Trim(text, " ") != "" {
		text = text[1 : len(text)-1]
	}
	p.put(&node{kind: codeSpan, text: text}, end+n-p.pos)
}

// closingTicks returns the start of the first run of n backticks from a position, or -1.
func (p *inlineParser) closingTicks(from, n int) int {
	if p.runs == nil {
		p.runs = map[int]int{}
		for i := from; i < len(p.src); {
			if p.src[i] != '`' {
				i++
				continue
			}
			length := run(p.src[i:])
			p.runs[length] = i
			i += length
		}
	}
	if last, ok := p.runs[n]; !ok || last < from {
		return -1
	}
	for i := from; i < len(p.src); {
		tick := strings.IndexByte(p.src[i:], '`')
		if tick < 0 {
			break
		}
		i += tick
		length := run(p.src[i:])
		if length == n {
			return i
		}
		i += length
	}
	return -1
}

func (p *inlineParser) bracket(mark string) {
	p.put(&node{kind: plainText, text: mark}, len(mark))
	p.brackets = append(p.brackets, bracket{node: p.node.last, after: p.pos, image: mark == "![", last: p.last})
}

// closeBracket makes a link or an image of what is between the last bracket and this one.
func (p *inlineParser) closeBracket() {
	last := len(p.brackets) - 1
	if last < 0 {
		p.pos++
		return
	}
	b := p.brackets[last]
	p.brackets = p.brackets[:last]
	if !b.image && last < p.noLinks {
		p.noLinks = min(p.noLinks, last)
		p.pos++
		return
	}
	address, n := p.target(b)
	if n == 0 {
		p.noLinks = min(p.noLinks, last)
		p.pos++
		return
	}
	p.flush(p.pos)
	p.pos += n
	p.from = p.pos
	p.emphasize(b.last)
	l := &node{kind: image, text: address}
	if p.noLinks = min(p.noLinks, last); !b.image {
		l.kind, p.noLinks = link, last
	}
	if b.node.next == nil {
		p.add(l)
	} else {
		p.wrap(l, b.node.next, p.node.last)
	}
	p.remove(b.node)
}

// target returns the address for the link whose text ends at the position, and the length of what
// follows its text, or 0.
func (p *inlineParser) target(b bracket) (address string, n int) {
	after := p.src[p.pos+1:]
	if strings.HasPrefix(after, "(") {
		if address, n := inlineTarget(after); n > 0 {
			return address, 1 + n
		}
	}
	label := p.src[b.after:p.pos]
	n = 1
	if explicit, length := linkLabel(after); length > 0 {
		n += length
		if length > len("[]") {
			label = explicit
		}
	}
	if len(label) > maxLabel || !validLabel(label) {
		return "", 0
	}
	address, ok := p.references[normalLabel(label)]
	if !ok {
		return "", 0
	}
	return address, n
}

// angle reads an autolink or HTML.
func (p *inlineParser) angle() {
	rest := p.src[p.pos:]
	if n := autolinkLength(rest); n > 0 {
		p.put(&node{kind: autolink, text: rest[1 : n-1]}, n)
		return
	}
	if n := p.htmlLength(rest); n > 0 {
		p.put(&node{kind: rawHTML, text: rest[:n]}, n)
		return
	}
	p.pos++
}

// htmlLength returns the length of the HTML at the start of s, or 0.
func (p *inlineParser) htmlLength(s string) int {
	switch {
	case strings.HasPrefix(s, "<!-->"):
		return len("<!-->")
	case strings.HasPrefix(s, "<!--->"):
		return len("<!--->")
	case strings.HasPrefix(s, "<!--"):
		return p.upTo(s, len("<!--"), "-->")
	case strings.HasPrefix(s, "<?"):
		return p.upTo(s, len("<?"), "?>")
	case strings.HasPrefix(s, "<![CDATA["):
		return p.upTo(s, len("<![CDATA["), "]]>")
	case len(s) > 2 && s[1] == '!' && isLetter(s[2]):
		return p.upTo(s, len("<!"), ">")
	}
	return tagLength(s)
}

// upTo returns the length of s up to the end of the first end after from, or 0.
func (p *inlineParser) upTo(s string, from int, end string) int {
	if p.missing[end] {
		return 0
	}
	i := strings.Index(s[from:], end)
	if i < 0 {
		if p.missing == nil {
			p.missing = map[string]bool{}
		}
		p.missing[end] = true
		return 0
	}
	return from + i + len(end)
}

// delimiters adds a run of characters that may start or end emphasis.
func (p *inlineParser) delimiters(c byte) {
	n := run(p.src[p.pos:])
	before, _ := utf8.DecodeLastRuneInString(p.src[:p.pos])
	after, _ := utf8.DecodeRuneInString(p.src[p.pos+n:])
	if p.pos == 0 {
		before = ' '
	}
	if p.pos+n == len(p.src) {
		after = ' '
	}
	left := !unicode.IsSpace(after) && (!isPunctuation(after) || unicode.IsSpace(before) || isPunctuation(before))
	right := !unicode.IsSpace(before) && (!isPunctuation(before) || unicode.IsSpace(after) || isPunctuation(after))
	d := &delimiter{char: c, length: n, count: n, opens: left, closes: right, pos: p.pos}
	if c == '_' {
		d.opens = left && (!right || isPunctuation(before))
		d.closes = right && (!left || isPunctuation(after))
	}
	p.put(&node{kind: plainText, text: p.src[p.pos : p.pos+n]}, n)
	d.node = p.node.last
	if d.prev = p.last; p.last != nil {
		p.last.next = d
	}
	p.last = d
}

func isPunctuation(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
