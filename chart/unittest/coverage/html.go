// SPDX-License-Identifier: Apache-2.0

package coverage

import (
	"bufio"
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"
)

//go:embed page.css
var css string

// htmlLine is a line of a file. class is "run", "missed", "partly" or "".
type htmlLine struct {
	number            int
	class, hits, text string
	note              string
}

// WriteHTML writes a page with a table of the files and their sources, with the lines that were not
// run marked. The page needs no other files.
//
// It does not use html/template, with which the linker keeps every exported method of the program: 4 MB.
func (p *Profile) WriteHTML(w io.Writer, title string) error {
	out := bufio.NewWriter(w)
	sum, esc := p.Totals(), html.EscapeString
	fmt.Fprintf(out, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%[1]s</title>
<style>
%[2]s</style>
</head>
<body>
<h1>%[1]s</h1>
<p>Lines %[3]s, branches %[4]s.
<span>Green lines were run, red lines were not, and of yellow lines a branch was not taken.</span></p>
<table>
<thead><tr><th>File</th><th>Lines</th><th>Branches</th><th></th></tr></thead>
<tbody>
`, esc(title), css, share(sum.HitLines, sum.Lines), share(sum.HitBranches, sum.Branches))
	files := p.Files()
	for i, f := range files {
		t := Totals{}.add(f)
		percent := int(t.LinePercent())
		fmt.Fprintf(out, `<tr><td><a href="#f%d">%s</a></td><td class="n">%s</td><td class="n">%s</td>`+"\n", i, esc(f.Name),
			share(t.HitLines, t.Lines), share(t.HitBranches, t.Branches))
		fmt.Fprintf(out, `<td><meter min="0" max="100" low="50" high="80" optimum="100" value="%[1]d">%[1]d%%</meter></td></tr>`+
			"\n", percent)
	}
	io.WriteString(out, "</tbody>\n</table>\n") //nolint:errcheck // Flush returns the error
	for i, f := range files {
		f.writeHTML(out, fmt.Sprintf("f%d", i))
	}
	io.WriteString(out, "</body>\n</html>\n") //nolint:errcheck // as above
	return out.Flush()
}

// writeHTML writes the source of a file. It is open unless all lines were run and all branches taken.
func (f *File) writeHTML(out io.Writer, id string) {
	t, open, esc := Totals{}.add(f), "", html.EscapeString
	if t.HitLines < t.Lines || t.HitBranches < t.Branches {
		open = " open"
	}
	fmt.Fprintf(out, "<details id=%q%s>\n<summary>%s – %s</summary>\n", id, open, esc(f.Name), share(t.HitLines, t.Lines))
	fmt.Fprintf(out, "<div class=\"source\"><table>\n")
	for _, l := range f.source() {
		fmt.Fprintf(out, "<tr class=%q><td>%d</td><td>%s</td><td>%s</td><td class=\"note\">%s</td></tr>\n",
			l.class, l.number, l.hits, esc(l.text), esc(l.note))
	}
	fmt.Fprintf(out, "</table></div>\n</details>\n")
}

// source returns the lines of the file with what was run of them.
func (f *File) source() []htmlLine {
	lines := strings.Split(strings.TrimSuffix(f.Text, "\n"), "\n")
	out := make([]htmlLine, len(lines))
	for i, text := range lines {
		l := htmlLine{number: i + 1, text: strings.TrimSuffix(text, "\r")}
		if hits, ok := f.Lines[i+1]; ok {
			l.class, l.hits = "run", fmt.Sprintf("%d×", hits)
			if hits == 0 {
				l.class = "missed"
			} else if missing := f.notTaken(i + 1); len(missing) > 0 {
				l.class = "partly"
				l.note = "not taken: " + strings.ReplaceAll(strings.Join(missing, ", "), fmt.Sprintf("%d ", i+1), "")
			}
		}
		out[i] = l
	}
	return out
}
