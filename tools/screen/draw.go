// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"strings"
)

// The size of a cell, and the space around the screen, in pixels.
const (
	cellWidth  = 8.0
	cellHeight = 18.0
	margin     = 16.0
)

// colours are those of the numbers in style, on a dark ground.
var colours = [17]string{
	"#d7dbe0", "#6b7480", "#ff8a80", "#7fd49b", "#f0c674", "#8fb3ff", "#d0a8f5", "#7fd0d8", "#d7dbe0",
	"#8b949e", "#ffb3ac", "#a5e6ba", "#ffe08a", "#b4ccff", "#e2c8ff", "#a6e7ee", "#ffffff",
}

// draw returns the picture of screens that follow each other.
func draw(screens [][]line, columns int, title string, pause float64) string {
	rows := 0
	for _, s := range screens {
		rows = max(rows, len(s))
	}
	width, height := float64(columns)*cellWidth+2*margin, float64(rows)*cellHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(title))
	b.WriteString(sheet(len(screens), pause))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#14171c"/>`+"\n")
	for i, s := range screens {
		fmt.Fprintf(&b, `<g class="s s%d">`+"\n", i)
		for row, l := range s {
			for _, r := range l {
				b.WriteString(r.draw(row))
			}
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// sheet returns the style sheet, which shows one screen at a time. The last one stays four times as long.
func sheet(screens int, pause float64) string {
	var b strings.Builder
	b.WriteString("<style>\ntext{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;white-space:pre}\n")
	if screens > 1 {
		total := float64(screens+3) * pause
		b.WriteString("@media (prefers-reduced-motion: no-preference){\n")
		for i := range screens {
			from, to := float64(i)*pause/total*100, float64(i+1)*pause/total*100
			if i == screens-1 {
				to = 100
			}
			fmt.Fprintf(&b, "@keyframes k%d{0%%,%.2f%%{opacity:0}%.2f%%,%.2f%%{opacity:1}", i, max(from-.01, 0), from, max(to-.01, from))
			if to < 100 {
				fmt.Fprintf(&b, "%.2f%%,100%%{opacity:0}", to)
			}
			fmt.Fprintf(&b, "}\n.s%d{animation:k%d %gs step-end infinite}\n", i, i, total)
		}
		b.WriteString("}\n@media (prefers-reduced-motion: reduce){\n.s{opacity:0}\n")
		fmt.Fprintf(&b, ".s%d{opacity:1}\n}\n", screens-1)
	}
	b.WriteString("</style>\n")
	return b.String()
}

// draw returns a run in its row. The length of its text is set, since fonts differ in the width of cells.
func (r cells) draw(row int) string {
	text := strings.TrimRight(r.text, " ")
	lead := len(text) - len(strings.TrimLeft(text, " "))
	if text = text[lead:]; text == "" {
		return ""
	}
	attributes := ""
	if r.style.bold {
		attributes += ` font-weight="bold"`
	}
	if r.style.dim {
		attributes += ` opacity=".65"`
	}
	return fmt.Sprintf(`<text x="%g" y="%g" textLength="%g" fill="%s"%s>%s</text>`+"\n",
		margin+float64(r.column+lead)*cellWidth, margin+float64(row)*cellHeight+13,
		float64(len([]rune(text)))*cellWidth, colours[r.style.colour], attributes, html.EscapeString(text))
}
