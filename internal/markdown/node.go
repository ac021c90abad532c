// SPDX-License-Identifier: Apache-2.0

package markdown

// kind is what a node is.
type kind int

const (
	document kind = iota
	heading
	paragraph
	codeBlock
	htmlBlock
	rule
	quotation
	list
	item
	table
	row
	cell

	plainText
	softBreak
	hardBreak
	codeSpan
	emphasis
	strong
	link
	image
	autolink
	rawHTML
)

// node is a block or an inline of a document. The children are a linked list, so that a range of
// them becomes the content of a new node in constant time.
type node struct {
	kind kind
	// text is the source of a heading, a paragraph or a cell, whose inlines are its children when the document is
	// complete. It is the content of code and HTML; resolved, of a plainText; and the address of a
	// link, an image or an autolink.
	text    string
	level   int  // of a heading; first number of an ordered list
	ordered bool // of a list
	tight   bool // of a list and of its items

	first, last, prev, next *node
}

// add appends c to the children of n.
func (n *node) add(c *node) {
	if c.prev = n.last; n.last == nil {
		n.first = c
	} else {
		n.last.next = c
	}
	n.last = c
}

// removeLast removes the last child of n.
func (n *node) removeLast() {
	if n.last = n.last.prev; n.last == nil {
		n.first = nil
	} else {
		n.last.next = nil
	}
}

// wrap moves the children of n from first to last into w, which takes their place.
func (n *node) wrap(w, first, last *node) {
	w.first, w.last, w.prev, w.next = first, last, first.prev, last.next
	if w.prev == nil {
		n.first = w
	} else {
		w.prev.next = w
	}
	if w.next == nil {
		n.last = w
	} else {
		w.next.prev = w
	}
	first.prev, last.next = nil, nil
}

// remove removes the child c of n.
func (n *node) remove(c *node) {
	if c.prev == nil {
		n.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		n.last = c.prev
	} else {
		c.next.prev = c.prev
	}
}
