// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"html"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/moonhelm/moonhelm/internal/term"
)

// colors are the colours of a class: border, background and text.
func (c class) colors() (stroke, fill, text string) {
	switch c {
	case current:
		return "#2e7d32", "#e8f5e9", "#1b1b1b"
	case old:
		return "#b26a00", "#fff8e1", "#1b1b1b"
	case missing:
		return "#c62828", "#ffebee", "#1b1b1b"
	case off:
		return "#9e9e9e", "#f5f5f5", "#757575"
	}
	return "#455a64", "#eceff1", "#1b1b1b"
}

// maxLabel is the maximum width of a line of a box, in columns of a terminal.
const maxLabel = 60

// label returns a line of a box without what a format or a terminal could take for an instruction.
func label(line string) string { return term.Fit(term.SafeLine(line), maxLabel) }

// dot returns the drawing in Graphviz's language: https://graphviz.org/doc/info/lang.html. Strings
// are quoted, with their quotes and backslashes escaped.
func (d *drawing) dot() string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var b strings.Builder
	fmt.Fprintf(&b, "digraph {\n  label=\"%s\";\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", "+
		"fontname=\"sans-serif\"];\n", quote.Replace(label(d.title)))
	for i, n := range d.nodes {
		lines := make([]string, len(n.lines))
		for j, line := range n.lines {
			lines[j] = quote.Replace(label(line))
		}
		stroke, fill, text := n.class.colors()
		fmt.Fprintf(&b, "  n%d [label=\"%s\", color=%q, fillcolor=%q, fontcolor=%q];\n", i, strings.Join(lines, `\n`), stroke, fill,
			text)
	}
	for _, e := range d.edges {
		fmt.Fprintf(&b, "  n%d -> n%d;\n", e.from, e.to)
	}
	b.WriteString("}\n")
	return b.String()
}

// mermaid returns the drawing in Mermaid's language: https://mermaid.js.org/syntax/flowchart.html.
// In labels, all characters that mean something to Mermaid or HTML are entity codes.
func (d *drawing) mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	used := map[class]bool{}
	for i, n := range d.nodes {
		lines := make([]string, len(n.lines))
		for j, line := range n.lines {
			lines[j] = mermaidText(label(line))
		}
		fmt.Fprintf(&b, "  n%d[\"%s\"]:::%s\n", i, strings.Join(lines, "<br>"), n.class)
		used[n.class] = true
	}
	for _, e := range d.edges {
		fmt.Fprintf(&b, "  n%d --> n%d\n", e.from, e.to)
	}
	for _, c := range []class{plain, current, old, missing, off} {
		if used[c] {
			stroke, fill, text := c.colors()
			fmt.Fprintf(&b, "  classDef %s stroke:%s,fill:%s,color:%s\n", c, stroke, fill, text)
		}
	}
	return b.String()
}

// mermaidText writes all but letters, digits, spaces and a few signs as entity codes.
func mermaidText(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r > 0x7f, r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z',
			strings.ContainsRune(" -._/,+:^~=", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// Measures of SVG, in pixels.
const (
	charWidth  = 9
	lineHeight = 18
	padding    = 12
	gapX       = 60
	gapY       = 20
	margin     = 20
)

// svg returns the drawing as an SVG image. The boxes of a layer are below each other, the layers
// beside each other; a box is in the middle of those that it points to.
func (d *drawing) svg() string {
	width, height := d.place()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">`+"\n",
		width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(label(d.title)))
	b.WriteString(`<style>text{font:14px ui-monospace,monospace}.n{font-weight:bold}</style>` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	for _, e := range d.edges {
		from, to := d.nodes[e.from], d.nodes[e.to]
		x1, y1 := from.x+from.width, from.y+from.height/2
		x2, y2 := to.x, to.y+to.height/2
		middle := (x1 + x2) / 2
		fmt.Fprintf(&b, `<path d="M%d %dC%d %d %d %d %d %d" fill="none" stroke="#90a4ae" stroke-width="1.5"/>`+"\n",
			x1, y1, middle, y1, middle, y2, x2-5, y2)
		fmt.Fprintf(&b, `<path d="M%d %dl-8 -4v8z" fill="#90a4ae"/>`+"\n", x2, y2)
	}
	for _, n := range d.nodes {
		stroke, fill, text := n.class.colors()
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="%s"/>`+"\n", n.x, n.y, n.width,
			n.height, fill, stroke)
		for i, line := range n.lines {
			style := ""
			if i == 0 {
				style = ` class="n"`
			}
			fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s"%s>%s</text>`+"\n", n.x+padding, n.y+padding+lineHeight*i+13, text, style,
				html.EscapeString(xmlText(label(line))))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// xmlText removes the characters that XML does not allow.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == 0xfffe || r == 0xffff || r < 0x20 {
			return -1
		}
		return r
	}, s)
}

// place sets the positions of the nodes, and returns the size of the image.
func (d *drawing) place() (width, height int) {
	var wide []int // the layers' widths
	below := map[int][]*node{}
	isBelow := map[int]bool{}
	for _, e := range d.edges {
		below[e.from] = append(below[e.from], d.nodes[e.to])
		isBelow[e.to] = true
	}
	for _, n := range d.nodes {
		for _, line := range n.lines {
			n.width = max(n.width, displaywidth.String(label(line))*charWidth+2*padding)
		}
		n.height = len(n.lines)*lineHeight + 2*padding
		for len(wide) <= n.layer {
			wide = append(wide, 0)
		}
		wide[n.layer] = max(wide[n.layer], n.width)
	}
	index := map[*node]int{}
	for i, n := range d.nodes {
		index[n] = i
	}
	bottom := margin
	var put func(n *node)
	// put places the nodes below n first, and n in the middle of them.
	put = func(n *node) {
		n.x = margin
		for _, w := range wide[:n.layer] {
			n.x += w + gapX
		}
		width = max(width, n.x+n.width+margin)
		top := bottom
		children := below[index[n]]
		for _, child := range children {
			put(child)
		}
		if len(children) == 0 {
			n.y = bottom
		} else {
			first, last := children[0], children[len(children)-1]
			n.y = max(top, (first.y+last.y+last.height-n.height)/2)
		}
		bottom = max(bottom, n.y+n.height+gapY)
	}
	for i, n := range d.nodes {
		if !isBelow[i] {
			put(n)
		}
	}
	return max(width, 2*margin), max(bottom-gapY+margin, 2*margin)
}
