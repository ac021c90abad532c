// SPDX-License-Identifier: Apache-2.0

package markdown

// delimiter is a run of asterisks or underscores on the stack of those that may still be part of
// emphasis.
type delimiter struct {
	node          *node
	char          byte
	length        int // when it was found
	count         int // without those that are used
	opens, closes bool
	pos           int
	prev, next    *delimiter
}

// searched identifies closing delimiters for which the search for an opening one has the same result.
type searched struct {
	char  byte
	opens bool
	mod   int
}

// emphasize makes emphasis of the delimiters above bottom, and takes them off the stack.
func (p *inlineParser) emphasize(bottom *delimiter) {
	if p.last == bottom {
		return
	}
	first := p.last
	for first.prev != bottom {
		first = first.prev
	}
	limits := map[searched]int{} // positions up to which there is no opening delimiter
	for closer := first; closer != nil; {
		if !closer.closes {
			closer = closer.next
			continue
		}
		key := searched{closer.char, closer.opens, closer.length % 3}
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
	if p.last = bottom; bottom != nil {
		bottom.next = nil
	}
}

// matches reports whether closer may end emphasis that d starts.
func (d *delimiter) matches(closer *delimiter) bool {
	if d.char != closer.char || !d.opens {
		return false
	}
	both := d.closes || closer.opens
	return !both || (d.length+closer.length)%3 != 0 || d.length%3 == 0 && closer.length%3 == 0
}

// pair makes emphasis of what is between two delimiters, and returns the next one that may close.
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

func (d *delimiter) use(n int) {
	d.count -= n
	d.node.text = d.node.text[n:]
}

// drop takes d off the stack.
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
