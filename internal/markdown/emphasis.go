// SPDX-License-Identifier: Apache-2.0

package markdown

// delimiter is a run of asterisks or underscores that may open or close emphasis. Delimiters form
// the delimiter stack of the CommonMark specification, a doubly linked list whose top is
// inlineParser.last.
type delimiter struct {
	node          *node // the text node with the characters that are not used yet
	char          byte
	length        int // the number of characters in the source
	count         int // the number of characters in node
	opens, closes bool
	pos           int // the position in the source
	prev, next    *delimiter
}

// closerKind groups closing delimiters that match the same opening ones.
type closerKind struct {
	char  byte
	opens bool
	mod   int // length modulo 3, see matches
}

// emphasize replaces the delimiters above bottom, or all if it is nil, by emphasis and removes them
// from the stack. It is the procedure "process emphasis" of the CommonMark specification, section
// "An algorithm for parsing nested emphasis and links"; limits are its openers_bottom.
func (p *inlineParser) emphasize(bottom *delimiter) {
	if p.last == bottom {
		return
	}
	first := p.last
	for first.prev != bottom {
		first = first.prev
	}
	limits := map[closerKind]int{} // positions up to which no delimiter matches: keeps the time linear
	for closer := first; closer != nil; {
		if !closer.closes {
			closer = closer.next
			continue
		}
		key := closerKind{closer.char, closer.opens, closer.length % 3}
		limit, ok := limits[key]
		if !ok {
			limit = -1
		}
		opener := closer.prev
		for opener != nil && opener != bottom && opener.pos > limit && !opener.matches(closer) {
			opener = opener.prev
		}
		if opener == nil || opener == bottom || opener.pos <= limit {
			limits[key] = -1
			if closer.prev != nil {
				limits[key] = closer.prev.pos
			}
			next := closer.next
			if !closer.opens {
				p.drop(closer)
			}
			closer = next
			continue
		}
		closer = p.pair(opener, closer)
	}
	p.last = bottom
	if bottom != nil {
		bottom.next = nil
	}
}

// matches reports whether closer may end emphasis that d starts. If one of them can both open and
// close, the specification forbids lengths whose sum is a multiple of 3 unless both are.
func (d *delimiter) matches(closer *delimiter) bool {
	if d.char != closer.char || !d.opens {
		return false
	}
	both := d.closes || closer.opens
	return !both || (d.length+closer.length)%3 != 0 || d.length%3 == 0 && closer.length%3 == 0
}

// pair wraps the nodes between two delimiters in emphasis, and returns the next candidate for a
// closing delimiter.
func (p *inlineParser) pair(opener, closer *delimiter) *delimiter {
	n, used := &node{kind: emphasis}, 1
	if opener.count >= 2 && closer.count >= 2 {
		n.kind, used = strong, 2
	}
	opener.next, closer.prev = closer, opener // those between are text
	opener.use(used)
	closer.use(used)
	if opener.node.next != closer.node {
		p.wrap(n, opener.node.next, closer.node.prev)
	}
	next := closer
	if closer.count == 0 {
		next = closer.next
		p.remove(closer.node)
		p.drop(closer)
	}
	if opener.count == 0 {
		p.remove(opener.node)
		p.drop(opener)
	}
	return next
}

// use removes n characters, which have become emphasis.
func (d *delimiter) use(n int) {
	d.count -= n
	d.node.text = d.node.text[n:]
}

// drop removes d from the stack.
func (p *inlineParser) drop(d *delimiter) {
	if d.prev != nil {
		d.prev.next = d.next
	}
	if d.next == nil {
		p.last = d.prev
	} else {
		d.next.prev = d.prev
	}
}
